"""An agent described as data: how it is started, where in its output the answers stand, and what means success."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct

from trueup.core.documents import Document
from trueup.core.errors import InputError, Kind

from ._described_paths import Scalar, steps_of
from ._described_template import Word, check_argv, check_env, check_way_in, names_of_env, names_of_words
from ._events import ToolKind
from ._protocol import Mode

Path = str
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A repetition of what is itself repeated can take for ever on a text that almost fits.
_ENDLESS = re.compile(r"\([^()]*[*+}][^()]*\)[*+{]")


class UsagePaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a record tells what was used, and of what: one call of a model, the run so far, or the whole session."""

    of: Literal["call", "run", "session"] = "run"
    input_tokens: Path | None = None
    output_tokens: Path | None = None
    cache_read_tokens: Path | None = None
    cache_write_tokens: Path | None = None
    cost_usd: Path | None = None

    def __post_init__(self) -> None:
        _check_paths(path for _, path in self.paths())

    def paths(self) -> Iterator[tuple[str, Path]]:
        """Each amount that is told, and where."""
        told = ((name, getattr(self, name)) for name in self.__struct_fields__ if name != "of")
        return ((name, path) for name, path in told if path is not None)


class ToolCallPaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a record tells that a tool is called. `input` is one path, or one for each argument."""

    name: Path
    id: Path | None = None
    input: Path | dict[str, Path] | None = None

    def __post_init__(self) -> None:
        inputs = self.input.values() if isinstance(self.input, dict) else [self.input]
        _check_paths([self.name, self.id, *inputs])


class ToolResultPaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a record tells what came of a tool: `ok` or `failed` is a boolean there, `exit_code` is good if it is 0."""

    id: Path | None = None
    output: Path | None = None
    ok: Path | None = None
    failed: Path | None = None
    exit_code: Path | None = None

    def __post_init__(self) -> None:
        _check_paths([self.id, self.output, self.ok, self.failed, self.exit_code])


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a record tells if it looks as `where` says. All rules that fit a record are applied, in their order.

    With `each`, the entries of a list are what the paths start from, of those that look as `item` says.
    """

    where: dict[str, Scalar | list[Scalar]] = {}
    each: Path | None = None
    item: dict[str, Scalar | list[Scalar]] = {}
    session: Path | None = None
    version: Path | None = None
    text: Path | None = None
    message: Path | None = None
    piece: Path | None = None
    reasoning: Path | None = None
    retry: Path | None = None
    denied: Path | None = None
    error: Path | None = None
    code: Path | None = None
    usage: UsagePaths | None = None
    tool_call: ToolCallPaths | None = None
    tool_result: ToolResultPaths | None = None
    success: bool | None = None
    last: bool = False

    def __post_init__(self) -> None:
        names = "each session version text message piece reasoning retry denied error code".split()
        _check_paths([*self.where, *self.item, *(getattr(self, name) for name in names)])
        if self.item and self.each is None:
            raise ValueError("`item` says which entries of a list are meant: name the list as `each`")


class FailureText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words that mean a kind of failure. With `fails`, a run in whose answer or stderr they stand has failed."""

    matches: str
    kind: Kind | None = None
    fails: bool = False

    def __post_init__(self) -> None:
        check_pattern(self.matches)


class VersionProbe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the program tells its version: what to run, and what of its output is meant (its first group, if any)."""

    argv: list[str]
    pattern: str = r"\d+\.[\w.+-]*\w"

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0].strip():
            raise ValueError("`argv` names no program")
        check_pattern(self.pattern)


class LoginProbe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What tells that the agent can log in: any of these variables is set, or any of these files is there."""

    variables: list[str] = []
    files: list[str] = []
    advice: str = ""

    def __post_init__(self) -> None:
        if not self.variables and not self.files:
            raise ValueError("name `variables` or `files` by which a login can be told")


class Described(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent that trueup does not know. docs/agents.md tells what each key means."""

    argv: list[Word]
    resume: list[Word] | None = None
    stdin: Literal["prompt", "none"] | None = None
    env: dict[str, str] = {}
    pass_env: list[str] = []
    modes: dict[Mode, list[str]] = {}
    output: Literal["text", "json", "jsonl"] = "text"
    records: list[Rule] = []
    tools: dict[str, ToolKind] = {}
    codes: dict[str, Kind] = {}
    failures: list[FailureText] = []
    version: VersionProbe | None = None
    login: LoginProbe | None = None
    vendor: Literal["anthropic", "openai", "none"] = "none"
    install: str = ""

    def __post_init__(self) -> None:
        for name in (*self.env, *self.pass_env):
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a variable")
        check_env(self.env)
        for key, words in (("argv", self.argv), ("resume", self.resume)):
            if words is not None:
                check_argv(key, words)
                check_way_in(key, words, self.env, self.stdin)
                self._check_modes(key, words)
        self._check_session()
        if (self.output == "text") != (not self.records):
            raise ValueError("`records` say what JSON means: `output` is json or jsonl with them, and text without")

    @property
    def tells_success(self) -> bool:
        """Whether a record says that all went well. Where none does, there is only the exit code, which says little."""
        return any(rule.success for rule in self.records)

    @property
    def program(self) -> str:
        return str(self.argv[0])

    def _check_modes(self, key: str, words: list[Word]) -> None:
        if bool(self.modes) != ("mode" in names_of_words(words)):
            raise ValueError(
                f"`modes` are words for each mode, and stand in `{key}` where the word {{mode}} is: write both"
            )

    def _check_session(self) -> None:
        if self.resume is not None and "session" not in names_of_words(self.resume) | names_of_env(self.env):
            raise ValueError("`resume` does not say with which session to go on: put {session} into one of its words")
        if self.resume is None and self._is_session_told and "session" not in self._names:
            raise ValueError("a session is told, and no word could go on with it: add `resume` with {session}")

    @property
    def _is_session_told(self) -> bool:
        return "new_session" in self._names or any(rule.session for rule in self.records)

    @property
    def _names(self) -> set[str]:
        return names_of_words(self.argv) | names_of_env(self.env)


def load_descriptions(agents: Document | None, reserved: Collection[str] = ()) -> dict[str, Described]:
    """The agents that stand under the key `agents` of a file, by name; an `InputError` tells the place of a mistake."""
    if agents is None or agents.data is None:
        return {}
    if not isinstance(agents.data, dict):
        raise InputError(f"{agents.locate(())}: `agents` is a mapping of a name to a description")
    return {name: _load(agents, name, reserved) for name in agents.data}


def _load(agents: Document, name: Any, reserved: Collection[str]) -> Described:
    place = agents.locate((name,), key=True)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"{place}: {name!r} is no name for an agent: use small letters, digits, and . _ - after the first"
        )
    if name in reserved:
        raise InputError(f"{place}: {name!r} is the name of an agent that trueup knows; choose another")
    part = agents.part(name)
    assert part is not None  # noqa: S101 - it is one of its keys
    return part.decode(Described)


def check_pattern(pattern: str) -> None:
    """Refuse what is no regular expression, or could keep us for ever."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    if _ENDLESS.search(pattern):
        raise ValueError(f"{pattern!r} repeats what is itself repeated, which can take for ever; write it without")


def _check_paths(paths: Iterable[Path | None]) -> None:
    for path in paths:
        if path is not None:
            steps_of(path)
