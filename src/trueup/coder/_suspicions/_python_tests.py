"""Tests that are told not to run, and hooks that tell the runner what came of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .._verdict import Severity
from ._model import Suspicion
from ._python_comparisons import is_false, is_true
from ._python_module import NodeRules, PythonModule, Scope
from ._reading import Role
from ._rules import FLAG, GATE, INFO

_RAISED = frozenset(("unittest.SkipTest", "unittest.case.SkipTest", "SkipTest", "nose.SkipTest"))
_CALLED = frozenset(("pytest.skip", "pytest.xfail", "pytest.exit", "self.skipTest", "_pytest.outcomes.skip"))
_MARKS = frozenset(("pytest.mark.skip", "pytest.mark.xfail", "unittest.skip", "unittest.expectedFailure"))
_CONDITIONAL_MARKS = frozenset(("pytest.mark.skipif", "unittest.skipIf", "unittest.skipUnless", "pytest.importorskip"))
_HOOKS = frozenset(
    "pytest_runtest_makereport pytest_runtest_protocol pytest_runtest_call pytest_runtest_logreport pytest_pyfunc_call "
    "pytest_collection_modifyitems pytest_ignore_collect pytest_collect_file pytest_pycollect_makeitem pytest_collection "
    "pytest_report_teststatus pytest_load_initial_conftests pytest_runtestloop load_tests".split()
)
# Seldom more than reporting and tidying up, unless they settle the outcome.
_QUIET_HOOKS = frozenset(
    "pytest_sessionfinish pytest_unconfigure pytest_cmdline_main pytest_exception_interact".split()
)


def _look_at_call(node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    called = module.dotted(node.func)
    if called in _RAISED or called in _CALLED:
        yield from _skipped_inside(called, node, scope, module)
    elif called in _CONDITIONAL_MARKS and module.is_test:
        yield from _skipped_on_condition(called, node, scope, module)


def _look_at_raise(node: ast.Raise, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`raise SkipTest`, bare; one with arguments is a call."""
    if node.exc is not None and module.dotted(node.exc) in _RAISED:
        yield from _skipped_inside(module.dotted(node.exc), node, scope, module)


def _skipped_inside(called: str, node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if module.reading.role is Role.SOURCE:
        severity = GATE if scope.at_import else FLAG
        what = f"makes the tests that use it skip instead of fail (`{called}` in a source)"
    else:
        severity = INFO if scope.conditional or module.reading.role is Role.SUPPORT else FLAG
        what = f"skips tests (`{called}`)"
    yield module.suspect("skip_marker", severity, what, node, scope)


def _skipped_on_condition(called: str, node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    condition = node.args[0] if node.args else None
    always = is_false(condition) if called == "unittest.skipUnless" else is_true(condition)
    certain = always and called != "pytest.importorskip"
    severity = FLAG if certain else INFO
    yield module.suspect(
        "skip_marker", severity, f"skips tests {'always' if certain else 'on a condition'} (`{called}`)", node, scope
    )


def _look_at_mark(node: ast.Attribute, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if module.is_test and (mark := module.dotted(node)) in _MARKS:
        yield module.suspect("skip_marker", FLAG, f"marks tests so that they need not pass (`{mark}`)", node, scope)


def _look_at_imported_mark(
    node: ast.FunctionDef | ast.ClassDef, scope: Scope, module: PythonModule
) -> Iterator[Suspicion]:
    """`from unittest import skip`, then `@skip("…")`: a mark that is no attribute."""
    for each in node.decorator_list:
        called = each.func if isinstance(each, ast.Call) else each
        if module.is_test and isinstance(called, ast.Name) and (mark := module.dotted(called)) in _MARKS:
            what = f"marks tests so that they need not pass (`{mark}`)"
            yield module.suspect("skip_marker", FLAG, what, each, scope)


def _look_at_function(node: ast.FunctionDef, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if node.name in _HOOKS | _QUIET_HOOKS and scope.owner is None and scope.function is None:
        severity, detail = _severity_of_hook(node)
        what = f"tells the test runner {detail} (the hook `{node.name}`)"
        yield module.suspect("runner_hook", severity, what, node, scope)
    elif module.is_test and node.name.startswith("test") and _returns_first(node):
        what = f"returns from {node.name} before it asserts anything"
        yield module.suspect("skip_marker", FLAG, what, node, scope)


def _severity_of_hook(node: ast.FunctionDef) -> tuple[Severity, str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Assign) and _settles_the_outcome(each):
            return GATE, "that tests passed, whatever they did"
        if isinstance(each, ast.Assign) and _empties_the_items(each):
            return GATE, "to run no tests"
    return INFO if node.name in _QUIET_HOOKS else FLAG, "what to run or what came of it"


def _settles_the_outcome(node: ast.Assign) -> bool:
    names = [target.attr for target in _flat(node.targets) if isinstance(target, ast.Attribute)]
    values = [each.value for each in _flat([node.value]) if isinstance(each, ast.Constant)]
    return ("outcome" in names and "passed" in values) or ("exitstatus" in names and 0 in values)


def _empties_the_items(node: ast.Assign) -> bool:
    empty = isinstance(node.value, ast.List) and not node.value.elts
    return empty and any(
        isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == "items"
        for target in node.targets
    )


def _flat(nodes: list[ast.expr]) -> list[ast.expr]:
    return [part for node in nodes for part in (node.elts if isinstance(node, ast.Tuple) else [node])]


def _returns_first(node: ast.FunctionDef) -> bool:
    """Whether a test returns on its first level while more of it follows."""
    returns = [place for place, each in enumerate(node.body) if isinstance(each, ast.Return)]
    return bool(returns) and returns[0] < len(node.body) - 1


def _look_at_assignment(node: ast.Assign, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    if scope.name:
        return
    if {"collect_ignore", "collect_ignore_glob"}.intersection(names):
        yield module.suspect("runner_hook", FLAG, f"keeps tests from being collected (`{names[0]}`)", node, scope)
    elif "__test__" in names and is_false(node.value):
        yield module.suspect(
            "skip_marker", FLAG, "keeps the file's tests from being collected (`__test__`)", node, scope
        )


RULES: NodeRules = (
    ((ast.Call,), _look_at_call),
    ((ast.Raise,), _look_at_raise),
    ((ast.Attribute,), _look_at_mark),
    ((ast.FunctionDef, ast.ClassDef), _look_at_imported_mark),
    ((ast.FunctionDef,), _look_at_function),
    ((ast.Assign,), _look_at_assignment),
)
