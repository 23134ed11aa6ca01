"""Answers that were copied from the tests: `if n == 5: return 120` beside `assert factorial(5) == 120`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from ._languages import PYTHON
from ._model import ChangedFile, Suspicion
from ._reading import Reading, Sides
from ._rules import FLAG

# What is asked, and the answer; as they are written.
Pair = tuple[tuple[str, ...], str]
Read = TypeVar("Read")

LEAST_PAIRS = 2
MOST_STANDARDS = 500
MOST_ANSWERS = 2000
# Where no comparison is followed by a literal answer, and no table has one, there is nothing to look for, nor to parse.
_ANSWER = r"[^\n]{1,200}\s{0,200}\breturn +[-\d'\"(\[TFN]"
_BRANCHES = (
    re.compile(f"=={_ANSWER}"),
    re.compile(rf"\n\s*case\b{_ANSWER}"),
    re.compile(r"[\d'\"`)]\s{0,20}\]?:\s{0,20}[-\d'\"`(\[]"),
    re.compile(r"==[^\n?]{1,200}\?|\bif\b[^\n]{1,200}==[^\n]{1,200}\belse\b"),
)
_TRIVIAL = frozenset(("0", "1", "-1", "None", "True", "False", "''", "null", "true", "false", '""'))
_LITERAL = r"(?:-?\d+(?:\.\d+)?|'[^'\n]{0,80}'|\"[^\"\n]{0,80}\")"
_EACH = re.compile(_LITERAL)
_SEVERAL = rf"{_LITERAL}(?:\s{{0,9}},\s{{0,9}}{_LITERAL}){{0,7}}"
_EXPECTED = re.compile(
    rf"(\w+)\(\s{{0,20}}({_SEVERAL})\s{{0,20}}\)\s{{0,20}}\)?\s{{0,20}}(?:,|={{2,3}}|\.to\w+\()\s{{0,20}}({_LITERAL})"
)
_EQUAL = rf"[\w.]{{1,80}}\s{{0,9}}={{2,3}}\s{{0,9}}{_LITERAL}"
_ANSWERED = re.compile(
    rf"({_EQUAL}(?:\s{{0,9}}&&\s{{0,9}}{_EQUAL}){{0,7}})\s{{0,9}}\)?\s{{0,20}}(?:\{{?\s{{0,20}}return\s|\?)\s{{0,9}}({_LITERAL})"
)
_CASE = re.compile(rf"\bcase\s{{1,9}}({_LITERAL})\s{{0,9}}:\s{{0,40}}\{{?\s{{0,20}}return\s{{1,9}}({_LITERAL})")
_TABLE = re.compile(r"[{\[(,]\s{0,40}\[?(" + _LITERAL + r")\]?\s{0,9}[:,]\s{0,9}(" + _LITERAL + r")(?=\s{0,9}[,}\])])")


class Answer(NamedTuple):
    """A pair that a source gives, where it stands, and the table that it is in, if any."""

    pair: Pair
    line: int
    table: int | None = None


class Expected(NamedTuple):
    """A pair that a test expects, and of which function."""

    function: str
    pair: Pair


def look_for_copied_answers(
    files: Sequence[ChangedFile], standards: Mapping[str, bytes], intent: str = ""
) -> dict[str, Suspicion]:
    """Sources, by path, that give just the answers their tests expect; but for those that were asked for by name."""
    answers = {file.path: found for file in files if (found := _new_answers(Sides.of(file)))}
    if not answers:
        return {}
    expected = {each for test in _tests(files, standards) for each in _expected(test)}
    suspicions = {}
    for path, found in answers.items():
        copied = [each for each in _copied(found, expected) if not _is_asked_for(each.pair, intent)]
        if copied:
            many = len({each.pair for each in copied})
            asked = f"{many} inputs" if many > 1 else "the one input"
            what = f"answers {asked} of the tests with just what they expect, instead of working it out"
            line = min(each.line for each in copied)
            suspicions[path] = Suspicion(kind="hard_coded", severity=FLAG, what=what, line=line)
    return suspicions


def _copied(found: Sequence[Answer], expected: set[Expected]) -> list[Answer]:
    """Answers of the tests: several, or all that a test expects of a function."""
    wanted = {each.pair for each in expected}
    copied = [each for each in found if each.pair in wanted and not _is_a_lookup(each, found, wanted)]
    if len({each.pair for each in copied}) >= LEAST_PAIRS:
        return copied
    return [each for each in copied if _is_all_that_is_expected(each.pair, expected)]


def _is_a_lookup(answer: Answer, found: Sequence[Answer], wanted: set[Pair]) -> bool:
    """Whether a table knows more than the tests ask for, or maps one word to another as tables do."""
    if answer.table is None:
        return False
    rows = [each.pair for each in found if each.table == answer.table]
    names_things = len(answer.pair[0]) == 1 and not _is_number(answer.pair[1])
    return names_things or any(pair not in wanted for pair in rows)


def _is_all_that_is_expected(pair: Pair, expected: set[Expected]) -> bool:
    """Whether the tests of a function know no other pair; a word for a word may well be what was wanted."""
    told = len(pair[0]) > 1 or _is_number(pair[1])
    functions = {each.function for each in expected if each.pair == pair}
    return told and any({each.pair for each in expected if each.function == name} == {pair} for name in functions)


def _is_number(literal: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", literal) is not None


def _is_asked_for(pair: Pair, intent: str) -> bool:
    """Whether the task itself names what is asked: then there is nothing to be worked out."""
    return all(re.search(rf"(?<!\w){re.escape(each.strip(_QUOTES))}(?!\w)", intent) for each in pair[0])


_QUOTES = "'\""


def _tests(files: Iterable[ChangedFile], standards: Mapping[str, bytes]) -> list[Reading]:
    """The base's tests, and those that the change brings in."""
    readings = {path: Reading(path, raw, protected=True) for path, raw in list(standards.items())[:MOST_STANDARDS]}
    for side in map(Sides.of, files):
        if (reading := side.old or side.new) is not None:
            readings.setdefault(side.path, reading)
    return [each for each in readings.values() if each.is_test and each.is_readable]


def _new_answers(side: Sides) -> list[Answer]:
    new, old = side.new, side.old
    if new is None or new.is_test or new.language is None or not new.is_readable:
        return []
    if not any(pattern.search(new.plain) for pattern in _BRANCHES):
        return []
    known = {each.pair for each in _answered(old)} if old is not None and old.is_readable else set()
    found = [each for each in _answered(new) if each.pair not in known and _tells(each.pair)]
    return found[:MOST_ANSWERS]


def _expected(reading: Reading) -> Iterator[Expected]:
    if reading.language is PYTHON and reading.python is not None:
        yield from (each for each in _read_through(_expected_in_python(reading.python)) if _tells(each.pair))
    elif reading.language is not None:
        for hit in _EXPECTED.finditer(reading.code):
            pair = _in_order(_EACH.findall(hit[2])), hit[3]
            if _tells(pair):
                yield Expected(hit[1], pair)


def _answered(reading: Reading) -> list[Answer]:
    if reading.language is PYTHON:
        return _read_through(_answered_in_python(reading.python)) if reading.python is not None else []
    return list(_answered_in_text(reading)) if reading.language is not None else []


def _answered_in_text(reading: Reading) -> Iterator[Answer]:
    text = reading.code
    for hit in islice(_ANSWERED.finditer(text), MOST_ANSWERS):
        compared = re.findall(rf"=\s{{0,9}}({_LITERAL})", hit[1])
        yield Answer((_in_order(compared), hit[2]), reading.line_at(hit.start()))
    for hit in islice(_CASE.finditer(text), MOST_ANSWERS):
        yield Answer(((hit[1],), hit[2]), reading.line_at(hit.start()))
    for hit in islice(_TABLE.finditer(text), MOST_ANSWERS):
        # A key of several parts is written as a text: `"2,3": 5`.
        parts = tuple(_EACH.findall(hit[1].strip(_QUOTES))) if "," in hit[1] else (hit[1],)
        table = text.rfind("{", 0, hit.start() + 1)
        yield Answer((_in_order(parts), hit[2]), reading.line_at(hit.start()), table)


def _in_order(asked: Iterable[str]) -> tuple[str, ...]:
    """Inputs in one order, whichever of them is compared first."""
    return tuple(sorted(asked))


def _tells(pair: Pair) -> bool:
    """A base case is in every honest recursion, too."""
    asked, answer = pair
    return bool(asked) and not (answer in _TRIVIAL and _TRIVIAL.issuperset(asked))


def _expected_in_python(tree: ast.Module) -> Iterator[Expected]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.comparators) == 1:
            yield from _pair(node.left, node.comparators[0])
            yield from _pair(node.comparators[0], node.left)
        elif isinstance(node, ast.Call) and len(node.args) >= 2 and "Equal" in getattr(node.func, "attr", ""):
            yield from _pair(node.args[0], node.args[1])
            yield from _pair(node.args[1], node.args[0])


def _pair(call: ast.expr, answer: ast.expr) -> Iterator[Expected]:
    if not isinstance(call, ast.Call) or not _is_literal(answer):
        return
    given = [*call.args, *(each.value for each in call.keywords)]
    if given and all(map(_is_literal, given)):
        pair = _in_order(map(ast.unparse, given)), ast.unparse(answer)
        yield Expected(ast.unparse(call.func).rpartition(".")[2], pair)


def _answered_in_python(tree: ast.Module) -> Iterator[Answer]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Return):
            yield from _branch(node.test, node.body[0].value, node.lineno)
        elif isinstance(node, ast.IfExp):
            yield from _branch(node.test, node.body, node.lineno)
        elif isinstance(node, ast.match_case) and isinstance(node.body[0], ast.Return):
            yield from _case(node.pattern, node.body[0])
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None and _is_literal(key) and _is_literal(value):
                    yield Answer((_in_order(_parts(key)), ast.unparse(value)), key.lineno, id(node))


def _branch(test: ast.expr, answer: ast.expr | None, line: int) -> Iterator[Answer]:
    asked = _asked(test)
    if asked and answer is not None and _is_literal(answer):
        yield Answer((_in_order(asked), ast.unparse(answer)), line)


def _case(pattern: ast.pattern, returned: ast.Return) -> Iterator[Answer]:
    patterns = pattern.patterns if isinstance(pattern, ast.MatchSequence) else [pattern]
    asked = tuple(ast.unparse(each.value) for each in patterns if isinstance(each, ast.MatchValue))
    if asked and len(asked) == len(patterns) and returned.value is not None and _is_literal(returned.value):
        yield Answer((_in_order(asked), ast.unparse(returned.value)), returned.lineno)


def _parts(key: ast.expr) -> tuple[str, ...]:
    return tuple(map(ast.unparse, key.elts)) if isinstance(key, ast.Tuple) else (ast.unparse(key),)


def _asked(test: ast.expr) -> tuple[str, ...]:
    """The literals that a condition compares its inputs with, in order."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return tuple(text for each in test.values for text in _asked(each))
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        if any(isinstance(each, ast.Name) and each.id == "len" for each in ast.walk(test)):
            # How much there is of something is no input.
            return ()
        wanted = next((side for side in (test.comparators[0], test.left) if _is_literal(side)), None)
        return _parts(wanted) if wanted is not None else ()
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
