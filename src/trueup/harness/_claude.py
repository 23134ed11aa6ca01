"""Claude Code as a harness: how it is found, started and spoken to.

Its mode is a ceiling, and a gate takes away from what is below it: in every mode the gate is asked before each use of
a tool, subagents' included, and what it refuses, or does not answer, is not done. `read_only` is Claude's own
judgement of which commands only look; `edit` allows it to change files of the workspace, and commands that only do
this; `full` allows everything. Nobody is asked beyond that: what the mode does not allow is denied, told to the model,
and counted in the result.

By default no settings are read, and those of the project never: they can name hooks, and another address for the
model, to which the key would go. The project's CLAUDE.md is read, being words and not settings. Where a request is
for skills of the folder, its settings come with them: Claude looks for neither alone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ._claude_talk import ClaudeConversation, begin
from ._logins import LOGINS
from ._protocol import HarnessRequest, Invocation, Mode, Probe
from ._session_files import began_in
from ._versions import told_version

_MODES = {Mode.READ_ONLY: "default", Mode.EDIT: "acceptEdits", Mode.FULL: "bypassPermissions"}
# Nobody answers questions here, and work elsewhere than in the folder, or later than now, is lost.
_USELESS_TOOLS = ("AskUserQuestion", "EnterPlanMode", "EnterWorktree", "ExitWorktree", "CronCreate", "ScheduleWakeup")
_WRITING_TOOLS = ("Write", "Edit", "MultiEdit", "NotebookEdit")

VARIABLES = {
    # Without it, root may not use the mode `full`.
    "IS_SANDBOX": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    # It says when no further turn follows a result.
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1",
    # One that is started by another one would take itself for a part of it.
    "CLAUDECODE": "",
}

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
_INSTALLED_AT = (".local/bin/claude", ".claude/local/claude")
_INSTALL = "install it with `npm install -g @anthropic-ai/claude-code`, or see https://code.claude.com/docs"
_LOG_IN = "run `claude` once and sign in, or set ANTHROPIC_API_KEY"


class ClaudeCode:
    """The `Dialect` of Claude Code. With `user_config`, the user's settings, hooks, plugins and servers are in force."""

    name = "claude-code"

    def __init__(self, program: str = "claude", *, user_config: bool = False) -> None:
        self._program = program
        self._user_config = user_config

    async def probe(self, environ: Mapping[str, str]) -> Probe:
        path = await asyncio.to_thread(find_claude, environ, self._program)
        if path is None:
            return Probe(harness=self.name, installed=False, note=f"no `{self._program}` on PATH; {_INSTALL}")
        version, complaint = await _version(path, environ)
        if version is None:
            return Probe(harness=self.name, installed=False, path=path, note=complaint)
        logged_in, note = await asyncio.to_thread(_login, environ)
        return Probe(harness=self.name, installed=True, path=path, version=version, logged_in=logged_in, note=note)

    def program_in(self, environ: Mapping[str, str]) -> str | None:
        return find_claude(environ, self._program)

    async def ask_version(self, program: str, environ: Mapping[str, str]) -> str | None:
        return (await _version(program, environ))[0]

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        return began_in(LOGINS[self.name].home(environ), "projects/*/{}.jsonl", session)

    def invoke(self, request: HarnessRequest, *, asks: bool) -> Invocation:
        return Invocation(
            argv=(self._program, *self._words(request, asks=asks)),
            env=VARIABLES,
            stdin=begin(request, asks=asks),
            converses=True,
            # A session that is not there is complained of before anything else is told.
            tells_version=request.resume is None,
        )

    def converse(self, request: HarnessRequest) -> ClaudeConversation:
        return ClaudeConversation(request)

    def _words(self, request: HarnessRequest, *, asks: bool) -> list[str]:
        words = ["--print", "--input-format=stream-json", "--output-format=stream-json", "--verbose"]
        # They say what each call used, and that a long answer is still being given.
        words += ["--include-partial-messages", f"--permission-mode={_MODES[request.mode]}"]
        unwanted = _USELESS_TOOLS + (_WRITING_TOOLS if request.mode is Mode.READ_ONLY else ())
        words += [f"--disallowedTools={','.join(unwanted)}"]
        sources = ["user"] if self._user_config else []
        sources += ["project"] if request.skills is not None else []
        words += [f"--setting-sources={','.join(sources)}"]
        words += [] if self._user_config else ["--strict-mcp-config"]
        # Without the project's settings its CLAUDE.md is not read either, unless its folder is an additional one.
        words += ["--add-dir=."]
        # A skill can hold commands that run when it is read, and the gate would be asked for the skill alone.
        words += ["--disable-slash-commands"] if asks and request.skills is None else []
        # One word each: a value that begins with a dash stays a value.
        words += [f"--model={request.model}"] if request.model else []
        words += [f"--resume={request.resume}"] if request.resume else []
        words += [f"--max-turns={request.turns}"] if request.turns is not None else []
        words += [f"--max-budget-usd={request.budget_usd}"] if request.budget_usd is not None else []
        return words


def find_claude(environ: Mapping[str, str], program: str = "claude") -> str | None:
    """Where the program is: on PATH, or where its installers put it."""
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    if found is not None:
        # An entry of PATH may be meant from here, wherever the agent works.
        return os.path.abspath(found)  # noqa: PTH100 - links stay as they were named
    if program != "claude" or not environ.get("HOME"):
        return None
    usual = (Path(environ["HOME"], place) for place in _INSTALLED_AT)
    return next((str(file) for file in usual if os.access(file, os.X_OK)), None)


async def _version(path: str, environ: Mapping[str, str]) -> tuple[str | None, str]:
    """Its version; where it does not tell one, why."""
    quiet = {**environ, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return await told_version(path, quiet)


def _login(environ: Mapping[str, str]) -> tuple[bool | None, str]:
    """Whether it is logged in, as far as its files and variables tell, and what there is to say about it."""
    if key := next((name for name in _KEYS if environ.get(name)), None):
        return True, f"by {key}"
    if cloud := next((name for name in _CLOUDS if environ.get(name)), None):
        return None, f"by {cloud}, whose own login is not looked at"
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or Path(environ.get("HOME") or "~").expanduser() / ".claude")
    if _has_key_helper(folder / "settings.json"):
        return None, "by the apiKeyHelper of its settings, which is not called to find out"
    try:
        token = msgspec.json.decode((folder / ".credentials.json").read_bytes())["claudeAiOauth"]
        return _login_by(token)
    except FileNotFoundError:
        return False, f"not logged in: {_LOG_IN}"
    except (OSError, msgspec.MsgspecError, KeyError, TypeError, AttributeError):
        return None, f"{folder / '.credentials.json'} cannot be read; if it does not work, {_LOG_IN}"


def _login_by(token: dict[str, Any]) -> tuple[bool, str]:
    plan = f"by subscription ({token.get('subscriptionType') or 'unnamed'})"
    expires_at = token.get("expiresAt")
    is_valid = bool(token.get("accessToken")) and (expires_at is None or expires_at / 1000 > time.time())
    if is_valid or token.get("refreshToken"):
        return True, plan
    return False, f"the login has expired: {_LOG_IN}"


def _has_key_helper(settings: Path) -> bool:
    try:
        return bool(msgspec.json.decode(settings.read_bytes()).get("apiKeyHelper"))
    except (OSError, msgspec.MsgspecError, AttributeError):
        return False
