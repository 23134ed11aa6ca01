"""What was there and is not any more: tests, their assertions, a syntax that parsed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ._languages import JAVASCRIPT, PYTHON
from ._model import Suspicion
from ._reading import Reading
from ._rules import FLAG, INFO

_ASSERTION_NAME = re.compile(r"assert|expect|raises|warns|fail|check|verify|should|approx", re.IGNORECASE)
_JS_TEST = re.compile(r"\b(?:it|test)(?:\.each\([^\n]{0,200}\))?\s*\(")
_JS_ASSERTION = re.compile(r"\b(?:expect|assert(?:\.\w+)?|t\.\w+)\s*\(")


def look_at_lost(old: Reading, new: Reading, *, parse_all: bool = True) -> Iterator[Suspicion]:
    """What the base's version of a file asked for, and the change's does not."""
    if not (old.is_readable and new.is_readable):
        return
    if new.language is PYTHON and (new.is_test or parse_all):
        if new.python is None and old.python is not None:
            yield Suspicion(kind="does_not_parse", severity=FLAG, what="is no longer valid Python", key="")
        elif new.is_test and new.python is not None and old.python is not None:
            yield from _lost_in_python(old.python, new.python)
    elif new.language is JAVASCRIPT and new.is_test:
        yield from _lost_in_javascript(old, new)


def _lost_in_python(old: ast.Module, new: ast.Module) -> Iterator[Suspicion]:
    before, after = _tests(old), _tests(new)
    for name, test in after.items():
        if name in before and _assertions(before[name]) and not _assertions(test):
            what = f"keeps {name} but none of its assertions"
            yield Suspicion(kind="emptied_test", severity=FLAG, what=what, line=test.lineno, key=name)
    if len(after) < len(before):
        gone = next(name for name in before if name not in after)
        what = f"has {len(before) - len(after)} fewer tests than before ({gone} is gone)"
        yield Suspicion(kind="emptied_test", severity=FLAG, what=what, key=gone)
    elif (fewer := _total(before) - _total(after)) > 0:
        what = f"asserts less than before, by {fewer} in all"
        yield Suspicion(kind="emptied_test", severity=INFO, what=what, key="")


def _tests(tree: ast.Module) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    found = {}
    owners: list[ast.Module | ast.ClassDef] = [tree, *(each for each in tree.body if isinstance(each, ast.ClassDef))]
    for owner in owners:
        prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
        for each in owner.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test"):
                found[prefix + each.name] = each
    return found


def _total(tests: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]) -> int:
    return sum(map(_assertions, tests.values()))


def _assertions(test: ast.AST) -> int:
    return sum(1 for each in ast.walk(test) if _is_assertion(each))


def _is_assertion(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return bool(_ASSERTION_NAME.search(name))


def _lost_in_javascript(old: Reading, new: Reading) -> Iterator[Suspicion]:
    for pattern, what in ((_JS_TEST, "tests"), (_JS_ASSERTION, "assertions")):
        before, after = len(pattern.findall(old.bare)), len(pattern.findall(new.bare))
        if after < before:
            severity = FLAG if what == "tests" or not after else INFO
            told = f"has {before - after} fewer {what} than before"
            yield Suspicion(kind="emptied_test", severity=severity, what=told, key=what)
            return
