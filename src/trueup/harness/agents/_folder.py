"""A folder for one run: files that an agent wants by name, and one that it writes, which is told when it has ended.

The folder is made where the agent runs, so that it is there inside of a sandbox too. A small shell makes it, starts the
agent, hands signals on, tells the file between two lines of its own, and removes the folder.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from trueup.core.protocols import Event

from .._protocol import Ask, HarnessRequest, Invocation, Say
from ._base import Listening

BEGIN = "[trueup: a file of the agent's begins]"
END = "[trueup: a file of the agent's ends]"
# What is kept of a file that never ends.
MOST_TOLD = 64 << 20

# Something of an agent that is being ended may still write there.
_MAKE = """set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder" 2>/dev/null || { sleep 0.2; rm -rf "$folder"; }' EXIT
"""
# A shell that waits takes no signal, and a program in the background has no stdin, unless both are seen to.
_RUN = """set +e
exec 3<&0
{words} <&3 3<&- &
agent=$!
exec 3<&-
trap 'kill -TERM "$agent" 2>/dev/null' TERM INT HUP
wait "$agent"
code=$?
while kill -0 "$agent" 2>/dev/null; do wait "$agent"; code=$?; done
"""


class Place(Struct, frozen=True):
    """A word that names something in the folder of the run, behind what stands `before` it."""

    name: str = ""
    before: str = ""


Word: TypeAlias = str | Place


class Layout(Struct, frozen=True, kw_only=True):
    """What the folder is for: `files` to lay out there, by name, and the file that is told in the end.

    What is written to the agent becomes the file `stdin`, where it has a name. `first` is a piece of shell that runs
    before the agent, `last` one that runs after it. What an agent `leaves` in the working folder is removed,
    unless it was there before. None of these names may come from anybody but an adapter.
    """

    files: Mapping[str, str] = {}
    tells: str | None = None
    stdin: str | None = None
    first: str = ""
    last: str = ""
    leaves: tuple[str, ...] = ()


def in_folder(words: Sequence[Word], layout: Layout, *, env: Mapping[str, Word], stdin: bytes) -> Invocation:
    """A command with a folder of its own. What is in its files is not seen in the list of processes."""
    arguments: list[str] = []

    def refer(word: Word) -> str:
        if isinstance(word, str):
            arguments.append(word)
            return f'"${{{len(arguments)}}}"'
        return f'"{word.before}$folder{"/" if word.name else ""}{word.name}"'

    contents = {f"TRUEUP_FILE_{number}": text for number, text in enumerate(layout.files.values())}
    lines = [_MAKE, layout.first]
    for variable, name in zip(contents, layout.files, strict=True):
        lines.append(f'mkdir -p "$(dirname "$folder/{name}")"\nprintf %s "${variable}" >"$folder/{name}"\n')
        lines.append(f"unset {variable}\n")
    if layout.stdin is not None:
        lines.append(f'cat >"$folder/{layout.stdin}"\nexec </dev/null\n')
    lines += [f"export {name}={refer(word)}\n" for name, word in env.items() if isinstance(word, Place)]
    lines += [f'[ -e "{name}" ] && stays_{number}=1 || true\n' for number, name in enumerate(layout.leaves)]
    lines.append(_RUN.format(words=" ".join(refer(word) for word in words)))
    lines += [f'[ -n "$stays_{number}" ] || rm -rf "{name}"\n' for number, name in enumerate(layout.leaves)]
    lines.append(layout.last)
    if layout.tells is not None:
        lines.append(f'if [ -s "$folder/{layout.tells}" ]; then\n')
        lines.append(f'printf "\\n%s\\n" "{BEGIN}"; cat "$folder/{layout.tells}"; printf "\\n%s\\n" "{END}"\nfi\n')
    lines.append('exit "$code"\n')
    plain = {name: word for name, word in env.items() if isinstance(word, str)}
    return Invocation(argv=("/bin/sh", "-c", "".join(lines), "sh", *arguments), env={**plain, **contents}, stdin=stdin)


class FileListening(Listening):
    """A `Conversation` with an agent of which a file is told beside its lines; of several the last one counts."""

    def __init__(self, request: HarnessRequest) -> None:
        super().__init__(request)
        self._lines: list[str] | None = None
        self._size = 0

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        if line == BEGIN:
            self._lines, self._size = [], 0
            return []
        if self._lines is None:
            return super().feed(line)
        if line == END:
            content, self._lines = "\n".join(self._lines), None
            return self.hear_file(content)
        self._size += len(line)
        if self._size <= MOST_TOLD:
            self._lines.append(line)
        return []

    @abstractmethod
    def hear_file(self, content: str) -> list[Event]:
        """Take the file that the agent wrote."""
        ...
