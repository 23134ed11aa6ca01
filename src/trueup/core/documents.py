"""Files that people write, YAML or JSON, decoded with the place of every mistake."""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml
from yaml.composer import Composer
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.resolver import Resolver

from ._shapes import Step, Unknown, is_closed, shape_of, unknown_words, words_at
from .errors import InputError

try:
    from yaml._yaml import CParser
except ImportError:  # PyYAML was built without libyaml.
    CParser = None  # type: ignore[assignment,misc]

MOST_BYTES = 1 << 20
MOST_NODES = 100_000
MOST_UNKNOWN = 20

T = TypeVar("T")


class Document:
    """A parsed file, or a part of one, that knows where each of its values stands."""

    def __init__(self, source: str, data: Any, node: yaml.Node | None, path: tuple[Step, ...] = ()) -> None:
        self.source = source
        self.data = data
        self._node = node
        self._path = path

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read a file; what cannot be read is an `InputError` that says so."""
        try:
            raw = _read_regular(path)
        except FileNotFoundError:
            raise InputError(f"{path}: no such file") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        return cls.parse(raw, source=str(path), is_json=path.suffix == ".json")

    @classmethod
    def parse(cls, raw: bytes, *, source: str, is_json: bool) -> Document:
        """Decode the bytes of a file."""
        if len(raw) > MOST_BYTES:
            raise InputError(f"{source}: larger than {MOST_BYTES >> 20} MiB; is it the right file?")
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw[: error.start].count(b"\n") + 1
            raise InputError(f"{source}:{line}: not UTF-8 text (byte 0x{raw[error.start]:02x})") from None
        try:
            document = _parse_json(text, source) if is_json else _parse_yaml(text, source)
            if "\\u" in text or "\\U" in text:
                document._refuse_half_characters()
        except RecursionError:
            raise InputError(f"{source}: nested too deeply") from None
        return document

    def part(self, key: str) -> Document | None:
        """The document below a key of the top level; None where the key is absent."""
        if not isinstance(self.data, dict) or key not in self.data:
            return None
        return Document(self.source, self.data[key], self._node, (*self._path, key))

    def without(self, key: str) -> Document:
        """The same document as if a key of the top level were not there."""
        if not isinstance(self.data, dict):
            return self
        rest = {name: value for name, value in self.data.items() if name != key}
        return Document(self.source, rest, self._node, self._path)

    def decode(self, kind: type[T]) -> T:
        """Turn the document into typed data. Unknown keys are refused, with the key that was probably meant."""
        try:
            decoded = msgspec.convert(self.data, kind)
        except msgspec.ValidationError as error:
            self._refuse_unknown_words(kind)
            raise InputError(self._describe_misfit(kind, str(error))) from None
        if not is_closed(kind):
            self._refuse_unknown_words(kind)
        return decoded

    def locate(self, path: tuple[Step, ...], *, key: bool = False) -> str:
        """`file:line:column` of a value, or of its key."""
        node = _find(self._node, (*self._path, *path), key=key)
        if node is None:
            return self.source
        return f"{self.source}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"

    def describe(self, path: tuple[Step, ...], what: str) -> str:
        """A sentence about a value, with its place before and what it is part of behind."""
        return f"{self.locate(path)}: {what}{self._inside(path)}"

    def _refuse_unknown_words(self, kind: type) -> None:
        unknown = unknown_words(self.data, shape_of(kind))
        # Each is searched for in its mapping, so thousands would take quadratic time, and nobody reads so many.
        told = [self._describe_unknown(word) for word in islice(unknown, MOST_UNKNOWN)]
        more = sum(1 for _ in unknown)
        if more:
            told.append(f"{self.source}: {more} more unknown {'key' if more == 1 else 'keys'}")
        if told:
            raise InputError("\n".join(told))

    def _refuse_half_characters(self) -> None:
        """Half of a surrogate pair is a text for JSON and YAML, which can spell it `\\ud800`, and for no program."""
        path = next(_half_characters(self.data, ()), None)
        if path is not None:
            raise InputError(f"{self.locate(path)}: half of a surrogate pair (\\ud800 to \\udfff) is no character")

    def _describe_unknown(self, unknown: Unknown) -> str:
        path, word, known, tag = unknown
        nearest = difflib.get_close_matches(word, known, n=1)
        meant = f"did you mean {nearest[0]!r}?" if nearest else ""
        if tag is not None:
            advice = f"{meant} known: {', '.join(known)}".strip()
            return f"{self.locate((*path, tag))}: unknown {tag} {word!r}{self._inside(path)}; {advice}"
        advice = meant or f"known keys: {', '.join(known)}"
        return f"{self.locate((*path, word), key=True)}: unknown key {word!r}{self._inside(path)}; {advice}"

    def _describe_misfit(self, kind: type, complaint: str) -> str:
        """msgspec's sentence about the data, with its place and with the words that could stand there."""
        what, where = _split(complaint)
        path = self._entry_of(kind, where)
        missing = re.match(r"Object missing required field `(.+)`$", what)
        words = words_at(self.data, shape_of(kind), (*path, missing[1]) if missing else path)
        advice = f"; one of: {', '.join(words)}" if words else ""
        return f"{self.describe(path, _plainly(what))}{advice}"

    def _entry_of(self, kind: type, where: str) -> tuple[Step, ...]:
        """The steps of msgspec's `$.checks[0].name`. For the entry of a mapping it says `[...]`: which one, is tried."""
        steps: tuple[Step, ...] = ()
        for step in re.finditer(r"\.([^.\[\]`]+)|\[(\d+)\]|\[\.\.\.\]", where):
            name, index = step.groups()
            if name is None and index is None:
                key = self._entry_that_fails(kind, steps, where[: step.end()])
                if key is None:
                    return steps
                steps = (*steps, key)
            else:
                steps = (*steps, name if index is None else int(index))
        return steps

    def _entry_that_fails(self, kind: type, path: tuple[Step, ...], place: str) -> Step | None:
        """Which entry of the mapping at a path is complained about, by halving the mapping."""
        entries = _at(self.data, path)
        if not isinstance(entries, dict):
            return None
        keys = list(entries)
        while len(keys) > 1:
            half = keys[: len(keys) // 2]
            fails = _complains(_with(self.data, path, {key: entries[key] for key in half}), kind, place)
            keys = half if fails else keys[len(half) :]
        return keys[0] if keys else None

    def _inside(self, path: tuple[Step, ...]) -> str:
        if not path:
            return ""
        value = self.data
        named = ""
        for step in path:
            try:
                value = value[step]
            except (LookupError, TypeError):
                break
            if isinstance(value, dict) and isinstance(value.get("name"), str):
                named = f" ({value['name']!r})"
        return f" in {_show_path(path)}{named}"


class _Constructor(SafeConstructor):
    """The safe constructor, with the place of a value that its tag does not fit: `!!int ""`, `!!bool x`, 5,000 digits."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (AttributeError, LookupError, ValueError, OverflowError):
            kind = node.tag.rpartition(":")[2]
            raise ConstructorError(
                None, None, f"{str(node.value)[:40]!r} cannot be read as {kind}", node.start_mark
            ) from None


class _Loader(_Constructor, yaml.SafeLoader):
    """Python's own loader, which tells best what is wrong."""


if CParser is None:
    _QuickLoader: type = _Loader
else:

    class _QuickLoader(Composer, CParser, _Constructor, Resolver):  # type: ignore[no-redef]
        """libyaml's parser, six times as quick. Nodes are put together in Python, which knows how deep it may go."""

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            _Constructor.__init__(self)
            Resolver.__init__(self)


def _read_regular(path: Path) -> bytes:
    """The start of a file, as much as tells that it is too large. A pipe or a device could keep us for ever."""
    # Opened without blocking, because opening a pipe would already wait for its writer.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError(f"{path}: is not a regular file; a pipe can be read as stdin, by the name -")
        return file.read(MOST_BYTES + 1)


def _parse_json(text: str, source: str) -> Document:
    try:
        data = json.loads(text, object_pairs_hook=_unique_pairs)
    except json.JSONDecodeError as error:
        raise InputError(f"{source}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}") from None
    except _DuplicateKeyError as error:
        _refuse_odd_nodes(_compose(text), source)
        raise InputError(f"{source}: key {error.key!r} appears twice in one object") from None
    except ValueError:
        raise InputError(f"{source}: not valid JSON: a number has too many digits") from None
    return Document(source, data, _compose(text))


def _parse_yaml(text: str, source: str) -> Document:
    try:
        return _load(_QuickLoader(text), source)
    except (yaml.YAMLError, ValueError):
        return _parse_faulty_yaml(text, source)


def _load(loader: Any, source: str) -> Document:
    node = loader.get_single_node()
    _refuse_odd_nodes(node, source)
    return Document(source, None if node is None else loader.construct_document(node), node)


def _parse_faulty_yaml(text: str, source: str) -> Document:
    """Say what is wrong, with a loader that explains itself."""
    try:
        return _load(_Loader(text), source)
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise InputError(f"{source}:{line}: not valid YAML: character U+{error.character:04X} is not allowed") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise InputError(f"{where}: not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{source}: not valid YAML: {error}") from None


def _compose(text: str) -> yaml.Node | None:
    """Positions for a JSON text that is known to be valid. Without them an error only lacks its line."""
    try:
        # JSON's tabs are white space outside strings and nowhere else, so columns survive their replacement.
        node: yaml.Node | None = yaml.compose(text.replace("\t", " "), Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    return node


def _refuse_odd_nodes(root: yaml.Node | None, source: str) -> None:
    """Duplicate keys, which YAML libraries drop silently, and aliases that multiply without bound."""
    waiting = [] if root is None else [root]
    for _ in range(MOST_NODES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in seen and key.value != "<<":
                    mark = key.start_mark
                    raise InputError(f"{source}:{mark.line + 1}:{mark.column + 1}: key {key.value!r} appears twice")
                if isinstance(key, yaml.ScalarNode):
                    seen.add(key.value)
                waiting.append(value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
    raise InputError(f"{source}: more than {MOST_NODES} values, counting what aliases repeat")


class _DuplicateKeyError(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _DuplicateKeyError(key)
        result[key] = value
    return result


def _half_characters(value: Any, path: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    match value:
        case str():
            if re.search("[\ud800-\udfff]", value):
                yield path
        case dict():
            for key, inner in value.items():
                yield from _half_characters(key, (*path, key))
                yield from _half_characters(inner, (*path, key))
        case list() | tuple() | set():
            for index, inner in enumerate(value):
                yield from _half_characters(inner, (*path, index))


def _split(complaint: str) -> tuple[str, str]:
    """msgspec's sentence and the place that it names, which is not there for the whole of the data."""
    what, _, where = complaint.rpartition(" - at ")
    return (what, where) if what else (where, "")


def _complains(data: Any, kind: type, place: str) -> bool:
    """Whether msgspec finds something wrong at a place, which it names `$.like[0].this`."""
    try:
        msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        return _split(str(error))[1].startswith(place)
    return False


def _at(data: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def _with(data: Any, path: tuple[Step, ...], value: Any) -> Any:
    """The data with another value at a path."""
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = _with(data[path[0]], path[1:], value)
    return copy


def _show_path(path: tuple[Step, ...]) -> str:
    return "".join(map(_show_step, path)).removeprefix(".")


def _show_step(step: Step) -> str:
    return f".{step}" if isinstance(step, str) and re.fullmatch(r"[\w-]+", step) else f"[{step!r}]"


def _plainly(message: str) -> str:
    """msgspec's sentence in our words."""
    plain = (
        message.replace("Object missing required field", "missing required key")
        .replace("Expected", "expected")
        .replace("`", "'")
    )
    # YAML reads a bare `true`, `on`, `1.0` or `2026-01-01` as something other than text.
    return f"{plain} (put it in quotes)" if re.match(r"expected 'str\b.*, got", plain) else plain


def _find(node: yaml.Node | None, path: tuple[Step, ...], *, key: bool) -> yaml.Node | None:
    """Follow a path as far as it goes: a place nearby is better than none."""
    for position, step in enumerate(path):
        if isinstance(node, yaml.MappingNode):
            pair = next(((name, value) for name, value in node.value if name.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            pair = (node.value[step], node.value[step])
        else:
            pair = None
        if pair is None:
            return node
        last = position == len(path) - 1
        node = pair[0] if key and last else pair[1]
    return node
