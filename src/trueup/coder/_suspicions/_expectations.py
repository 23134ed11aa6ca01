"""Answers that were copied from the tests: `if n == 5: return 120` beside `assert factorial(5) == 120`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ._languages import PYTHON
from ._model import ChangedFile, Suspicion
from ._reading import Reading, Sides
from ._rules import FLAG

# What is asked, and the answer; as they are written.
Pair = tuple[tuple[str, ...], str]
Read = TypeVar("Read")

LEAST_PAIRS = 2
# Where no comparison is followed by a literal answer there is nothing to look for, nor to parse.
_ANSWER = r"[^\n]{1,200}\s{0,200}\breturn +[-\d'\"(\[TFN]"
_BRANCHES = re.compile(f"=={_ANSWER}"), re.compile(rf"\n\s*case\b{_ANSWER}")
MOST_STANDARDS = 500
_TRIVIAL = frozenset(("0", "1", "-1", "None", "True", "False", "''", "null", "true", "false", '""'))
_LITERAL = r"(-?\d+(?:\.\d+)?|'[^'\n]{0,80}'|\"[^\"\n]{0,80}\")"
_EXPECTED = re.compile(rf"\w\(\s*{_LITERAL}\s*\)\s*\)?\s*(?:,|={{2,3}}|\.to\w+\()\s*{_LITERAL}")
_ANSWERED = re.compile(rf"={{2,3}}\s*{_LITERAL}\s*\)?\s*\{{?\s*return\s+{_LITERAL}")


def look_for_copied_answers(files: Sequence[ChangedFile], standards: Mapping[str, bytes]) -> dict[str, Suspicion]:
    """Sources, by path, with branches that give just the answers their tests expect."""
    answers = {file.path: found for file in files if len(found := _new_answers(Sides.of(file))) >= LEAST_PAIRS}
    if not answers:
        return {}
    expected = {pair for test in _tests(files, standards) for pair in _expected(test)}
    suspicions = {}
    for path, found in answers.items():
        copied = [line for pair, line in found.items() if pair in expected]
        if len(copied) >= LEAST_PAIRS:
            what = f"answers {len(copied)} inputs of the tests with just what they expect, each in a branch of its own"
            suspicions[path] = Suspicion(kind="hard_coded", severity=FLAG, what=what, line=min(copied))
    return suspicions


def _tests(files: Iterable[ChangedFile], standards: Mapping[str, bytes]) -> list[Reading]:
    """The base's tests, and those that the change brings in."""
    readings = {path: Reading(path, raw) for path, raw in list(standards.items())[:MOST_STANDARDS]}
    for side in map(Sides.of, files):
        if (reading := side.old or side.new) is not None:
            readings.setdefault(side.path, reading)
    return [each for each in readings.values() if each.is_test and each.is_readable]


def _new_answers(side: Sides) -> dict[Pair, int]:
    new, old = side.new, side.old
    if new is None or new.is_test or new.language is None or not new.is_readable:
        return {}
    if not any(pattern.search(new.plain) for pattern in _BRANCHES):
        return {}
    known = {pair for pair, _ in _answered(old)} if old is not None and old.is_readable else set()
    return {pair: line for pair, line in _answered(new) if pair not in known and _tells(pair)}


def _expected(reading: Reading) -> Iterator[Pair]:
    if reading.language is PYTHON and reading.python is not None:
        yield from filter(_tells, _read_through(_expected_in_python(reading.python)))
    elif reading.language is not None:
        yield from filter(_tells, (((hit[1],), hit[2]) for hit in _EXPECTED.finditer(reading.code)))


def _answered(reading: Reading) -> Iterator[tuple[Pair, int]]:
    if reading.language is PYTHON:
        yield from _read_through(_answered_in_python(reading.python)) if reading.python is not None else ()
    elif reading.language is not None:
        for hit in _ANSWERED.finditer(reading.code):
            yield ((hit[1],), hit[2]), reading.code.count("\n", 0, hit.start()) + 1


def _tells(pair: Pair) -> bool:
    """A base case is in every honest recursion, too."""
    asked, answer = pair
    return bool(asked) and not (answer in _TRIVIAL and _TRIVIAL.issuperset(asked))


def _expected_in_python(tree: ast.Module) -> Iterator[Pair]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.comparators) == 1:
            yield from _pair(node.test.left, node.test.comparators[0])
            yield from _pair(node.test.comparators[0], node.test.left)
        elif isinstance(node, ast.Call) and len(node.args) >= 2 and "Equal" in getattr(node.func, "attr", ""):
            yield from _pair(node.args[0], node.args[1])
            yield from _pair(node.args[1], node.args[0])


def _pair(call: ast.expr, answer: ast.expr) -> Iterator[Pair]:
    if isinstance(call, ast.Call) and call.args and _is_literal(answer) and all(map(_is_literal, call.args)):
        yield tuple(map(ast.unparse, call.args)), ast.unparse(answer)


def _answered_in_python(tree: ast.Module) -> Iterator[tuple[Pair, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Return):
            value = node.body[0].value
            asked = _asked(node.test)
            if asked and value is not None and _is_literal(value):
                yield (asked, ast.unparse(value)), node.lineno
        elif isinstance(node, ast.match_case) and isinstance(node.pattern, ast.MatchValue):
            first = node.body[0]
            if isinstance(first, ast.Return) and first.value is not None and _is_literal(first.value):
                yield ((ast.unparse(node.pattern.value),), ast.unparse(first.value)), first.lineno


def _asked(test: ast.expr) -> tuple[str, ...]:
    """The literals that a condition compares its inputs with, in order."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return tuple(text for each in test.values for text in _asked(each))
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        wanted = next((side for side in (test.comparators[0], test.left) if _is_literal(side)), None)
        if isinstance(wanted, ast.Tuple):
            return tuple(map(ast.unparse, wanted.elts))
        return (ast.unparse(wanted),) if wanted is not None else ()
    return ()


def _read_through(pairs: Iterator[Read]) -> list[Read]:
    """All of them, or none where the code is nested too deeply to be followed."""
    try:
        return list(pairs)
    except RecursionError:
        return []


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_literal(node.operand)
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(_is_literal, node.elts))
    return isinstance(node, ast.Constant)
