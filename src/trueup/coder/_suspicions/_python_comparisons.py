"""Comparisons that cannot fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ._model import Suspicion
from ._python_module import NodeRules, PythonModule, Scope
from ._rules import FLAG, INFO

_CANNOT_FAIL = {
    "__eq__": (True, FLAG, "makes every comparison true (`__eq__` always returns True), whatever a test expects"),
    "__ne__": (False, FLAG, "makes nothing differ (`__ne__` always returns False), whatever a test expects"),
    "__instancecheck__": (True, FLAG, "makes everything an instance (`__instancecheck__` always returns True)"),
    "__subclasscheck__": (True, FLAG, "makes everything a subclass (`__subclasscheck__` always returns True)"),
}


def is_true(node: ast.expr | None) -> bool:
    """Whether an expression is true whatever happens."""
    if isinstance(node, ast.Constant):
        return bool(node.value) and node.value is not Ellipsis
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and is_false(node.operand)
    if isinstance(node, ast.BoolOp):
        return any(map(is_true, node.values)) if isinstance(node.op, ast.Or) else all(map(is_true, node.values))
    return isinstance(node, ast.Compare) and _compares_equal_constants(node)


def is_false(node: ast.expr | None) -> bool:
    """Whether an expression is false whatever happens."""
    if isinstance(node, ast.Constant):
        return not node.value
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and is_true(node.operand)


def _compares_equal_constants(node: ast.Compare) -> bool:
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.Is):
        return False
    left, right = node.left, node.comparators[0]
    return isinstance(left, ast.Constant) and isinstance(right, ast.Constant) and left.value == right.value


def _look_at_method(node: ast.FunctionDef, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if node.name in _CANNOT_FAIL:
        wanted, severity, what = _CANNOT_FAIL[node.name]
        if _always_returns(node, wanted=wanted):
            yield module.suspect("always_true", severity, what, node, scope)


def _always_returns(node: ast.FunctionDef, *, wanted: bool) -> bool:
    inner = [each for statement in node.body for each in ast.walk(statement)]
    if any(isinstance(each, ast.Raise | ast.Yield | ast.YieldFrom) for each in inner):
        return False
    returned = [each.value for each in inner if isinstance(each, ast.Return)]
    return bool(returned) and all(is_true(value) if wanted else is_false(value) for value in returned)


def _look_at_assignment(node: ast.Assign, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`__eq__ = lambda self, other: True`, in a class or put on one."""
    for target in node.targets:
        name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
        yield from _look_at_lambda(name, node.value, node, scope, module)


def _look_at_dict(node: ast.Dict, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`type("T", (), {"__eq__": lambda self, other: True})`."""
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Lambda):
            yield from _look_at_lambda(key.value, value, node, scope, module)


def _look_at_lambda(
    name: str, value: ast.expr, node: ast.AST, scope: Scope, module: PythonModule
) -> Iterator[Suspicion]:
    if name in _CANNOT_FAIL and isinstance(value, ast.Lambda):
        wanted, severity, what = _CANNOT_FAIL[name]
        if is_true(value.body) if wanted else is_false(value.body):
            yield module.suspect("always_true", severity, what, node, scope)


def _look_at_condition(node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`if … or True`, `return a == b or True`."""
    tested = node.value if isinstance(node, ast.Return) else getattr(node, "test", None)
    if isinstance(tested, ast.BoolOp) and isinstance(tested.op, ast.Or) and any(map(_is_plain_true, tested.values)):
        # `return value or 1` is a default; `or True` on a comparison is none.
        judged = not isinstance(node, ast.Return) or any(isinstance(each, ast.Compare) for each in tested.values)
        if judged:
            what = "makes a condition true whatever comes before it (`or True`)"
            yield module.suspect("always_true", FLAG, what, tested, scope)


def _is_plain_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (True, 1)


def _look_at_assert(node: ast.Assert, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    # `assert True, "…"` says nothing, and neither does `assert x == x` but in a test of equality itself.
    if is_true(node.test) and not isinstance(node.test, ast.BoolOp):
        yield module.suspect("always_true", INFO, "asserts what is always true", node, scope)
    elif isinstance(node.test, ast.Compare) and _compares_with_itself(node.test):
        yield module.suspect("always_true", INFO, "asserts that something equals itself", node, scope)


def _compares_with_itself(node: ast.Compare) -> bool:
    simple = isinstance(node.left, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    equal = len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.Is)
    return simple and equal and ast.dump(node.left) == ast.dump(node.comparators[0])


RULES: NodeRules = (
    ((ast.FunctionDef,), _look_at_method),
    ((ast.Assign,), _look_at_assignment),
    ((ast.Dict,), _look_at_dict),
    ((ast.If, ast.While, ast.IfExp, ast.Assert, ast.Return), _look_at_condition),
    ((ast.Assert,), _look_at_assert),
)
