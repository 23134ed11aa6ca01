"""What the adapters of agents share: finding a program, reading its lines, telling why it failed, adding up its usage.

An adapter is a `PromptedAgent`, which says how a request is put, and a `Listening`, which reads what comes of it. All
of these agents are given one prompt on stdin or in a file, and none of them asks before it uses a tool: what they may
do is for their mode, and for the sandbox around them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError, Kind
from trueup.core.process import Finished
from trueup.core.protocols import Decision, Event
from trueup.core.usage import Usage

from .._events import SessionNamed, ToolKind
from .._json_lines import decoded_line
from .._protocol import Ask, HarnessRequest, Invocation, Outcome, Probe, Say
from .._vendors import ANTHROPIC, OPENAI, Vendor
from .._versions import told_version
from ._capabilities import Capabilities
from ._failures import Failure, silent_end

# By the variables that the vendors' own libraries know, and therefore most agents: a key, and no login.
ANTHROPIC_KEY = msgspec.structs.replace(ANTHROPIC, key_variables=("ANTHROPIC_API_KEY",))
OPENAI_KEY = msgspec.structs.replace(OPENAI, key_variables=("OPENAI_API_KEY",), base_url_variables=("OPENAI_BASE_URL",))
MOST_ON_ARGV = 64 * 1024
MOST_TEXT = 1 << 20

_KINDS = {
    ToolKind.SHELL: "bash shell sh terminal exec execute run_shell_command run_command execute_command execute_bash"
    " run_commands terminal_command process",
    ToolKind.READ: "read read_file read_many_files view view_file cat read_files open_file read_image image analyze",
    ToolKind.WRITE: "write write_file edit edit_file replace multiedit apply_patch patch create create_file"
    " str_replace str_replace_editor text_editor file_editor editor insert delete_file notebook_edit search_replace"
    " write_to_file replace_in_file delete",
    ToolKind.SEARCH: "grep glob list ls find search tree list_directory search_file_content grep_search list_files"
    " search_files codesearch rg find_files",
    ToolKind.WEB: "webfetch web_fetch fetch fetch_url fetchurl websearch web_search google_web_search web_fetch_tool"
    " browser",
}
_TOOL_KINDS = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def tool_kind(name: str) -> ToolKind:
    """What a tool does, by the name that an agent has for it; a prefix such as `developer__` is its extension's."""
    bare = name.rpartition("__")[2].replace("-", "_").lower()
    return _TOOL_KINDS.get(bare, ToolKind.OTHER)


class Reach(Struct, frozen=True):
    """How a vendor is reached: where, if not at its usual address, and by which key, if there is one."""

    vendor: Vendor
    base_url: str | None
    key: str | None


class Directions(Struct, frozen=True, kw_only=True):
    """Whom an agent is to call, as its program is told it whichever way it is spoken to.

    A command that comes `before` the program becomes it, `words` come after its own.
    """

    before: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


def reach_of(env: Mapping[str, str], vendors: Sequence[Vendor]) -> Reach | None:
    """The first of some vendors that variables lead to; None where they lead to none of them."""
    for vendor in vendors:
        base_url = next((env[name] for name in vendor.base_url_variables if env.get(name)), None)
        key = vendor.key(env)
        if base_url is not None or key is not None:
            return Reach(vendor, base_url, key)
    return None


def as_word(text: str, what: str) -> str:
    """A text as one word of a command line, or as a variable: one that is too long for that is refused."""
    if "\0" in text:
        raise InputError(f"the {what} holds a zero character, which no program can be given")
    if len(text.encode(errors="replace")) > MOST_ON_ARGV:
        why = f"the {what} is larger than {MOST_ON_ARGV >> 10} KiB, and the agent takes it only as a word"
        raise InputError(f"{why}: shorten it, or put it into the prompt", kind=Kind.INPUT_TOO_LARGE)
    return text.encode(errors="replace").decode()


def as_stdin(text: str) -> bytes:
    """A text as it is written to an agent: half a character is none that it could be given."""
    return text.encode(errors="replace")


def find_program(program: str, environ: Mapping[str, str]) -> str | None:
    """Where a program is: on PATH, or where it was named."""
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    # An entry of PATH may be meant from here, wherever the agent works.
    return found and os.path.abspath(found)  # noqa: PTH100 - links stay as they were named


def _holds_something(file: Path) -> bool:
    # Some write an empty object when they are asked for their version.
    return file.is_file() and file.stat().st_size > len("{}\r\n")


class PromptedAgent(ABC):
    """A `Dialect` of an agent that is given one prompt. Its class is all that is known of it before it is used.

    `vendors` are those whose API it can call, the usual one first. `login_files` are below HOME: where one is there,
    the person logged the agent in, or configured it, by themselves. With `user_config` what the person has configured
    for the agent is in force, as far as the agent can do without it.
    """

    name: ClassVar[str]
    program: ClassVar[str]
    install: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    vendors: ClassVar[tuple[Vendor, ...]] = ()
    login_files: ClassVar[tuple[str, ...]] = ()

    def __init__(self, program: str | None = None, *, user_config: bool = False) -> None:
        self._program = program or self.program
        self._user_config = user_config

    @classmethod
    def vendor_in(cls, environ: Mapping[str, str]) -> Vendor | None:
        """The vendor that it would call: the first for which there is a key, else the usual one."""
        with_key = (vendor for vendor in cls.vendors if vendor.key(environ))
        return next(with_key, cls.vendors[0] if cls.vendors else None)

    async def probe(self, environ: Mapping[str, str]) -> Probe:
        path = await asyncio.to_thread(self.program_in, environ)
        if path is None:
            note = f"no `{self._program}` on PATH; {self.install}"
            return Probe(harness=self.name, installed=False, note=note)
        version, complaint = await told_version(path, environ)
        if version is None:
            return Probe(harness=self.name, installed=False, path=path, note=complaint)
        logged_in, note = await asyncio.to_thread(self.login, environ)
        return Probe(harness=self.name, installed=True, path=path, version=version, logged_in=logged_in, note=note)

    def program_in(self, environ: Mapping[str, str]) -> str | None:
        return find_program(self._program, environ)

    async def ask_version(self, program: str, environ: Mapping[str, str]) -> str | None:
        return (await told_version(program, environ))[0]

    def began_in(self, session: str, environ: Mapping[str, str]) -> str | None:
        """The folder in which a session began; an agent that would work in that folder on resume must tell."""
        return None

    def login(self, environ: Mapping[str, str]) -> tuple[bool | None, str]:
        """Whether it is logged in, as far as variables and files tell, and what there is to say about it."""
        variable = next((name for vendor in self.vendors if (name := vendor.key_variable(environ))), None)
        if variable is not None:
            return True, f"by {variable}"
        home = Path(environ.get("HOME", "/"))
        file = next((name for name in self.login_files if _holds_something(home / name)), None)
        if file is not None:
            return None, f"by ~/{file}, which is not looked into"
        keys = " or ".join(vendor.key_variables[0] for vendor in self.vendors)
        return False, f"not logged in: set {keys}" if keys else "not logged in"

    def invoke(self, request: HarnessRequest, *, asks: bool) -> Invocation:
        self.capabilities.refuse_beyond(self.name, request)
        if asks:
            raise InputError(f"{self.name} cannot be asked before it uses a tool, so nothing would hold it to a policy")
        return self.put(request)

    def directions(self, request: HarnessRequest) -> Directions | None:
        """How its program is told whom to call, also over ACP; None where only a command of this dialect could."""
        return None

    @abstractmethod
    def put(self, request: HarnessRequest) -> Invocation:
        """How a request is put that asks for nothing which the agent cannot do."""

    @abstractmethod
    def converse(self, request: HarnessRequest) -> Listening: ...


class Listening(ABC):
    """A `Conversation` with an agent that is only listened to. A subclass reads its records and keeps what they say.

    `succeeded` is the agent's own record of success, `failure` what it says went wrong: one without the other is
    enough to know, and a failure counts more. `calls` is what each call of a model used, `total` what the whole run
    did by the agent's own count, where it has one. What no record told is unknown, and not nothing.
    """

    decoder: ClassVar[msgspec.json.Decoder[Any]]

    def __init__(self, request: HarnessRequest) -> None:
        self.request = request
        self.session_id = request.resume
        self.text = ""
        self.calls: list[Usage] = []
        self.total: Usage | None = None
        self.succeeded = False
        self.failure: Failure | None = None
        self.denied: list[str] = []
        self.version: str | None = None
        self._named: str | None = None

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        record = decoded_line(line, self.decoder) if line.lstrip().startswith("{") else None
        return [] if record is None else self.hear(record)

    @abstractmethod
    def hear(self, record: Any) -> list[Event]:
        """Take a record that the decoder knows."""

    def answer(self, ask: Ask, decision: Decision) -> bytes:
        # It never asks: there is no way to answer.
        return b""

    def cancel(self) -> bytes:
        return b""

    @property
    def is_over(self) -> bool:
        """Whether the agent said its last word; one that also ends by itself then need not tell."""
        return False

    def named(self, session_id: str | None) -> list[Event]:
        """Take the id of the session, which many agents tell again and again."""
        if not session_id or session_id == self._named:
            return []
        self._named = self.session_id = session_id
        return [SessionNamed(session_id)]

    def usage(self) -> Usage:
        """What this run used, as far as it was told."""
        known = self.total or (Usage.total(self.calls) if self.calls else Usage(incomplete=True))
        # What a call used that failed, or was cut off, nobody tells.
        return msgspec.structs.replace(known, incomplete=known.incomplete or not self.succeeded)

    def problem(self, finished: Finished) -> Failure | None:
        """What is wrong with the run, where anything is."""
        return self.failure or (None if self.succeeded else silent_end(finished))

    def outcome(self, finished: Finished) -> Outcome:
        problem = self.problem(finished)
        lost = problem is not None and problem.kind is Kind.SESSION_NOT_FOUND
        return Outcome(
            ok=problem is None,
            # An error that is also given as the answer is none.
            text="" if problem is not None and self.text.strip() == problem.message else self.text[-MOST_TEXT:],
            session_id=None if lost else self.session_id,
            usage=self.usage(),
            failure_kind=None if problem is None else problem.kind,
            error="" if problem is None else problem.message,
            denied=self.denied,
            version=self.version,
        )
