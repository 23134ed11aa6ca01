"""Files that an agent wants and nobody should find afterwards: a small shell lays them out and becomes the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ._base import Directions

# Their numbers are of one digit, since no others can be counted on in every shell.
FILES = (9, 8, 7)
PROMPT = 6

_BEGIN = """set -e
umask 077
all=$(mktemp) part=
trap 'rm -f "$all" "$part"' EXIT
cat >"$all"
"""
# A new file for each: the name of one that was removed could be somebody else's by then.
_PART = """part=$(mktemp)
tail -c "+{begin}" "$all" | head -c {size} >"$part"
exec {descriptor}<"$part"
rm -f "$part"
"""
_END = """rm -f "$all"
trap - EXIT
"""

# For whom stdin is not ours to write: what is in the file comes by a variable, which nobody sees afterwards.
_ONE_FILE = f"""set -e
umask 077
file=$(mktemp)
printf %s "$TRUEUP_FILE" >"$file"
exec {FILES[0]}<"$file"
rm -f "$file"
unset TRUEUP_FILE
set +e
"""


class LaidOut(Struct, frozen=True):
    """A command that has files, and what must be written to it."""

    argv: tuple[str, ...]
    stdin: bytes


def laid_out(argv: Sequence[str], files: Mapping[str, bytes], prompt: bytes) -> LaidOut:
    """The same command with files, each named by a variable, and the prompt on stdin.

    The files have no names: nothing is left of them whatever becomes of the agent, whose descendants can read them
    meanwhile. What is in them is not seen in the list of processes.
    """
    parts = [*files.values(), prompt]
    script, begin = _BEGIN, 1
    for descriptor, part in zip((*FILES[: len(files)], PROMPT), parts, strict=True):
        script += _PART.format(begin=begin, size=len(part), descriptor=descriptor)
        begin += len(part)
    names = "".join(
        f'export {variable}="/proc/$$/fd/{number}"\n' for number, variable in zip(FILES, files, strict=False)
    )
    script += f'{_END}{names}exec "$@" <&{PROMPT} {PROMPT}<&-\n'
    return LaidOut(("/bin/sh", "-c", script, "sh", *argv), b"".join(parts))


def with_a_file(variable: str, content: str) -> Directions:
    """A small file that a variable names, as `laid_out` makes one."""
    script = f'{_ONE_FILE}export {variable}="/proc/$$/fd/{FILES[0]}"\nexec "$@"\n'
    return Directions(before=("/bin/sh", "-c", script, "sh"), env={"TRUEUP_FILE": content})
