"""What a typed document may hold, place by place: keys, variants and words that it does not know are found here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from msgspec import inspect

Step = str | int
Steps = tuple[Step, ...]


class Unknown(NamedTuple):
    """A key of the object at `path`, or the value of its `tag`, that is none of the known ones."""

    path: Steps
    word: str
    known: list[str]
    tag: str | None = None


@cache
def shape_of(kind: type) -> inspect.Type:
    """The type in a form that can be walked; made once, because a large one takes a while."""
    return inspect.type_info(kind)


def is_closed(kind: type) -> bool:
    """Whether everything in the type refuses keys that it does not know by itself, so that nobody has to look."""
    # By another function: for a type checker, what is cached takes no type of which only a variable is known.
    return _is_closed(kind)


@cache
def _is_closed(kind: type) -> bool:
    waiting, seen = [shape_of(kind)], set()
    while waiting:
        shape = waiting.pop()
        if isinstance(shape, inspect.StructType) and shape.cls not in seen:
            if not shape.cls.__struct_config__.forbid_unknown_fields:
                return False
            seen.add(shape.cls)
            waiting += (field.type for field in shape.fields)
        elif isinstance(shape, inspect.ListType | inspect.VarTupleType):
            waiting.append(shape.item_type)
        elif isinstance(shape, inspect.DictType):
            waiting.append(shape.value_type)
        elif isinstance(shape, inspect.UnionType | inspect.Metadata):
            waiting += _alternatives(shape)
    return True


def unknown_words(data: Any, kind: inspect.Type, path: Steps = ()) -> Iterator[Unknown]:
    """Everything in the data that the type has no place for."""
    variant = _variant(data, kind)
    if isinstance(variant, inspect.StructType) and isinstance(data, dict):
        known = _keys(variant)
        yield from (Unknown(path, str(key), sorted(known)) for key in data if key not in known)
    if variant is None:
        tag_field, tags = _tags(kind)
        yield Unknown(path, data[tag_field], sorted(tags), tag_field)
        return
    for step, value, inner in _parts(data, variant):
        yield from unknown_words(value, inner, (*path, step))


def words_at(data: Any, kind: inspect.Type, path: Steps) -> list[str]:
    """The words that may stand at a place, where only certain ones may."""
    for step in path:
        variant = _variant(data, kind)
        part = None if variant is None else next((part for part in _parts(data, variant) if part[0] == step), None)
        if part is None:
            return _tag_words(data, kind, path[-1])
        _, data, kind = part
    return [str(word) for word in _choices(kind)]


def _variant(data: Any, kind: inspect.Type) -> inspect.Type | None:
    """The one type of a union that the data can only be meant as; None if it names one that is not there."""
    structs = [part for part in _alternatives(kind) if isinstance(part, inspect.StructType)]
    match data:
        case dict() if structs:
            tag_field, tags = _tags(kind)
            if tag_field not in data:
                return structs[0] if len(structs) == 1 else kind
            tag = data[tag_field]
            return tags.get(tag) if isinstance(tag, str) else kind
        case dict():
            wanted: tuple[type, ...] = (inspect.DictType,)
        case list():
            wanted = (inspect.ListType, inspect.VarTupleType)
        case _:
            return kind
    return next((part for part in _alternatives(kind) if isinstance(part, wanted)), kind)


def _alternatives(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    kind = kind.type if isinstance(kind, inspect.Metadata) else kind
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _tags(kind: inspect.Type) -> tuple[str | None, dict[str, inspect.StructType]]:
    structs = [part for part in _alternatives(kind) if isinstance(part, inspect.StructType) and part.tag_field]
    return (structs[0].tag_field if structs else None), {str(part.tag): part for part in structs}


def _tag_words(data: Any, kind: inspect.Type, step: Step) -> list[str]:
    tag_field, tags = _tags(kind)
    return sorted(tags) if step == tag_field and isinstance(data, dict) else []


def _keys(struct: inspect.StructType) -> list[str]:
    names = [field.encode_name for field in struct.fields]
    return [struct.tag_field, *names] if struct.tag_field else names


def _choices(kind: inspect.Type) -> Iterator[object]:
    for part in _alternatives(kind):
        if isinstance(part, inspect.EnumType):
            yield from (member.value for member in part.cls)
        elif isinstance(part, inspect.LiteralType):
            yield from part.values


def _parts(data: Any, kind: inspect.Type) -> Iterator[tuple[Step, Any, inspect.Type]]:
    """The parts of a value whose types are known."""
    match kind, data:
        case inspect.StructType(), dict():
            yield from (
                (field.encode_name, data[field.encode_name], field.type)
                for field in kind.fields
                if field.encode_name in data
            )
        case ((inspect.ListType() | inspect.VarTupleType()), list()):
            yield from ((index, item, kind.item_type) for index, item in enumerate(data))
        case inspect.DictType(), dict():
            yield from ((key, value, kind.value_type) for key, value in data.items())
