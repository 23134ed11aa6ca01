"""OpenAI's codex: `codex exec` for a plain first run, `codex app-server` where it must ask, or goes on with a thread.

Which model is called, and by whose account, is said by variables of the request, and is else the user's own login:

- `CODEX_BASE_URL`, or `OPENAI_BASE_URL`: where the Responses API is (`http://127.0.0.1:4000/v1`);
- `CODEX_API_KEY`, or `OPENAI_API_KEY`: the key that is sent there. Without one, a base URL gets the user's login; a
  key without a base URL goes to OpenAI.

codex reads none of these for itself as it would be wanted, so they become a provider of its configuration. What the
user has configured for codex (MCP servers, hooks, plugins, rules, profiles, also the model) is off unless
`user_config` is set; so are the user's skills, each by itself; the login stays. A run counts what it used, and therefore no agents are started by the agent.

In mode `full` codex does not confine what it runs: that is for the sandbox around it. In the others its own sandbox
does, which has no network, lets temporary folders be written, and needs a CODEX_HOME that is not below one of them.

With a gate, in `full` and `edit`, each command and each patch is asked for before it is run; one that was run unasked
ends the run. What the gate allows in mode `edit` codex may run outside of its own sandbox. In `read_only` nothing is
asked for, because nothing beyond that sandbox is allowed. A search of the web is the vendor's, and is never asked for.

codex knows no limit of turns or dollars.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from trueup.core.errors import InputError, TrueupError
from trueup.core.process import Command, Finished, run

from ._codex_exec import ExecConversation
from ._codex_rpc import SANDBOXES, AppServerConversation
from ._codex_skills import user_skills
from ._logins import LOGINS
from ._protocol import Conversation, HarnessRequest, Invocation, Mode, Probe
from ._session_files import began_in
from ._versions import told_version

BASE_URLS = ("CODEX_BASE_URL", "OPENAI_BASE_URL")
KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")
OPENAI = "https://api.openai.com/v1"
PROVIDER = "trueup"
MOST_ON_ARGV = 64 * 1024
PROBE_SECS = 10
# A refused connection is else tried again forever.
TRIES = {"request_max_retries": 2, "stream_max_retries": 2}
QUIET: Mapping[str, str | bool | int] = {
    "analytics.enabled": False,
    "feedback.enabled": False,
    "check_for_update_on_startup": False,
    "features.unbounded_connection_retries": False,
}
OF_THE_USER = ("hooks", "plugins", "apps", "multi_agent")
# What is typed into a command that runs is not asked for: with a gate, commands have no keyboard.
NO_KEYBOARD = ("-c", "features.unified_exec_tty=false")


class Codex:
    """How codex is spoken to."""

    name = "codex"

    def __init__(self, program: str = "codex", *, user_config: bool = False) -> None:
        self._program = program
        self._user_config = user_config

    async def probe(self, environ: Mapping[str, str]) -> Probe:
        path = await asyncio.to_thread(self.program_in, environ)
        if path is None:
            note = f"no {self._program!r} on PATH: install it with `npm install -g @openai/codex`"
            return Probe(harness=self.name, installed=False, note=note)
        version, complaint = await told_version(path, environ)
        if version is None:
            return Probe(harness=self.name, installed=False, path=path, note=complaint)
        logged_in, note = await _login(path, environ)
        return Probe(harness=self.name, installed=True, path=path, version=version, logged_in=logged_in, note=note)

    def program_in(self, environ: Mapping[str, str]) -> str | None:
        return find_codex(environ, self._program)

    async def ask_version(self, program: str, environ: Mapping[str, str]) -> str | None:
        return (await told_version(program, environ))[0]

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        return began_in(LOGINS[self.name].home(environ), "sessions/*/*/*/rollout-*-{}.jsonl", session)

    def invoke(self, request: HarnessRequest, *, asks: bool) -> Invocation:
        variables = _temporary_folder(request.env)
        if _needs_conversation(request, asks=asks):
            conversation = self._speaker(request, asks=asks)
            return Invocation(
                argv=(self._program, "app-server", *self._options(request), *(NO_KEYBOARD if asks else ())),
                env=variables,
                stdin=conversation.opening,
                converses=True,
                conversation=conversation,
                # It tells the user's whole configuration, in which there may be keys of servers.
                keeps_stdout=False,
                tells_version=True,
            )
        return Invocation(
            argv=(self._program, "exec", *self._exec_words(request), *self._options(request), "-"),
            env=variables,
            stdin=request.prompt.encode(errors="replace"),
        )

    def converse(self, request: HarnessRequest) -> Conversation:
        if _needs_conversation(request, asks=False):
            return self._speaker(request, asks=False)
        return ExecConversation(request)

    def _speaker(self, request: HarnessRequest, *, asks: bool) -> AppServerConversation:
        provider = PROVIDER if _provider(request.env) else None
        return AppServerConversation(request, asks=asks, provider=provider, user_config=self._user_config)

    def _exec_words(self, request: HarnessRequest) -> Iterator[str]:
        yield from ("--json", "--skip-git-repo-check")
        if not self._user_config:
            yield from ("--ignore-user-config", "--ignore-rules")
        if request.mode is Mode.FULL:
            yield "--dangerously-bypass-approvals-and-sandbox"
        else:
            yield from ("--sandbox", SANDBOXES[request.mode])
        if request.model:
            yield from ("--model", request.model)
        if request.system:
            yield from ("-c", f"developer_instructions={_toml(request.system)}")

    def _options(self, request: HarnessRequest) -> Iterator[str]:
        settings = {**QUIET, **_provider(request.env)}
        if not self._user_config:
            settings |= {f"features.{name}": False for name in OF_THE_USER}
        for name, value in settings.items():
            yield from ("-c", f"{name}={_toml(value)}")
        if not self._user_config:
            yield from ("-c", "notify=[]")
            yield from _without_skills(request.env)


def session_settings(request: HarnessRequest) -> dict[str, Any]:
    """The settings of a session that somebody else than this dialect begins, as they would stand in codex's file."""
    told: dict[str, Any] = {"model": request.model} if request.model else {}
    for name, value in {**QUIET, **_provider(request.env)}.items():
        *tables, key = name.split(".")
        table = told
        for each in tables:
            table = table.setdefault(each, {})
        table[key] = value
    return told


def find_codex(environ: Mapping[str, str], program: str = "codex") -> str | None:
    """Where the program is."""
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    # An entry of PATH may be meant from here, wherever the agent works.
    return found and os.path.abspath(found)  # noqa: PTH100 - links stay as they were named


def _needs_conversation(request: HarnessRequest, *, asks: bool) -> bool:
    """Whether `codex exec` would not do: it cannot ask, and counts a thread that goes on from its beginning."""
    return asks or request.resume is not None or len((request.system or "").encode(errors="replace")) > MOST_ON_ARGV


def _provider(env: Mapping[str, str]) -> dict[str, str | bool | int]:
    """The settings by which codex calls what the variables name; none for the user's own login."""
    url = next((env[name] for name in BASE_URLS if env.get(name)), None)
    key = next((name for name in KEYS if env.get(name)), None)
    if url is None and key is None:
        return {}
    who: dict[str, str | bool] = {"env_key": key} if key else {"requires_openai_auth": True}
    settings: dict[str, str | bool | int] = {
        "name": PROVIDER,
        "base_url": url or OPENAI,
        "wire_api": "responses",
        "supports_websockets": False,
        **TRIES,
        **who,
    }
    return {"model_provider": PROVIDER} | {
        f"model_providers.{PROVIDER}.{key}": value for key, value in settings.items()
    }


def _temporary_folder(env: Mapping[str, str]) -> dict[str, str]:
    """Another temporary folder where codex's home lies below the usual one: its sandbox would fail in silence."""
    home = env.get("CODEX_HOME") or env.get("HOME")
    if home is None or "TMPDIR" in env or not PurePosixPath(home).is_relative_to("/tmp"):  # noqa: S108
        return {}
    return {"TMPDIR": "/var/tmp"}  # noqa: S108


def _without_skills(env: Mapping[str, str]) -> Iterator[str]:
    """The words by which codex leaves out the user's skills: it has no switch for all of them."""
    found = user_skills(env)
    if not found:
        return
    off = f"skills.config=[{','.join(f'{{path={_toml(file)},enabled=false}}' for file in found)}]"
    if len(off.encode()) > MOST_ON_ARGV:
        raise InputError(f"codex cannot be kept from {len(found)} skills of yours one by one: move some away")
    yield from ("-c", off)


def _toml(value: str | bool | int) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    # A JSON string is a TOML string, but for a character that TOML wants escaped.
    return json.dumps(value.encode(errors="replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")


async def _login(path: str, environ: Mapping[str, str]) -> tuple[bool | None, str]:
    key = next((name for name in KEYS if environ.get(name)), None)
    if key is not None:
        return True, f"by {key}"
    # Reads the stored login only; no call is made.
    status = await _told(path, "login", "status", environ=environ)
    said = f"{status.stdout.text}\n{status.stderr.text}" if status else ""
    if "Not logged in" in said:
        return False, "run `codex login`, or set OPENAI_API_KEY"
    told = next((line for line in said.splitlines() if line.startswith("Logged in")), None)
    if told is not None:
        return True, told
    return None, "`codex login status` does not tell"


async def _told(*argv: str, environ: Mapping[str, str]) -> Finished | None:
    try:
        return await run(Command(argv=argv, env=environ, timeout_secs=PROBE_SECS))
    except TrueupError:
        return None
