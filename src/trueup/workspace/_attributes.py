"""Attributes of a base commit, made into one file that a later tree cannot argue with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ._git import quoted

# What a tree may not decide. Git reads our file before the tree's own, and the first answer stands.
NEUTRAL = b"* !text !eol !crlf !filter !ident !working-tree-encoding"

Macros = dict[bytes, list[bytes]]

_KEPT = re.compile(rb"[-!]?(text|eol|crlf)(=[a-z-]+)?")
_FILTER = re.compile(rb"[-!]?filter(=.*)?")
_LINE = re.compile(rb'(?P<pattern>"(?:[^"\\]|\\.)*"|[^\s"]\S*)(?:[ \t\r]+(?P<rest>.*))?')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def flatten(files: Iterable[tuple[bytes, bytes]]) -> bytes:
    """One attributes file out of many, given as (folder, content), the least of them first.

    Only how lines end is kept, and which files are Git LFS pointers; other filters, encodings and idents are not.
    """
    macros: Macros = {b"binary": [b"-text"]}
    lines = [NEUTRAL]
    for folder, content in files:
        for pattern, attributes in _parse(content):
            if pattern.startswith(b"[attr]"):
                macros[pattern.removeprefix(b"[attr]")] = attributes
            elif kept := _keep(attributes, macros):
                lines.append(b" ".join([quoted(_below(folder, pattern)), *kept]))
    return b"\n".join(lines) + b"\n"


def _parse(content: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    for line in content.split(b"\n"):
        found = _LINE.match(line.strip(b" \t\r"))
        if found is None or line.lstrip(b" \t").startswith(b"#"):
            continue
        pattern = found["pattern"]
        if pattern.startswith(b'"'):
            pattern = _unquoted(pattern)
        # Git takes no negative patterns here, and one for a folder says nothing about files.
        if not pattern.startswith(b"!") and not pattern.endswith(b"/"):
            yield pattern, (found["rest"] or b"").split()


def _keep(attributes: list[bytes], macros: Macros, depth: int = 8) -> list[bytes]:
    kept = []
    for attribute in attributes:
        if attribute in macros and depth:
            kept += _keep(macros[attribute], macros, depth - 1)
        elif _KEPT.fullmatch(attribute):
            kept.append(attribute)
        elif _FILTER.fullmatch(attribute):
            kept.append(attribute if attribute == b"filter=lfs" else b"!filter")
    return kept


def _below(folder: bytes, pattern: bytes) -> bytes:
    """A folder's pattern, as it reads from the top."""
    if not folder:
        return pattern
    place = re.sub(rb"([\\*?\[])", rb"\\\1", folder)
    if b"/" in pattern:
        return place + b"/" + pattern.removeprefix(b"/")
    return place + b"/**/" + pattern


def _unquoted(name: bytes) -> bytes:
    def plain(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code)

    return _ESCAPE.sub(plain, name[1:-1])
