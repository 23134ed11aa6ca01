"""A Python file as its syntax tree, walked once, with every node in its place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .._verdict import Severity
from ._model import Suspicion
from ._reading import Reading

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BRANCHES = (ast.If, ast.Try, ast.While, ast.For, ast.AsyncFor, ast.Match)


class Scope(NamedTuple):
    """Where a node stands."""

    name: str = ""
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None = None
    owner: ast.ClassDef | None = None
    # Under `if __name__ == "__main__"` or `if TYPE_CHECKING`: not run by an import.
    guarded: bool = False
    conditional: bool = False
    statement: ast.stmt | None = None

    @property
    def at_import(self) -> bool:
        """Whether the node is run by whoever imports the module."""
        return self.function is None and not self.guarded


class PythonModule:
    """A file that parses."""

    def __init__(self, reading: Reading, tree: ast.Module) -> None:
        self.reading = reading
        self.tree = tree
        self.nodes = list(_walk(tree))
        self.names = dict(_imported(self.nodes))
        for name, meant in _renamed(self):
            self.names.setdefault(name, meant)

    @property
    def is_test(self) -> bool:
        """Whether it is judged as a test."""
        return self.reading.is_test

    def dotted(self, node: ast.AST) -> str:
        """`a.b.c` as it was imported, so that an alias hides nothing; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        parts.append(self.names.get(node.id, node.id))
        return ".".join(reversed(parts))

    def suspect(self, kind: str, severity: Severity, what: str, node: ast.AST, scope: Scope) -> Suspicion:
        """A suspicion at a node, known by the function it stands in."""
        line = getattr(node, "lineno", None)
        return Suspicion(kind=kind, severity=severity, what=what, line=line, key=scope.name)


def texts_in(node: ast.AST) -> Iterator[str]:
    """Every literal text below a node."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, Scope]]:
    """Every node with its place, outer before inner, without recursion: what is read here may be nested on purpose."""
    waiting: list[tuple[ast.AST, Scope]] = [(each, Scope(statement=each)) for each in reversed(tree.body)]
    while waiting:
        node, scope = waiting.pop()
        yield node, scope
        within = _inside(node, scope)
        children = _children(node)
        if isinstance(node, ast.If) and _is_guard(node.test):
            body = set(map(id, node.body))
            guarded = within._replace(guarded=True)
            waiting += [(child, guarded if id(child) in body else within) for child in reversed(children)]
        else:
            waiting += [(child, within) for child in reversed(children)]


def _children(node: ast.AST) -> list[ast.AST]:
    """Like `ast.iter_child_nodes`, less the nodes that say nothing but "load" or "plus"; it is most of the work."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def _inside(node: ast.AST, scope: Scope) -> Scope:
    if isinstance(node, _FUNCTIONS):
        name = f"{scope.name}.{getattr(node, 'name', '<lambda>')}".lstrip(".")
        return scope._replace(name=name, function=node, conditional=False)
    if isinstance(node, ast.ClassDef):
        return scope._replace(name=f"{scope.name}.{node.name}".lstrip("."), owner=node)
    if isinstance(node, _BRANCHES):
        return scope._replace(conditional=True)
    return scope


def _is_guard(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
        return named and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)
    return isinstance(test, ast.Name | ast.Attribute) and ast.unparse(test).endswith("TYPE_CHECKING")


def _imported(nodes: list[tuple[ast.AST, Scope]]) -> Iterator[tuple[str, str]]:
    for node, _scope in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                yield (each.asname, each.name) if each.asname else (each.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for each in node.names:
                yield each.asname or each.name, f"{node.module}.{each.name}"


# What is worth following under another name: to set an attribute of these changes what everybody sees.
_FOLLOWED = frozenset("unittest pytest _pytest unittest2 nose nose2 pluggy time datetime builtins sys os".split())
_LOOKUPS = frozenset("sys.modules.get importlib.import_module __import__ import_module".split())


def _renamed(module: PythonModule) -> Iterator[tuple[str, str]]:
    """`case = unittest.TestCase`, `runner = sys.modules.get("unittest")`."""
    for node, _scope in module.nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            meant = _looked_up(node.value, module) or module.dotted(node.value)
            root, _, rest = meant.partition(".")
            is_class = rest[:1].isupper() or not rest or root in ("unittest", "pytest", "_pytest")
            if root in _FOLLOWED and is_class and meant != node.targets[0].id:
                yield node.targets[0].id, meant


def _looked_up(node: ast.expr, module: PythonModule) -> str:
    """The module behind `sys.modules["x"]`, `sys.modules.get("x")` or `import_module("x")`."""
    if isinstance(node, ast.Subscript) and module.dotted(node.value) == "sys.modules":
        return next(texts_in(node.slice), "")
    if isinstance(node, ast.Call) and module.dotted(node.func) in _LOOKUPS and node.args:
        return next(texts_in(node.args[0]), "")
    return ""


# Each takes the node types that it is registered for.
NodeRule = Callable[[Any, Scope, PythonModule], Iterable[Suspicion]]
NodeRules = tuple[tuple[tuple[type[ast.AST], ...], NodeRule], ...]
