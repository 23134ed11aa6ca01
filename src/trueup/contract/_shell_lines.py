"""Shell text as the simple commands in it, read without running anything and without ever failing."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

from msgspec import Struct

_OPERATORS = frozenset(";()&|<>\n")
_RESERVED = frozenset("! { } if then else elif fi do done while until time exec command nohup setsid".split())
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "eval"})
_WRAPPERS = frozenset("env nice sudo stdbuf xvfb-run npx bunx uvx timeout".split())
_RUN_IN = frozenset("uv poetry pdm pipenv hatch rye".split())
_EXECUTORS = frozenset(
    {("pnpm", "exec"), ("yarn", "exec"), ("npm", "exec"), ("bun", "x"), ("bundle", "exec"), ("pnpm", "dlx")}
)
_FLAGS_WITH_VALUE = frozenset(
    "--extra --group --only-group --with --python -p --package --env-file --directory -n -u -k -s --signal".split()
)
_DEEPEST = 4


class SimpleCommand(Struct, frozen=True):
    """One program with its words, the folder in which it starts, and the variables set in front of it."""

    words: tuple[str, ...]
    folder: str = "."
    variables: dict[str, str] = {}

    @property
    def tool(self) -> str:
        """The program's name without its folder."""
        return posixpath.basename(self.words[0])


def simple_commands(text: str, folder: str = ".") -> list[SimpleCommand]:
    """The commands of a shell text without what merely wraps them; `cd` moves those that follow."""
    return list(_commands(text, folder, _DEEPEST))


def _commands(text: str, folder: str, depth: int) -> Iterator[SimpleCommand]:
    outer: list[str] = []
    for words, operator in _stretches(text):
        variables, bare = _unwrapped(words)
        if bare and bare[0] in ("cd", "pushd"):
            folder = _joined(folder, bare[1] if len(bare) > 1 else ".")
        elif depth and (inner := _inner_text(bare)) is not None:
            yield from _commands(inner, folder, depth - 1)
        elif bare:
            yield SimpleCommand(tuple(bare), folder, variables)
        for character in operator:
            if character == "(":
                outer.append(folder)
            elif character == ")" and outer:
                folder = outer.pop()


def _stretches(text: str) -> Iterator[tuple[list[str], str]]:
    """Words up to an operator that ends a command, and that operator."""
    words: list[str] = []
    skipping = in_comment = False
    for token in _tokens(text.replace("\\\n", " ")):
        if not set(token) <= _OPERATORS:
            in_comment = in_comment or token.startswith("#")
            if not (skipping or in_comment):
                words.append(token.strip("`"))
            skipping = False
        elif set(token) & set("<>") and not set(token) & set("()"):
            # What is written to is no input; what is read from is an argument like any other.
            skipping = ">" in token or "<<" in token
            if ">" in token and words and words[-1] in ("1", "2"):
                words.pop()
        elif not in_comment or "\n" in token:
            yield words, token
            words, skipping, in_comment = [], False, False
    yield words, ""


def _tokens(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="".join(sorted(_OPERATORS)))
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return [token for token in lexer if token]
    except ValueError:
        return re.findall(r"[;()&|<>\n]+|[^\s;()&|<>'\"]+", text)


def _unwrapped(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Peel off variables and whatever only says in which environment the program runs."""
    variables: dict[str, str] = {}
    while words:
        if _ASSIGNMENT.match(words[0]):
            name, _, value = words[0].partition("=")
            variables[name] = value
            words = words[1:]
        elif (inner := _peeled(words)) is not None:
            words = inner
        else:
            break
    return variables, words


def _peeled(words: list[str]) -> list[str] | None:
    head, *rest = words
    first = rest[0] if rest else ""
    inner = None
    if head in _RESERVED:
        inner = rest
    elif head in _WRAPPERS:
        inner = _without_flags(rest)[head == "timeout" :]
    elif (head in _RUN_IN and first == "run") or (head, first) in _EXECUTORS:
        inner = _without_flags(rest[1:])
    elif head == "coverage" and first == "run":
        inner = ["python", *_without_flags(rest[1:], ending="-m")]
    elif re.fullmatch(r"(\S*/)?python[\d.]*", head) and rest[:2] == ["-m", "coverage"]:
        inner = rest[1:]
    return inner


def _without_flags(words: list[str], ending: str = "") -> list[str]:
    while words and words[0].startswith("-") and words[0] != ending:
        words = words[2:] if words[0] in _FLAGS_WITH_VALUE else words[1:]
    return words


def _inner_text(words: list[str]) -> str | None:
    """The text that a shell was given as an argument."""
    if not words or posixpath.basename(words[0]) not in _SHELLS:
        return None
    if words[0] == "eval":
        return " ".join(words[1:])
    flags = [index for index, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)]
    return words[flags[0] + 1] if flags and len(words) > flags[0] + 1 else None


def _joined(folder: str, step: str) -> str:
    return posixpath.normpath(posixpath.join(folder, step))
