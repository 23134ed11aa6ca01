"""JSON Schemas of clients: followed within themselves only, and never able to hold the daemon up.

The library matches patterns in linear time and sees a reference that leads to itself. What it does not see is work that
doubles with each reference, or with each level of a value: that is counted here, before anything is validated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from trueup.core.errors import InputError

from ._components import components

if TYPE_CHECKING:
    from jsonschema_rs import Validator

MOST_VALUES = 10_000
MOST_LEVELS = 100
# How many ways may lead through a schema, and how often its parts may be looked at for one value: some seconds at worst.
MOST_WAYS = 100_000
MOST_VISITS = 100_000_000
# Enough for a class of Unicode letters; one of this size takes some microseconds for each character.
MOST_PATTERN_BYTES = 1 << 16
# To compare with one part of an object or array, measured against a look at a part of a schema.
COMPARISON = 16
LONGEST_MESSAGE = 300

# Keywords by what their schemas are held against: the same value, its properties, its items, or a name.
_SAME_ONE = ("not", "if", "then", "else")
_SAME_MANY = ("allOf", "anyOf", "oneOf")
_SAME_NAMED = ("dependentSchemas", "dependencies")
_ALL_PROPERTIES = ("additionalProperties", "unevaluatedProperties")
_ALL_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")

_UNEVALUATED = {"unevaluatedProperties", "unevaluatedItems"}

_PROPERTIES = "properties of any name"
_ITEMS = "items at any place"


class Schema:
    """A schema that may be validated with."""

    def __init__(self, schema: dict[str, Any]) -> None:
        _require_moderate(schema)
        self._ways, self._growth = _Parts(schema).work()
        self._validator = _compile(schema)

    def problem(self, value: Any, at: str) -> str | None:
        """What is wrong with a value, and where; `at` is its own path."""
        if not self._is_moderate(value):
            return f"too large or too deep to be checked against its schema - at `{at}`"
        try:
            self._validator.validate(value)
        except ValueError as error:
            # One that is no finding has no place: the value has something that JSON does not.
            place = _path(getattr(error, "instance_path", []))
            return f"{_clipped(getattr(error, 'message', str(error)))} - at `{at}{place}`"
        return None

    def _is_moderate(self, value: Any) -> bool:
        visits, each, layer = 0, self._ways, [value]
        for _ in range(MOST_LEVELS):
            visits += len(layer) * each
            if not layer or visits > MOST_VISITS:
                break
            each *= self._growth
            layer = [inner for outer in layer for inner in _inner_values(outer)]
        return not layer and visits <= MOST_VISITS


class _Parts:
    """The subschemas of a schema, and which of them are held against which values."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._numbers: dict[int, int] = {}
        # For each part: those held against the same value, and those held against a part of it, by which.
        self._same: list[list[int]] = []
        self._inner: list[list[tuple[str, int]]] = []
        self._steps = 0
        found: list[dict[str, Any]] = []
        self._number(root, found)
        for part in found:
            same = [self._number(other, found) for other in self._held_against_the_same(part)]
            # What is left unevaluated is found by looking at the others once more.
            self._same.append(same * 2 if part.keys() & _UNEVALUATED else same)
            self._inner.append([(which, self._number(other, found)) for which, other in _held_against_inner(part)])
        self._weights = [1 + _comparisons(part) for part in found]

    def work(self) -> tuple[int, int]:
        """How many ways lead through the schema, and by how many times they are more with each level of a value."""
        edges = [[*same, *(to for _, to in inner)] for same, inner in zip(self._same, self._inner, strict=True)]
        self._require_looking_deeper()
        rings = components(edges)
        ring_of = {part: number for number, ring in enumerate(rings) for part in ring}
        ways = self._count_ways(edges, rings, ring_of)
        return ways, max(self._growth(part, ring_of) for part in ring_of)

    def _number(self, part: dict[str, Any], found: list[dict[str, Any]]) -> int:
        number = self._numbers.setdefault(id(part), len(self._numbers))
        if number == len(found):
            found.append(part)
        return number

    def _held_against_the_same(self, part: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for keyword in _SAME_ONE:
            yield from _schemas([part.get(keyword)])
        for keyword in _SAME_MANY:
            yield from _schemas(part.get(keyword))
        for keyword in _SAME_NAMED:
            yield from _schemas(_values(part.get(keyword)))
        if "$ref" in part:
            yield from _schemas([self._follow(part["$ref"])])

    def _follow(self, reference: Any) -> Any:
        if reference == "#":
            return self._root
        if not isinstance(reference, str) or not reference.startswith("#/"):
            _refuse(f"reference {reference!r} leads out of it; only references like '#/$defs/name' are followed")
        place: Any = self._root
        for step in _steps(reference):
            try:
                place = place[int(step)] if isinstance(place, list) else place[step]
            except (KeyError, IndexError, ValueError, TypeError):
                _refuse(f"reference {reference!r} leads nowhere")
        return place

    def _count_ways(self, edges: list[list[int]], rings: list[list[int]], ring_of: dict[int, int]) -> int:
        # Rings come after what they lead to, so that what follows is counted already. Within a ring, the value grows
        # smaller with each turn: that is counted by the growth.
        ways: list[int] = []
        for number, ring in enumerate(rings):
            onward = (ring_of[to] for part in ring for to in edges[part])
            ways.append(sum(self._weights[part] for part in ring) + sum(ways[to] for to in onward if to != number))
            if ways[number] > MOST_WAYS:
                _refuse("its references or values to compare with multiply: checking one value would take too long")
        return ways[ring_of[0]]

    def _require_looking_deeper(self) -> None:
        for ring in components(self._same):
            if len(ring) > 1 or ring[0] in self._same[ring[0]]:
                _refuse("it refers to itself without looking deeper into a value")

    def _growth(self, part: int, ring_of: dict[int, int]) -> int:
        """In how many ways the schema comes back to where it is, one level further down, at one and the same place."""
        ways: Counter[str] = Counter()
        ring, left = ring_of[part], [part]
        while left:
            at = left.pop()
            self._steps += 1
            if self._steps > MOST_WAYS:
                _refuse("it refers to itself in too many ways: checking one value would take too long")
            ways.update(which for which, to in self._inner[at] if ring_of[to] == ring)
            left += (to for to in self._same[at] if ring_of[to] == ring)
        named = max((count for which, count in ways.items() if which not in (_PROPERTIES, _ITEMS)), default=0)
        return max(1, named + ways[_PROPERTIES], named + ways[_ITEMS])


def _held_against_inner(part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    named = part.get("properties")
    for name, schema in named.items() if isinstance(named, dict) else ():
        yield from ((f"property {name}", inner) for inner in _schemas([schema]))
    for schema in _schemas(_values(part.get("patternProperties"))):
        yield _PROPERTIES, schema
    for keyword in _ALL_PROPERTIES:
        yield from ((_PROPERTIES, schema) for schema in _schemas([part.get(keyword)]))
    for keyword in _ALL_ITEMS:
        yield from ((_ITEMS, schema) for schema in _schemas([part.get(keyword)]))
    placed = part.get("prefixItems", part.get("items"))
    for place, schema in enumerate(placed if isinstance(placed, list) else ()):
        yield from ((f"item {place}", inner) for inner in _schemas([schema]))
    yield from (("name", schema) for schema in _schemas([part.get("propertyNames")]))


def _schemas(values: Any) -> Iterator[dict[str, Any]]:
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, dict))


def _values(named: Any) -> list[Any]:
    return [*named.values()] if isinstance(named, dict) else []


def _steps(reference: str) -> Iterator[str]:
    from urllib.parse import unquote

    for step in reference[2:].split("/"):
        yield unquote(step).replace("~1", "/").replace("~0", "~")


def _require_moderate(schema: dict[str, Any]) -> None:
    """Refuse what is too large or too deep to be looked at, and references that cannot be followed beforehand."""
    left: list[tuple[Any, int]] = [(schema, 1)]
    seen = 0
    while left:
        value, level = left.pop()
        seen += 1
        if seen > MOST_VALUES:
            _refuse(f"it has more than {MOST_VALUES} values")
        if level > MOST_LEVELS:
            _refuse(f"it is nested more than {MOST_LEVELS} levels deep")
        if isinstance(value, dict):
            _require_followable(value, is_root=value is schema)
        left += ((inner, level + 1) for inner in _inner_values(value))


def _require_followable(part: dict[str, Any], *, is_root: bool) -> None:
    for keyword in ("$dynamicRef", "$recursiveRef"):
        if isinstance(part.get(keyword), str):
            _refuse(f"'{keyword}' is not followed; use '$ref' with '#/$defs/name'")
    if is_root:
        return
    for keyword in ("$id", "$schema"):
        if isinstance(part.get(keyword), str):
            _refuse(f"'{keyword}' is only understood at its root, so that references can be followed")


def _compile(schema: dict[str, Any]) -> Validator:
    # Here, so that a daemon without schemas starts without it.
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            schema,
            pattern_options=jsonschema_rs.RegexOptions(
                size_limit=MOST_PATTERN_BYTES, dfa_size_limit=MOST_PATTERN_BYTES
            ),
            retriever=_fetch_nothing,
        )
    except jsonschema_rs.ValidationError as error:
        _refuse(f"{_clipped(error.message)} - at `$.parameters{_path(error.instance_path)}`")
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        _refuse(_clipped(str(error)))


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


def _refuse(why: str) -> NoReturn:
    raise InputError(f"the schema cannot be used: {why}")


def _inner_values(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _comparisons(part: dict[str, Any]) -> int:
    """What it takes to compare a value with those that a schema names."""
    named = part.get("enum")
    layer = [*(named if isinstance(named, list) else ()), part.get("const")]
    count = len(layer)
    while layer := [inner for outer in layer for inner in _inner_values(outer)]:
        count += len(layer) * COMPARISON
    return count


def _path(steps: list[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _clipped(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} …"
