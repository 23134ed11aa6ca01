"""Comparisons that cannot fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ._model import Suspicion
from ._python_module import NodeRules, PythonModule, Scope
from ._rules import FLAG, INFO

_CANNOT_FAIL = {
    "__eq__": (True, FLAG, "makes every comparison true (`__eq__` always returns True), whatever a test expects"),
    "__ne__": (False, FLAG, "makes nothing differ (`__ne__` always returns False), whatever a test expects"),
    "__instancecheck__": (True, FLAG, "makes everything an instance (`__instancecheck__` always returns True)"),
    "__subclasscheck__": (True, FLAG, "makes everything a subclass (`__subclasscheck__` always returns True)"),
}
_EQUALITY = ("__eq__", "__ne__")
_VALUES = frozenset("int float complex str bytes bool tuple list dict set frozenset Decimal decimal.Decimal".split())


def is_true(node: ast.expr | None) -> bool:
    """Whether an expression is true whatever happens."""
    if isinstance(node, ast.Constant):
        return bool(node.value) and node.value is not Ellipsis
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and is_false(node.operand)
    if isinstance(node, ast.BoolOp):
        return any(map(is_true, node.values)) if isinstance(node.op, ast.Or) else all(map(is_true, node.values))
    return isinstance(node, ast.Compare) and (_compares_equal_constants(node) or _compares_with_itself(node))


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
        returned = _returned(node)
        if returned and all(is_true(value) if wanted else is_false(value) for value in returned):
            yield module.suspect("always_true", severity, what, node, scope)
        elif node.name in _EQUALITY and returned:
            yield from _look_at_sides(node.name, node.args, node.body, returned, node, scope, module)


def _look_at_sides(
    name: str,
    parameters: ast.arguments,
    body: Sequence[ast.AST],
    returned: Sequence[ast.expr],
    node: ast.AST,
    scope: Scope,
    module: PythonModule,
) -> Iterator[Suspicion]:
    """An equality that leaves one of the two out of account holds for what a test expects, whatever that is."""
    positional = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    if module.is_test or len(positional) != 2 or parameters.vararg:
        return
    unequal = is_false if name == "__eq__" else is_true
    if all(unequal(value) or _is_not_implemented(value) for value in returned):
        return
    looked_at = {each.id for part in body for each in ast.walk(part) if isinstance(each, ast.Name)}
    left_out = [each for each in positional if each not in looked_at and "super" not in looked_at]
    # Objects that are all alike are equal to each other, and to nothing else.
    if left_out and not _asks_for_own_class(body, scope, module):
        what = f"compares without looking at both sides (`{name}` leaves out `{left_out[0]}`), whatever a test expects"
        yield module.suspect("always_true", FLAG, what, node, scope)


def _is_not_implemented(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "NotImplemented"


def _asks_for_own_class(body: Sequence[ast.AST], scope: Scope, module: PythonModule) -> bool:
    """`isinstance(other, Own)`, `type(other) is Own`, `other is OWN`, in a class that is no number or text."""
    if scope.owner is None or any(module.dotted(base) in _VALUES for base in scope.owner.bases):
        return False
    own = scope.owner.name
    named = [each for part in body for each in ast.walk(part) if isinstance(each, ast.Name | ast.Attribute)]
    return any(module.dotted(each).rpartition(".")[2] in (own, "__class__") for each in named)


def _returned(node: ast.FunctionDef) -> list[ast.expr]:
    """Everything that a method can return; nothing where it can raise, too."""
    inner = [each for statement in node.body for each in ast.walk(statement)]
    if any(isinstance(each, ast.Raise | ast.Yield | ast.YieldFrom) for each in inner):
        return []
    return [each.value or ast.Constant(None) for each in inner if isinstance(each, ast.Return)]


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
        elif name in _EQUALITY:
            yield from _look_at_sides(name, value.args, [value.body], [value.body], node, scope, module)


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
