"""The five tools: what each takes, and how it is done by programs in the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec import Meta, Struct

from trueup.core.process import Finished
from trueup.model import Tool

from ._conversation import OUTPUT_CHARS, shortened
from ._hands import Hands, ToolFailedError

LONGEST_SECS = 1800
LARGEST_FILE = 1 << 20
MOST_MATCHES = 200
LONGEST_MATCH = 300

Path: TypeAlias = Annotated[str, Meta(description="a path in the working directory, or a whole one")]

_IS_FILE = """
[ -e "$1" ] || { echo "there is no such file" >&2; exit 3; }
[ ! -d "$1" ] || { echo "it is a folder; list it with the shell" >&2; exit 3; }
[ -f "$1" ] || { echo "it is not an ordinary file" >&2; exit 3; }
[ -r "$1" ] || { echo "it may not be read" >&2; exit 3; }
"""
# How many lines end, whether one is left that does not, and the lines: by programs that need no memory for long ones.
_READ = (
    _IS_FILE
    + 'wc -l <"$1" >&2; tail -c 1 -- "$1" | tr -d "\\n" | wc -c >&2; '
    + '{ tail -n "+$2" -- "$1" | head -n "$3" | head -c "$4"; } 2>/dev/null'
)
_FETCH = _IS_FILE + 'exec head -c "$2" -- "$1"'
# By tee, since bash gives some paths a meaning of its own behind `>`.
_WRITE = """
case "$(realpath -m -- "$1")" in
    "$2"/*) mkdir -p -- "$(dirname -- "$1")" && exec tee -- "$1" >/dev/null ;;
    *) echo "it is outside of the working directory, where nothing is written" >&2; exit 3 ;;
esac
"""
# An expression of a few characters can ask for all the memory that there is.
_SEARCH = """
ulimit -v 524288 2>/dev/null
[ -e "$2" ] || { echo "there is no such file or folder" >&2; exit 3; }
exec grep -rnIsE -D skip --include="$3" --exclude-dir={.git,node_modules,.venv,__pycache__} -e "$1" -- "$2"
"""


class Shell(Struct, frozen=True):
    """Run a line of bash in the working directory. There is no input; what it starts in the background ends with it."""

    command: str
    timeout_secs: Annotated[float, Meta(gt=0, le=LONGEST_SECS, description="how long it may take")] = 120

    kind: ClassVar[str] = "shell"

    def params(self, hands: Hands) -> dict[str, Any]:
        return {"command": self.command, "cwd": "."}

    async def use(self, hands: Hands) -> str:
        finished, output = await hands.line(self.command, self.timeout_secs)
        if finished.timed_out:
            raise ToolFailedError(f"{output}\n[not done after {self.timeout_secs:g} s, and ended]")
        if finished.exit_code != 0:
            raise ToolFailedError(f"{output}\n[{_how(finished)}]")
        return output or "[exit 0, no output]"


class Read(Struct, frozen=True):
    """Read a text file, or some of its lines."""

    path: Path
    offset: Annotated[int, Meta(ge=1, description="the first line, counted from 1")] = 1
    limit: Annotated[int, Meta(ge=1, le=1_000_000, description="how many lines at most")] = 2000

    kind: ClassVar[str] = "read"

    def params(self, hands: Hands) -> dict[str, Any]:
        return {"path": hands.path(self.path)}

    async def use(self, hands: Hands) -> str:
        words = (_named(self.path, hands), str(self.offset), str(self.limit), str(OUTPUT_CHARS + 1))
        finished = await hands.script(_READ, *words)
        counts = finished.stderr.text.split()
        if finished.exit_code != 0 or not all(map(str.isdigit, counts)):
            raise _failure(hands.path(self.path), finished)
        data = finished.stdout.data
        if b"\0" in data:
            raise ToolFailedError(f"{hands.path(self.path)}: it is not text; look at it with the shell")
        return self._shown(data, sum(map(int, counts)))

    def _shown(self, data: bytes, lines_there: int) -> str:
        too_long = len(data) > OUTPUT_CHARS
        data = data[:OUTPUT_CHARS]
        if too_long and b"\n" in data:
            # Whole lines only, so that it can be read on from the next.
            data = data[: data.rindex(b"\n") + 1]
        text = data.decode(errors="replace")
        shown = text.count("\n") + (text != "" and not text.endswith("\n"))
        last = self.offset + shown - 1
        if not shown:
            return f"[nothing: the file has {lines_there} lines]"
        if self.offset == 1 and last >= lines_there and not too_long:
            return text
        cut = ", a long one cut" if too_long and "\n" not in text else ""
        more = f"; go on with offset={last + 1}" if last < lines_there else ""
        return f"{text}\n[lines {self.offset} to {last} of {lines_there}{cut}{more}]"


class Write(Struct, frozen=True):
    """Write a whole file in the working directory, and folders above it that are missing. What was in it is gone."""

    path: Path
    content: str

    kind: ClassVar[str] = "write"

    def params(self, hands: Hands) -> dict[str, Any]:
        return {"path": hands.path(self.path), "content": self.content}

    async def use(self, hands: Hands) -> str:
        data = self.content.encode(errors="replace")
        await _put(self.path, data, hands)
        return f"[{len(data)} bytes written]"


class Edit(Struct, frozen=True):
    """Replace a piece of a text file in the working directory. It must be there exactly as given, and only once unless all are meant."""

    path: Path
    old: Annotated[str, Meta(description="what to replace, with enough around it to be found only once")]
    new: str
    all: Annotated[bool, Meta(description="replace it wherever it is")] = False

    kind: ClassVar[str] = "write"

    def params(self, hands: Hands) -> dict[str, Any]:
        return {"path": hands.path(self.path), "old": self.old, "new": self.new}

    async def use(self, hands: Hands) -> str:
        if not self.old or self.old == self.new:
            raise ToolFailedError("nothing would change; give what is there as `old`, and something else as `new`")
        where = hands.path(self.path)
        words = (_named(self.path, hands), str(LARGEST_FILE + 1))
        finished = await hands.script(_FETCH, *words, kept_bytes=LARGEST_FILE)
        if finished.exit_code != 0:
            raise _failure(where, finished)
        if not finished.stdout.whole:
            raise ToolFailedError(f"{where}: it has more than {LARGEST_FILE} bytes; change it with the shell")
        data, old, new = finished.stdout.data, self.old.encode(errors="replace"), self.new.encode(errors="replace")
        if old not in data and b"\r\n" in data:
            # The file's lines end as Windows ends them, which a model does not see.
            old, new = (piece.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for piece in (old, new))
        found = data.count(old)
        if found == 0:
            raise ToolFailedError(f"{where}: `old` is not in it; read it again, and copy what is there exactly")
        if found > 1 and not self.all:
            raise ToolFailedError(f"{where}: `old` is in it {found} times; give more of what is around it")
        await _put(self.path, data.replace(old, new), hands)
        return f"[{found} replaced]"


class Search(Struct, frozen=True):
    """Find lines in files by an extended regular expression (grep -E). Binary files and .git are left out."""

    pattern: str
    path: Annotated[str, Meta(description="where to look: a folder or a file")] = "."
    files: Annotated[str, Meta(description="only files of such a name, as *.py")] = "*"

    kind: ClassVar[str] = "search"

    def params(self, hands: Hands) -> dict[str, Any]:
        return {"pattern": self.pattern, "path": hands.path(self.path), "files": self.files}

    async def use(self, hands: Hands) -> str:
        finished = await hands.script(_SEARCH, self.pattern, _named(self.path, hands), self.files)
        lines = finished.stdout.text.splitlines()
        # 2 is also said where only some of the files could not be read.
        if finished.exit_code not in {0, 1} and not lines:
            raise _failure(hands.path(self.path), finished)
        if not lines:
            return "[nothing found]"
        if not finished.stdout.whole:
            return shortened(_cut(lines[-MOST_MATCHES:])) + "\n[there are many more; look for something rarer]"
        left = len(lines) - MOST_MATCHES
        return shortened(_cut(lines[:MOST_MATCHES])) + (f"\n[{left} more lines; look for something rarer]" * (left > 0))


AnyTool: TypeAlias = Shell | Read | Write | Edit | Search
_TYPES: Mapping[str, type[AnyTool]] = {
    "shell": Shell,
    "read": Read,
    "write": Write,
    "edit": Edit,
    "search": Search,
}
TOOLS = tuple(_TYPES)
LOOKING = ("read", "search")
EDITING = ("read", "write", "edit", "search")


def offered(name: str) -> Tool:
    """A tool as it is described to a model."""
    schema = msgspec.json.schema(_TYPES[name])["$defs"][_TYPES[name].__name__]
    return Tool(name, schema["description"], {key: schema[key] for key in ("type", "properties", "required")})


def kind_of(name: str) -> str:
    """What a tool of a name does, also of one that there is not."""
    return _TYPES[name].kind if name in _TYPES else "other"


def understood(name: str, given: dict[str, Any]) -> AnyTool:
    """The call that a model means; a `ToolFailedError` where it cannot be told."""
    try:
        # Models write numbers as text now and then.
        return msgspec.convert(given, _TYPES[name], strict=False)
    except msgspec.ValidationError as error:
        raise ToolFailedError(f"the input of {name!r} does not fit: {error}") from None


def _named(path: str, hands: Hands) -> str:
    """A path that no program takes for an option."""
    whole = hands.path(path)
    return whole if whole == "." or whole.startswith("/") else f"./{whole}"


async def _put(path: str, data: bytes, hands: Hands) -> None:
    finished = await hands.script(_WRITE, _named(path, hands), hands.root.rstrip("/"), stdin=data)
    if finished.exit_code != 0:
        raise _failure(hands.path(path), finished)


def _failure(path: str, finished: Finished) -> ToolFailedError:
    return ToolFailedError(f"{path}: {finished.stderr.tail(500).strip() or _how(finished)}")


def _how(finished: Finished) -> str:
    return f"exit {finished.exit_code}" if finished.exit_code is not None else f"ended by signal {finished.signal}"


def _cut(lines: list[str]) -> str:
    return "\n".join(line if len(line) <= LONGEST_MATCH else f"{line[:LONGEST_MATCH]} [...]" for line in lines)
