"""What makes a contract unusable (problems) or doubtful (weaknesses)."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from trueup.core.text import visible

if TYPE_CHECKING:
    from ._model import Check, Contract

PLACEHOLDER_NAME = "unique_snake_case_label"

# A kernel takes no argument beyond 128 KiB, and a sandbox adds its own words to a command.
MOST_COMMAND_CHARACTERS = 1 << 16

_TOOLS = frozenset(
    "cargo rustc rustup node npm npx yarn pnpm python python3 pip pip3 go java javac ruby gem dotnet deno bun tsc gcc "
    "clang make cmake".split()
)
_PROBE_FLAGS = frozenset({"--version", "-V", "-v", "--help", "-h", "version"})


def problems_of(contract: Contract) -> Iterator[str]:
    """Every reason why the contract cannot be used, check by check."""
    if not contract.checks:
        yield "contract has no checks; it needs at least one"
    if not _is_text(contract):
        yield "contract has half of a surrogate pair in it, which is no character"
    names: set[str] = set()
    for index, check in enumerate(contract.checks):
        yield from _name_problems(index, check, names)
        yield from _command_problems(check)
        if not check.expect_exit_zero and check.output_contains is None:
            yield f"check {check.name!r} asserts nothing: any exit code will do and no output is asked for"
        if not _stays_inside(check.cwd):
            yield f"check {check.name!r} has cwd {check.cwd!r}, which is not a folder inside the repository"


def _is_text(contract: Contract) -> bool:
    """Whether it can be written to a file; a model's answer may hold what none can hold."""
    try:
        json.dumps(contract.as_data(), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _name_problems(index: int, check: Check, names: set[str]) -> Iterator[str]:
    name = check.name.strip()
    if not name:
        yield f"check #{index} has an empty name"
    if name == PLACEHOLDER_NAME:
        yield f"check #{index} still has the placeholder name {PLACEHOLDER_NAME!r}; name what it shows"
    if visible(check.name) != check.name or "\n" in check.name or "\t" in check.name:
        yield f"check #{index} has control characters in its name {check.name!r}"
    if name in names:
        yield f"duplicate check name {check.name!r}"
    names.add(name)


def _command_problems(check: Check) -> Iterator[str]:
    command = check.command.strip()
    if not command:
        yield f"check {check.name!r} has an empty command"
    elif is_toolchain_only(command):
        yield (
            f"check {check.name!r} is a toolchain-only no-op (`{command}`): it shows that a tool is installed and "
            "nothing about the task; run what the change affects"
        )
    if len(command) > MOST_COMMAND_CHARACTERS:
        yield f"check {check.name!r} has a command of {len(command)} characters; put it in a script"
    if "\0" in command:
        yield f"check {check.name!r} has a NUL byte in its command"


def is_toolchain_only(command: str) -> bool:
    """Whether a command only asks a build tool for its version or help."""
    if re.search(r"&&|\||;|\n", command):
        return False
    tokens = command.split()
    return len(tokens) == 2 and tokens[0] in _TOOLS and tokens[1] in _PROBE_FLAGS


def _stays_inside(cwd: str) -> bool:
    path = PurePosixPath(cwd)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in cwd


_SEPARATORS = frozenset({"&&", "||", ";", "|", "|&", "&", "\n", "(", ")"})
_ALWAYS_TRUE = frozenset({"true", ":", "echo", "printf"})
_LOOKS_ONLY = frozenset({"grep", "egrep", "fgrep", "rg", "test", "[", "[[", "ls", "stat"})
_WATCHERS = (
    ("tail", "-f"),
    ("npm", "start"),
    ("npm", "run", "dev"),
    ("npm", "run", "start"),
    ("yarn", "dev"),
    ("yarn", "start"),
    ("pnpm", "dev"),
    ("flask", "run"),
    ("nodemon",),
    ("watch",),
    ("python", "-m", "http.server"),
    ("python3", "-m", "http.server"),
)
_CHANGES_GIT = frozenset({"push", "commit", "reset", "checkout", "switch", "clean", "stash", "rebase", "merge", "tag"})
_NEEDS_NETWORK = (
    ("curl",),
    ("wget",),
    ("ssh",),
    ("pip", "install"),
    ("pip3", "install"),
    ("npm", "install"),
    ("npm", "ci"),
    ("yarn", "install"),
    ("pnpm", "install"),
    ("git", "clone"),
    ("git", "fetch"),
    ("git", "pull"),
)


def weaknesses_of(contract: Contract) -> Iterator[str]:
    """Doubts to show a person. None is fatal: whether a check gates anything is found out by running it."""
    seen: dict[tuple[str, str], str] = {}
    for check in contract.checks:
        for doubt in _doubts(check):
            yield f"check {check.name!r} {doubt}"
        earlier = seen.setdefault((check.cwd, " ".join(check.command.split())), check.name)
        if earlier != check.name and check.command.strip():
            yield f"check {check.name!r} runs the same command as {earlier!r}"
    looking = [check for check in contract.checks if _only_looks(check.command)]
    if looking and len(looking) == len(contract.checks):
        yield "every check only looks at files or text; none runs the code that is to change"


def _doubts(check: Check) -> Iterator[str]:
    try:
        words = _words(check.command)
    except ValueError as error:
        yield f"cannot be parsed as a shell command ({error})"
        return
    commands = _simple_commands(words)
    if check.output_contains == "":
        yield "asks for an empty text in the output, which is always there"
    if _does_nothing(commands):
        yield "does nothing that could fail"
    elif _hides_failure(words):
        yield "hides failure: what ends the line succeeds whatever came before"
    for command in commands:
        yield from _command_doubts(command, needs_permission=not check.network)


def _command_doubts(command: list[str], *, needs_permission: bool) -> Iterator[str]:
    if any(word == "--watch" or word.startswith("--watch=") or word == "--watchAll" for word in command):
        yield "watches for changes and does not end by itself"
    elif _starts_with(command, _WATCHERS):
        yield f"runs `{' '.join(command[:3])}`, which does not end by itself"
    if command[0] == "sudo":
        yield "asks for root with sudo"
    if command[0] == "git" and len(command) > 1 and command[1] in _CHANGES_GIT:
        yield f"changes a repository with `git {command[1]}`"
    elif needs_permission and _starts_with(command, _NEEDS_NETWORK):
        yield f"runs `{' '.join(command[:2])}`, which wants the network that checks do not have unless `network: true`"


def _words(command: str) -> list[str]:
    """Shell words with operators as words of their own; a new line ends a command."""
    if len(command) > MOST_COMMAND_CHARACTERS:
        # shlex takes quadratic time for a long word.
        raise ValueError("too long")
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";()&|\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    return [";" if word.strip("\n") == "" else word for word in lexer]


def _simple_commands(words: list[str]) -> list[list[str]]:
    commands: list[list[str]] = [[]]
    for word in words:
        if word in _SEPARATORS:
            commands.append([])
        elif commands[-1] or not re.match(r"\w+=", word):
            # Leading assignments (`X=1 pytest`) are not the command.
            commands[-1].append(word)
    return [command for command in commands if command]


def _does_nothing(commands: list[list[str]]) -> bool:
    return all(command[0] in _ALWAYS_TRUE or command == ["exit", "0"] for command in commands)


def _hides_failure(words: list[str]) -> bool:
    ends = [index for index, word in enumerate(words) if word in {"||", ";", "&"}]
    if not ends:
        return False
    if words[-1] == "&":
        return True
    last = words[ends[-1] + 1 :]
    return bool(last) and (last[0] in _ALWAYS_TRUE or last == ["exit", "0"]) and not _SEPARATORS & set(last)


def _only_looks(command: str) -> bool:
    try:
        commands = _simple_commands(_words(command))
    except ValueError:
        return False
    return bool(commands) and all(words[0].lstrip("!") in _LOOKS_ONLY or words[0] == "!" for words in commands)


def _starts_with(command: list[str], prefixes: tuple[tuple[str, ...], ...]) -> bool:
    return any(tuple(command[: len(prefix)]) == prefix for prefix in prefixes)
