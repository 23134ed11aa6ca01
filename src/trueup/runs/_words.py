"""The words of a record, and of a question. Both databases get the same words, whatever their own idea of one is."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from ._encoding import payload_hashes

# What of a record can be found: a log of megabytes is found by its beginning.
MOST_CHARACTERS = 64 << 10
# As much of a payload, packed, as can hold that many.
MOST_PACKED = MOST_CHARACTERS
_LONGEST_WORD = 64
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r'"([^"]*)"?|(\S+)')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
_AROUND = 60


class Part(Struct, frozen=True):
    """One thing that must be there: words that follow each other, the last of them only begun where `prefix`."""

    words: tuple[str, ...]
    prefix: bool = False


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    return [each[:_LONGEST_WORD] for each in _WORD.findall(text.casefold())]


def parts(question: str) -> list[Part]:
    """What somebody looks for: every word, `"words that follow each other"`, and the beginnings of words as `word*`.

    Nothing else has a meaning, so that nothing can be wrong.
    """
    found = []
    for quoted, plain in _PART.findall(question):
        these = words(quoted or plain)
        if these:
            found.append(Part(tuple(these), prefix=not quoted and plain.endswith("*")))
    return found


def text_of(body: str, places: str | None, packed: dict[str, bytes]) -> str:
    """What a record says, without the names of its fields, as far as it can be found."""
    said = [*_said(body), *(_beginning(packed.get(digest, b"")) for digest in payload_hashes(places))]
    return " ".join(said)[:MOST_CHARACTERS]


def snippet(text: str, question: Iterable[Part]) -> str:
    """The place of a text where the first word of a question stands, marked."""
    hit = next((found for found in (_find(text, part) for part in question) if found is not None), None)
    start, end = hit.span() if hit is not None else (0, 0)
    before, after = max(0, start - _AROUND), min(len(text), end + _AROUND)
    marked = f"«{text[start:end]}»" if hit is not None else ""
    line = " ".join(f"{text[before:start]}{marked}{text[end:after]}".split())
    return f"{'…' if before else ''}{line}{'…' if after < len(text) else ''}"


def _find(text: str, part: Part) -> re.Match[str] | None:
    inner = r"[\W_]+".join(re.escape(each) for each in part.words)
    return re.search(rf"(?<![^\W_]){inner}" + ("" if part.prefix else r"(?![^\W_])"), text, re.IGNORECASE)


def _values(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case dict():
            for key, each in value.items():
                if key != "kind":
                    yield from _values(each)
        case list():
            for each in value:
                yield from _values(each)


def _said(body: str) -> list[str]:
    try:
        return list(_values(msgspec.json.decode(body)))
    except msgspec.DecodeError:
        # Halves of characters, which only the standard library reads.
        return [_unescaped(body)]


def _beginning(packed: bytes) -> str:
    """What the first bytes of a payload unpack to."""
    try:
        content = zlib.decompressobj().decompress(packed, MOST_CHARACTERS)
    except zlib.error:
        # `verify` tells; the rest can still be found.
        return ""
    return _unescaped(content.decode(errors="ignore"))


def _unescaped(text: str) -> str:
    """JSON that may be cut off, as text: an escape is the character that it stands for, or a gap."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text).encode(errors="ignore").decode()
