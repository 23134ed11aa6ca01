"""What each kind of rule looks at, and what it says where it refuses."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET, Struct

from trueup.core.protocols import Action

from ._command_patterns import Certainty, CommandPattern
from ._paths import PathGlob, Place, paths_in, paths_run
from ._shell import Reading, SimpleCommand, read_shell, read_words
from ._texts import is_same, texts_in
from ._tools import is_shell

# Where tools keep a command, when a rule does not say.
COMMAND_KEYS = ("command", "cmd", "argv", "script", "shell_command", "commandLine", "command_line")
_ADVICE = "this is read from its text, as advice on top of the sandbox"


class Refusal(NamedTuple):
    """Which parameter an action is refused for, if any, and why."""

    param: str | None
    why: str


class Circumstances(Struct, frozen=True):
    """What a decision depends on beside the action."""

    state: Mapping[str, Any] = {}
    place: Place = Place()


Check: TypeAlias = Callable[[Action, Circumstances], Refusal | None]


def deny_always() -> Check:
    """The tool itself is refused."""
    return lambda action, _: Refusal(None, f"tool '{action.tool}' denied by policy")


def deny_text(key: str, pattern: str, is_in: Callable[[str], bool]) -> Check:
    """A text in a parameter is refused."""

    def check(action: Action, _: Circumstances) -> Refusal | None:
        if key in action.params and any(map(is_in, texts_in(action.params[key]))):
            return Refusal(key, f"param '{key}' matches denied pattern '{pattern}'")
        return None

    return check


def allow_value(key: str, *, values: Sequence[Any] = (), pattern: str | None = None) -> Check:
    """All but some values of a parameter is refused, and so is its absence."""

    def check(action: Action, _: Circumstances) -> Refusal | None:
        if key not in action.params:
            return Refusal(key, f"param '{key}' is missing, and only some values of it are allowed")
        given = action.params[key]
        if pattern is not None:
            is_allowed = isinstance(given, str) and pattern in given
            return None if is_allowed else Refusal(key, f"param '{key}' does not match allowed pattern '{pattern}'")
        return None if any(is_same(given, value) for value in values) else Refusal(key, f"param '{key}' is not allowed")

    return check


def require_state(key: str, value: Any) -> Check:
    """Nothing is done until the state is as it should be."""

    def check(action: Action, circumstances: Circumstances) -> Refusal | None:
        if key not in circumstances.state:
            return Refusal(None, f"tool '{action.tool}' requires state '{key}', which is not set")
        if value is UNSET or is_same(circumstances.state[key], value):
            return None
        return Refusal(None, f"tool '{action.tool}' requires another value of state '{key}'")

    return check


def deny_path(key: str | None, pattern: str, glob: PathGlob) -> Check:
    """A path is refused, wherever in the action it is named."""
    _get_ready_to_read()

    def check(action: Action, circumstances: Circumstances) -> Refusal | None:
        for param, path, folder in _paths(action, key):
            if any(glob.names(form) for form in circumstances.place.forms(path, folder)):
                return Refusal(param, f"param '{param}' names '{path}', which denied path '{pattern}' fits ({_ADVICE})")
        return None

    return check


def _get_ready_to_read() -> None:
    """Load the grammar now, and not while somebody waits for a decision."""
    read_shell("")


def _paths(action: Action, key: str | None) -> Iterator[tuple[str, str, str]]:
    folder = action.params.get("cwd")
    folder = folder if isinstance(folder, str) else ""
    for param, value in action.params.items():
        if key in (None, param):
            yield from ((param, path, folder) for path in paths_in(value))
    for param, reading in _readings(action, key):
        yield from ((param, path, _below(folder, below)) for path, below in paths_run(reading))


def _below(folder: str, changed: str) -> str:
    """Where a text is that was started in a folder and has changed to another."""
    return changed if changed.startswith("~") else posixpath.join(folder, changed)


def deny_command(key: str | None, patterns: Sequence[CommandPattern]) -> Check:
    """A command is refused wherever a shell text runs it, and so is what cannot be told from it."""
    _get_ready_to_read()

    def check(action: Action, _: Circumstances) -> Refusal | None:
        readings = list(_readings(action, key))
        if not readings and key is None and is_shell(action):
            return _unseen(action)
        for param, reading in readings:
            why = _why_denied(reading, patterns)
            if why:
                return Refusal(param, f"param '{param}' {why} ({_ADVICE})")
        return None

    return check


def _why_denied(reading: Reading, patterns: Sequence[CommandPattern]) -> str:
    found = [(pattern.denies(command), pattern, command) for command in reading.commands for pattern in patterns]
    for wanted, words in ((Certainty.YES, "runs"), (Certainty.PERHAPS, "may run")):
        for certainty, pattern, command in found:
            if certainty is wanted:
                advice = "" if wanted is Certainty.YES else "; write out what it runs"
                return f"{words} denied command '{pattern.text}': {command}{advice}"
    unread = (*reading.unread, *reading.doubts)
    if unread:
        named = ", ".join(f"'{pattern.text}'" for pattern in patterns)
        return f"cannot be read, so it may run denied command {named}: {unread[0]}; write out what it runs"
    return ""


def allow_command(key: str | None, patterns: Sequence[CommandPattern], *, is_for_one_tool: bool) -> Check:
    """All but some commands are refused, and so is what cannot be read."""
    _get_ready_to_read()

    def check(action: Action, _: Circumstances) -> Refusal | None:
        readings = list(_readings(action, key))
        if not readings and (is_for_one_tool or (key is None and is_shell(action))):
            return _unseen(action, key)
        for param, reading in readings:
            why = _why_not_allowed(reading, patterns)
            if why:
                return Refusal(param, f"param '{param}' {why} ({_ADVICE})")
        return None

    return check


def _unseen(action: Action, key: str | None = None) -> Refusal:
    """What is run where no command is told could be anything."""
    where = f"param '{key}'" if key else "parameter"
    return Refusal(key, f"tool '{action.tool}' has no {where} with a command, and not all commands are allowed")


def _why_not_allowed(reading: Reading, patterns: Sequence[CommandPattern]) -> str:
    if reading.unread:
        return f"cannot be read, and only some commands are allowed: {reading.unread[0]}"
    for command in reading.commands:
        # Whether a launcher may start whatever it likes is said by allowing the launcher.
        if not command.is_guess and not _is_allowed(command, reading, patterns):
            return f"runs {command}, which is not among the allowed commands"
    return ""


def _is_allowed(command: SimpleCommand, reading: Reading, patterns: Sequence[CommandPattern]) -> bool:
    if any(pattern.allows(command) for pattern in patterns):
        return True
    may_set = all(
        _is_of_the_text(variable) or any(pattern.allows_variable(variable) for pattern in patterns)
        for variable in command.variables
    )
    if not command.words:
        return may_set
    is_function = command.words[0].text in reading.functions
    return (is_function and may_set) or (
        command.is_quiet and all(any(pattern.allows_variable(one) for pattern in patterns) for one in command.variables)
    )


def _is_of_the_text(assignment: str) -> bool:
    """Whether a variable is one that the text keeps for itself; those of the environment have no small letters."""
    return any(letter.islower() for letter in assignment.partition("=")[0])


def _readings(action: Action, key: str | None) -> Iterator[tuple[str, Reading]]:
    """The commands of an action: at the rule's key, or where tools usually have them."""
    for param in (key,) if key else COMMAND_KEYS:
        if param in action.params:
            yield param, _reading(action.params[param], action.params.get("args"))


def _reading(given: Any, arguments: Any) -> Reading:
    """What a command is, with its arguments where a tool has them apart."""
    if isinstance(arguments, str):
        arguments = [arguments] if _are_words(given) else arguments
    elif not _are_words(arguments or ()):
        return Reading(unread=("its arguments are neither a text nor a list of words",))
    if isinstance(given, str):
        rest = arguments if isinstance(arguments, str) else shlex.join(arguments or ())
        return read_shell(f"{given} {rest}" if rest else given)
    if _are_words(given):
        return read_words((*given, *(arguments or ())))
    return Reading(unread=("it is neither a text nor a list of words",))


def _are_words(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(word, str) and "\0" not in word for word in value)
