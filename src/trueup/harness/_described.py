"""Agents that trueup does not know, as a description in a file says how each is spoken to.

They cannot be asked before they use a tool, so no gate holds them: what they may do is for the sandbox around them.
What a request asks for and a description has no place for (a model, a mode, a limit, a session) is refused and not
ignored. The one exception is a system prompt, which is put before the prompt.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from trueup.core.errors import InputError, TrueupError
from trueup.core.process import Command, run

from ._described_failures import MOST_SEARCHED
from ._described_invocation import put
from ._described_model import Described, load_descriptions
from ._described_talk import DescribedConversation
from ._described_template import names_of_env, names_of_words
from ._protocol import HarnessRequest, Invocation, Mode, Probe
from ._vendors import ANTHROPIC, OPENAI, Vendor
from .agents import Capabilities, SystemPrompt

__all__ = ["Described", "DescribedDialect", "described_capabilities", "load_descriptions"]

VERSION_SECS = 20
WEAK = "it does not tell success: its exit code is all there is, and says little"


class DescribedDialect:
    """The `Dialect` of an agent by its description. Variables to pass on are taken from `environ`."""

    def __init__(self, name: str, description: Described, environ: Mapping[str, str]) -> None:
        self.name = name
        self._description = description
        self._environ = environ

    @property
    def vendor(self) -> Vendor | None:
        """Whose API it calls."""
        return {"anthropic": ANTHROPIC, "openai": OPENAI}.get(self._description.vendor)

    @property
    def program(self) -> str | None:
        """Where its program is; None where it is not installed."""
        return self.program_in(self._environ)

    def program_in(self, environ: Mapping[str, str]) -> str | None:
        return shutil.which(self._program, path=environ.get("PATH", os.defpath))

    async def ask_version(self, program: str, environ: Mapping[str, str]) -> str | None:
        return (await self._version(environ))[0]

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        return None

    @property
    def _program(self) -> str:
        return _at_home(self._description.program, self._environ)

    async def probe(self, environ: Mapping[str, str]) -> Probe:
        path = await asyncio.to_thread(self.program_in, environ)
        if path is None:
            note = f"no `{self._program}` on PATH; {self._description.install or 'install it, or give its whole path'}"
            return Probe(harness=self.name, installed=False, note=note)
        version, complaint = await self._version(environ)
        logged_in, login = await asyncio.to_thread(self._login, environ)
        notes = (login, complaint, "" if self._description.tells_success else WEAK)
        note = "; ".join(each for each in notes if each)
        return Probe(harness=self.name, installed=True, path=path, version=version, logged_in=logged_in, note=note)

    def invoke(self, request: HarnessRequest, *, asks: bool) -> Invocation:
        if asks:
            raise InputError(f"{self.name} cannot be asked before it uses a tool, so nothing would hold it to a policy")
        session = None if request.resume is not None or not self._names_sessions else str(uuid.uuid4())
        try:
            asked = put(self._description, self._program, request, session)
        except InputError as error:
            raise InputError(f"{self.name}: {error}", kind=error.kind) from None
        passed = {name: self._environ[name] for name in self._description.pass_env if self._environ.get(name)}
        return Invocation(
            argv=asked.argv,
            env={**passed, **asked.env},
            stdin=asked.stdin,
            conversation=DescribedConversation(self._description, request, session or request.resume),
            tells_version=any(rule.version for rule in self._description.records),
        )

    def converse(self, request: HarnessRequest) -> DescribedConversation:
        return DescribedConversation(self._description, request, request.resume)

    @property
    def _names_sessions(self) -> bool:
        """Whether it is us who choose the name of a session."""
        return "new_session" in names_of_words(self._description.argv) | names_of_env(self._description.env)

    async def _version(self, environ: Mapping[str, str]) -> tuple[str | None, str]:
        """Its version, as far as the description says how to find out, and what there is to complain about."""
        asked = self._description.version
        if asked is None:
            return None, ""
        program, *words = asked.argv
        command = Command(argv=(_at_home(program, environ), *words), env=environ, timeout_secs=VERSION_SECS)
        try:
            finished = await run(command)
        except TrueupError as error:
            return None, str(error)
        found = re.search(asked.pattern, f"{finished.stdout.text}\n{finished.stderr.text}"[:MOST_SEARCHED])
        if found is None:
            return None, f"`{' '.join(asked.argv)}` did not tell a version"
        return next((group for group in found.groups() if group), found[0]), ""

    def _login(self, environ: Mapping[str, str]) -> tuple[bool | None, str]:
        asked = self._description.login
        if asked is None:
            return None, ""
        variable = next((name for name in asked.variables if environ.get(name)), None)
        if variable is not None:
            return True, f"by {variable}"
        file = next((name for name in asked.files if Path(_at_home(name, environ)).is_file()), None)
        if file is not None:
            return True, f"by {file}"
        places = " or ".join((*asked.variables, *asked.files))
        return False, asked.advice or f"there is no {places}"


def described_capabilities(description: Described) -> Capabilities:
    """What an agent can be asked for, by the places that its description has for it."""
    names = names_of_words(description.argv) | names_of_env(description.env)
    told = [rule.usage for rule in description.records if rule.usage is not None]
    return Capabilities(
        modes=tuple(description.modes) or (Mode.FULL,),
        resume=description.resume is not None or "session" in names,
        # Where there is no place for it, it is put before the prompt.
        system_prompt=SystemPrompt.APPENDED,
        model="model" in names,
        usage=bool(told),
        cost=any(each.cost_usd for each in told),
        tool_events=any(rule.tool_call for rule in description.records),
        budget_while_running=description.vendor != "none",
        turns="turns" in names,
        budget_usd="budget_usd" in names,
        notes=() if description.tells_success else (WEAK,),
    )


def _at_home(path: str, environ: Mapping[str, str]) -> str:
    return str(Path(environ.get("HOME", "/"), path[2:])) if path.startswith("~/") else path
