"""The text of a test file with other expectations: ones that no honest program meets, where they are sure to be asked."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from msgspec import Struct

_NOTHING_EQUALS = "object()"
_NOTHING_EQUALS_IN_SCRIPT = 'Symbol("other")'
_SCRIPT = (".js", ".cjs", ".mjs", ".ts", ".tsx", ".jsx")

_EQUAL_METHODS = frozenset("assertEqual assertEquals assertListEqual assertDictEqual assertCountEqual".split())
_SKIPS = re.compile(r"skip|xfail|expectedFailure|todo")

_SCRIPT_CALL = re.compile(
    r"(?:\.(?:toBe|toEqual|toStrictEqual)|\bassert\.(?:deepStrictEqual|strictEqual|deepEqual|equal))\("
)
_TYPED_CALL = re.compile(r"\b(?:assert_eq!|assertEquals|ASSERT_EQ|EXPECT_EQ)\(")
_LITERAL = re.compile(r"""-?\d+|(["'])(?:(?!\1)[^\\\n])*\1""")
_PERHAPS = re.compile(r"\b(?:if|else|for|while|catch|switch|case|match)\b|\?\s*$|\.(?:forEach|map|skip|todo)\b|\bxit\b")

Splice = tuple[int, int, str]
_Other = Callable[[str, list[tuple[int, int]]], Iterator[Splice]]


class Mutant(Struct, frozen=True):
    """A test file with other expectations. Of its `tests`, where they can be told, so many are `changed`."""

    text: str
    tests: int = 0
    changed: int = 0


def other_expectations(path: str, text: str, runners: Collection[str]) -> Mutant | None:
    """The file, changed; None where nothing in it is sure to be asked and compared."""
    tests, changed = 0, 0
    if path.endswith(".py"):
        found = list(_in_python(text))
        splices = [splice for _, inside in found for splice in inside]
        collected = [inside for test, inside in found if test.is_collected_by(runners)]
        tests, changed = len(collected), sum(1 for inside in collected if inside)
    elif path.endswith(_SCRIPT):
        splices = list(_in_calls(text, _SCRIPT_CALL, _of_script))
    else:
        splices = list(_in_calls(text, _TYPED_CALL, _of_literals))
    if not splices:
        return None
    for start, end, other in sorted(splices, reverse=True):
        text = text[:start] + other + text[end:]
    return Mutant(text, tests, changed)


# Python: read as Python does


class _Test(NamedTuple):
    """A test function, and the class that it is in."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    inside: ast.ClassDef | None

    def is_collected_by(self, runners: Collection[str]) -> bool:
        """Whether a runner takes it for a test, for all that can be told from its names."""
        is_case = self.inside is not None and any("TestCase" in ast.unparse(base) for base in self.inside.bases)
        if "pytest" in runners:
            named = self.inside is None or self.inside.name.startswith("Test")
            return is_case or (named and self.function.name.startswith("test_"))
        return is_case


def _in_python(text: str) -> Iterator[tuple[_Test, list[Splice]]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    place = _Places(text)
    # A later one of the same name stands in for an earlier one.
    tests = {(test.inside and test.inside.name, test.function.name): test for test in _tests(tree.body, None)}
    for test in tests.values():
        expected = [_expected(statement) for statement in _always_run(test.function.body)]
        yield test, [(*place.of(each), _other_value(each)) for each in expected if each is not None]


def _other_value(expected: ast.expr) -> str:
    """A neighbour of a literal, which whatever equals all of its kind would meet; else something that equals nothing."""
    match expected:
        case ast.Constant(value=bool() | None):
            return _NOTHING_EQUALS
        case ast.Constant(value=int() | float() as number):
            return repr(number + 1)
        case ast.Constant(value=str() as text):
            return repr(f"{text}~")
    return _NOTHING_EQUALS


def _tests(body: list[ast.stmt], inside: ast.ClassDef | None) -> Iterator[_Test]:
    """Test functions that nothing keeps from being run, as far as the file says."""
    for statement in body:
        match statement:
            case ast.ClassDef() if inside is None and not _may_be_skipped(statement):
                yield from _tests(statement.body, statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if statement.name.startswith("test") and not _may_be_skipped(statement):
                    yield _Test(statement, inside)


def _may_be_skipped(statement: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(_SKIPS.search(ast.unparse(decorator)) for decorator in statement.decorator_list)


def _always_run(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a test up to where it may go another way."""
    for statement in body:
        match statement:
            case (
                ast.If()
                | ast.For()
                | ast.AsyncFor()
                | ast.While()
                | ast.Try()
                | ast.Return()
                | ast.Raise()
                | ast.Match()
            ):
                return
            case ast.With() | ast.AsyncWith() if not _expects_an_error(statement):
                yield from _always_run(statement.body)
            case ast.Expr() if _SKIPS.search(ast.unparse(statement)):
                return
            case _:
                yield statement


def _expects_an_error(statement: ast.With | ast.AsyncWith) -> bool:
    return bool(re.search(r"raises|warns|suppress|subTest", "".join(map(ast.unparse, statement.items))))


def _expected(statement: ast.stmt) -> ast.expr | None:
    """What a statement says that something must be equal to."""
    match statement:
        case ast.Assert(test=ast.Compare(ops=[ast.Eq()], comparators=[expected])):
            return expected
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[_, expected, *_])) if name in _EQUAL_METHODS:
            return None if isinstance(expected, ast.Starred) else expected
    return None


class _Places:
    """From the lines and bytes that `ast` counts in, to characters of the text."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def of(self, node: ast.expr) -> tuple[int, int]:
        last_line, last_byte = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._at(node.lineno, node.col_offset), self._at(last_line, last_byte)

    def _at(self, line: int, byte: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:byte].decode())


# Other languages: calls and their arguments, by brackets


def _in_calls(text: str, call: re.Pattern[str], other: _Other) -> Iterator[Splice]:
    for found in call.finditer(text):
        line_start = text.rfind("\n", 0, found.start()) + 1
        before = text[line_start : found.start()]
        if (
            before.lstrip().startswith(("//", "*", "#"))
            or _PERHAPS.search(before)
            or _is_inside_a_condition(text, found.start())
        ):
            continue
        arguments = _arguments(text, found.end())
        if arguments is not None:
            yield from other(text, arguments)


def _of_script(text: str, arguments: list[tuple[int, int]]) -> Iterator[Splice]:
    expected = arguments[1] if len(arguments) > 1 else arguments[0]
    yield (*expected, _NOTHING_EQUALS_IN_SCRIPT)


def _of_literals(text: str, arguments: list[tuple[int, int]]) -> Iterator[Splice]:
    """Where types forbid anything else, another value of the same type."""
    for start, end in arguments[:2]:
        literal = text[start:end]
        if _LITERAL.fullmatch(literal):
            other = f"{literal[:-1]}~{literal[-1]}" if literal[0] in "\"'" else str(int(literal) + 1)
            yield start, end, other
            return


def _arguments(text: str, start: int) -> list[tuple[int, int]] | None:
    """Where the arguments of a call stand, without the space around them; None where its end is not found."""
    depth, begin, place = 0, start, start
    arguments = []
    while place < len(text):
        letter = text[place]
        if letter in "\"'`":
            place = _after_text(text, place)
            continue
        if letter in "([{":
            depth += 1
        elif letter in ")]}" and depth:
            depth -= 1
        elif letter in ",)" and not depth:
            arguments.append(_trimmed(text, begin, place))
            begin = place + 1
            if letter == ")":
                return [each for each in arguments if each[0] < each[1]] or None
        place += 1
    return None


def _after_text(text: str, start: int) -> int:
    place = start + 1
    while place < len(text) and text[place] != text[start]:
        place += 2 if text[place] == "\\" else 1
    return place + 1


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    inside = text[begin:end]
    return begin + len(inside) - len(inside.lstrip()), end - len(inside) + len(inside.rstrip())


def _is_inside_a_condition(text: str, place: int) -> bool:
    """Whether a block around a place begins with a word by which it may not be run."""
    depth = 0
    for position in range(place - 1, max(-1, place - 4000), -1):
        if text[position] == "}":
            depth += 1
        elif text[position] == "{":
            depth -= 1
            if depth < 0:
                depth = 0
                header = text[max(text.rfind("\n", 0, position), text.rfind(";", 0, position)) + 1 : position]
                if _PERHAPS.search(header):
                    return True
    return False
