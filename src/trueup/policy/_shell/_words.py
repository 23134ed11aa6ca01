"""Words of a command as bash would see them after quotes and expansions, as far as the text tells."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Node

# Stands for any text, none included. No word of a shell can contain it.
UNKNOWN = "\0"
# How an unknown stretch is spelled in a text that is read in its turn.
UNKNOWN_AS_TEXT = "${__}"
# A name among the variables which says that none of them is known.
NOBODY_KNOWS = "IFS"

_QUOTE_CHARS = 80
_BARE = re.compile(r"\\\n|\\(.)|(\[[^\]]*\]|[*?])", re.DOTALL)
_IN_QUOTES = re.compile(r"\\\n|\\([\"\\$`])")
_BRACES = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
# `g[i]t`: the grammar takes it apart.
_BRACKETS = re.compile(r"(?<!\\)\[.+\]", re.DOTALL)
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Word(Struct, frozen=True):
    """One word. `UNKNOWN` stands in its text for what is known only when it runs.

    `splits`: it may turn out as several words, or as none. `is_input`: it is read when it runs, as by `xargs`.
    """

    text: str
    splits: bool = False
    is_input: bool = False

    @property
    def is_known(self) -> bool:
        return UNKNOWN not in self.text

    @property
    def as_text(self) -> str:
        """As a part of a shell text that somebody reads."""
        return self.text.replace(UNKNOWN, UNKNOWN_AS_TEXT)


def folder_before_unknown(word: Word) -> str:
    """The part of a path that is known: `secrets` of `secrets/*`."""
    return word.text if word.is_known else posixpath.dirname(word.text.partition(UNKNOWN)[0])


def shown(text: str) -> str:
    """A text in a message."""
    line = " ".join(text.replace(UNKNOWN, "…").split())
    return f"`{line}`" if len(line) <= _QUOTE_CHARS else f"`{line[:_QUOTE_CHARS]}…`"


class Expander:
    """Turns nodes into words. `variables` are those whose value the text tells, None for any other that it sets."""

    def __init__(self, source: bytes, variables: Mapping[str, str | None]) -> None:
        self._source = source
        self._variables = variables
        self._by_type: dict[str, Callable[[Node], tuple[str, bool]]] = {
            "word": self._bare,
            "number": self._bare,
            "raw_string": self._raw_string,
            "ansi_c_string": self._ansi_string,
            "string": self._quoted,
            "translated_string": self._joined,
            "command_name": self._joined,
            "concatenation": self._concatenated,
            "simple_expansion": self._variable,
            "expansion": self._variable,
            "process_substitution": _unknown_word,
            "arithmetic_expansion": _unknown_word,
        }

    def raw(self, node: Node) -> str:
        """The text of a node as it stands in the source."""
        # Not by the node, which would ask the parser's reader, and that stops after its time.
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        """A stretch of the source."""
        return self._source[start:end].decode(errors="replace")

    def words(self, node: Node) -> list[Word]:
        """The words that a node becomes: one, unless a known variable without quotes holds several."""
        value = self._value(node)
        if value is not None and not re.search(r"[*?\[]", value):
            return [Word(word) for word in value.split()]
        text, splits = self._expanded(node)
        return [Word(text, splits)]

    def _expanded(self, node: Node) -> tuple[str, bool]:
        expand = self._by_type.get(node.type)
        return expand(node) if expand else (UNKNOWN, True)

    def _bare(self, node: Node) -> tuple[str, bool]:
        """Text without quotes: a backslash keeps the next character, and file names may take the place of a pattern."""
        text = self.raw(node)
        if _BRACES.search(text):
            return text.partition("{")[0] + UNKNOWN, True
        has_pattern = any(match[2] for match in _BARE.finditer(text))
        return _BARE.sub(lambda match: UNKNOWN if match[2] else match[1] or "", text), has_pattern

    def _raw_string(self, node: Node) -> tuple[str, bool]:
        return self.raw(node)[1:-1].replace(UNKNOWN_AS_TEXT, UNKNOWN), False

    def _ansi_string(self, node: Node) -> tuple[str, bool]:
        return _ANSI.sub(_ansi, self.raw(node)[2:-1]), False

    def _joined(self, node: Node) -> tuple[str, bool]:
        parts = [self._expanded(child) for child in node.named_children]
        return "".join(text for text, _ in parts), any(splits for _, splits in parts)

    def _concatenated(self, node: Node) -> tuple[str, bool]:
        text, splits = self._joined(node)
        # What is in quotes is no brace of an expansion.
        skeleton = "".join(self.raw(child) if child.type == "word" else "q" for child in node.named_children)
        if _BRACES.search(skeleton):
            return text.partition("{")[0] + UNKNOWN, True
        if _BRACKETS.search(skeleton):
            return text.partition("[")[0] + UNKNOWN, True
        return text, splits

    def _quoted(self, node: Node) -> tuple[str, bool]:
        """What stands between two quotes. The grammar has no nodes for some blanks, so gaps are text as well."""
        parts: list[str] = []
        splits = False
        position = node.start_byte + 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            parts.append(_in_quotes(self._source[position : child.start_byte]))
            text, several = self._expanded(child)
            parts.append(text)
            splits = splits or (several and "@" in self.raw(child))
            position = child.end_byte
        parts.append(_in_quotes(self._source[position : node.end_byte - 1]))
        return "".join(parts), splits

    def _variable(self, node: Node) -> tuple[str, bool]:
        value = self._value(node)
        if value is None or re.search(r"[\s*?\[]", value):
            return UNKNOWN, True
        return value, False

    def _value(self, node: Node) -> str | None:
        if node.type == "command_name" and node.named_child_count == 1:
            node = node.named_children[0]
        if node.type not in ("simple_expansion", "expansion") or NOBODY_KNOWS in self._variables:
            return None
        name = re.fullmatch(r"\$(?:(\w+)|\{(\w+)\})", self.raw(node))
        return self._variables.get(name[1] or name[2]) if name else None


def _unknown_word(_: Node) -> tuple[str, bool]:
    return UNKNOWN, False


def _in_quotes(text: bytes) -> str:
    return _IN_QUOTES.sub(lambda match: match[1] or "", text.decode(errors="replace"))


def _ansi(match: re.Match[str]) -> str:
    hexadecimal, short, long, octal, control, letter = match.groups()
    if hexadecimal or short or long:
        code = int(hexadecimal or short or long, 16)
        return chr(code) if code <= 0x10FFFF else UNKNOWN
    if octal:
        return chr(int(octal, 8))
    if control:
        return chr(ord(control) & 0x1F) if ord(control) < 128 else UNKNOWN
    return _ANSI_LETTERS.get(letter, letter)
