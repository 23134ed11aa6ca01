"""Reaching under the tests: the runner, the clock, the import system, built-in names."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator

from .._verdict import Severity
from ._model import Suspicion
from ._python_module import NodeRules, PythonModule, Scope, texts_in
from ._reading import Role
from ._rules import FLAG, GATE, INFO

RUNNERS = frozenset("pytest _pytest unittest unittest2 nose nose2 pluggy testtools".split())
# Settings of unittest and mock that a project may well choose.
_HONEST_SETTINGS = frozenset("maxDiff longMessage testMethodPrefix sortTestMethodsUsing _diffThreshold".split())
_CLOCKS = re.compile(
    r"(?:time\.(?:time|time_ns|perf_counter|perf_counter_ns|monotonic|monotonic_ns|process_time|sleep)|datetime\.(?:datetime|date)(?:\.\w+)?)"
)
_VITAL = frozenset("AssertionError __import__ __build_class__ isinstance issubclass compile exec eval".split())
_EXITS = frozenset("sys.exit os._exit os.abort builtins.exit builtins.quit builtins.SystemExit".split())
_PATCHERS = re.compile(r"(?:unittest\.)?mock\.patch(?:\.object)?")
_FINDERS = frozenset(("sys.meta_path", "sys.path_hooks"))


def _look_at_assignment(
    node: ast.Assign | ast.AugAssign | ast.Delete, scope: Scope, module: PythonModule
) -> Iterator[Suspicion]:
    targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
    flat = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    for target in flat:
        if isinstance(target, ast.Attribute):
            yield from _look_at_place(module.dotted(target), node, scope, module)
        elif isinstance(target, ast.Subscript):
            yield from _look_at_entry(_mapping(target.value, module), target.slice, node, scope, module)


def _mapping(node: ast.expr, module: PythonModule) -> str:
    """What is indexed, `vars(x)` as `x.__dict__`."""
    if isinstance(node, ast.Call) and module.dotted(node.func) == "vars" and node.args:
        return f"{module.dotted(node.args[0])}.__dict__"
    return module.dotted(node)


def _look_at_call(node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    called = module.dotted(node.func)
    owner, _, method = called.rpartition(".")
    if called == "setattr" and len(node.args) == 3:
        name = next(texts_in(node.args[1]), "*")
        place = module.dotted(node.args[0])
        yield from _look_at_place(f"{place}.{name}" if place else "", node, scope, module)
    elif owner in _FINDERS and method in ("insert", "append", "extend"):
        yield from _look_at_place(owner, node, scope, module)
    elif owner == "sys.modules" and method in ("update", "setdefault", "pop", "__setitem__") and node.args:
        yield from _look_at_entry(owner, node.args[0], node, scope, module)
    elif method == "__setattr__" and len(node.args) == 3:
        yield from _look_at_place(
            f"{module.dotted(node.args[0])}.{next(texts_in(node.args[1]), '*')}", node, scope, module
        )
    elif method in ("update", "__setitem__", "setdefault") and owner.endswith(".__dict__"):
        for name in _names_given(node):
            yield from _look_at_place(f"{owner.removesuffix('.__dict__')}.{name}", node, scope, module)
    elif _PATCHERS.fullmatch(called) and node.args:
        yield from _look_at_place(_patched(called, node, module), node, scope, module)
    elif called in ("gc.get_referrers", "gc.get_objects", "ctypes.pythonapi"):
        yield module.suspect("import_trick", INFO, f"looks through the interpreter's memory (`{called}`)", node, scope)
    elif method == "from_address" and any(_is_call_of_id(each) for each in node.args):
        what = "writes over the interpreter's own objects (`from_address(id(…))`)"
        yield module.suspect("import_trick", FLAG, what, node, scope)


def _names_given(node: ast.Call) -> list[str]:
    """The keys in `update({"a": …})`, `update(a=…)`, `__setitem__("a", …)`."""
    keys = [key for each in node.args if isinstance(each, ast.Dict) for key in each.keys if key is not None]
    plain = [each for each in node.args[:1] if isinstance(each, ast.Constant)]
    return [text for each in (*keys, *plain) for text in texts_in(each)] + [
        each.arg for each in node.keywords if each.arg
    ]


def _patched(called: str, node: ast.Call, module: PythonModule) -> str:
    """What `mock.patch("a.b")` or `mock.patch.object(a, "b")` puts something in place of."""
    first = node.args[0]
    if called.endswith(".object"):
        name = next(texts_in(node.args[1]), "*") if len(node.args) > 1 else "*"
        return f"{module.dotted(first)}.{name}"
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _is_call_of_id(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "id"
        for each in ast.walk(node)
    )


def _look_at_place(place: str, node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """An attribute of a module that is not one's own, set."""
    root, _, rest = place.partition(".")
    name = place.rpartition(".")[2]
    known = root in _roots(module) or isinstance(node, ast.Call)
    if root in RUNNERS and known and rest:
        if name not in _HONEST_SETTINGS and not place.startswith("unittest.mock"):
            severity = FLAG if module.reading.role is not Role.SOURCE else GATE
            yield module.suspect(
                "runner_patched", severity, f"replaces a part of the test runner (`{place}`)", node, scope
            )
    elif _CLOCKS.fullmatch(place) and known:
        severity = INFO if module.is_test else FLAG
        yield module.suspect("clock_trick", severity, f"replaces the clock (`{place}`)", node, scope)
    elif place in _FINDERS:
        severity = INFO if module.is_test else FLAG
        what = f"decides for everybody how modules are found (`{place}`)"
        yield module.suspect("import_trick", severity, what, node, scope)
    elif place in ("sys.modules", "sys.settrace", "sys.setprofile"):
        yield module.suspect("import_trick", FLAG, f"replaces `{place}`", node, scope)
    elif place in _EXITS:
        severity = INFO if module.is_test else FLAG
        yield module.suspect(
            "exit_call", severity, f"decides for everybody how a program ends (`{place}`)", node, scope
        )
    elif root == "builtins" and rest:
        yield from _look_at_builtin(name, node, scope, module)
    elif place in ("sys.excepthook", "threading.excepthook", "sys.unraisablehook"):
        yield module.suspect("swallowed_error", INFO, f"decides what becomes of errors (`{place}`)", node, scope)


def _roots(module: PythonModule) -> set[str]:
    return {name.partition(".")[0] for name in module.names.values()}


def _look_at_builtin(name: str, node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if name in _VITAL:
        severity = FLAG if module.is_test else GATE
    else:
        severity = FLAG if hasattr(builtins, name) and not module.is_test else INFO
    yield module.suspect("import_trick", severity, f"replaces the built-in `{name}` for everybody", node, scope)


def _look_at_entry(owner: str, key: ast.expr, node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`sys.modules[…] = …`, `builtins.__dict__[…] = …`."""
    names = list(texts_in(key))
    if owner == "sys.modules":
        severity = max((_severity_of_module(name, module) for name in names), key=_WEIGHTS.index, default=INFO)
        what = f"puts something else in place of a module ({', '.join(f'`{name}`' for name in names) or 'in `sys.modules`'})"
        yield module.suspect("import_trick", severity, what, node, scope)
    elif owner in ("builtins.__dict__", "__builtins__", "__builtins__.__dict__"):
        for name in names:
            yield from _look_at_builtin(name, node, scope, module)
    elif owner.endswith(".__dict__"):
        for name in names or ["*"]:
            yield from _look_at_place(f"{owner.removesuffix('.__dict__')}.{name}", node, scope, module)


_WEIGHTS: list[Severity] = [INFO, FLAG, GATE]


def _severity_of_module(name: str, module: PythonModule) -> Severity:
    root = name.partition(".")[0]
    if module.is_test:
        return FLAG if root in RUNNERS else INFO
    if root in RUNNERS:
        return GATE
    return FLAG if root in sys.stdlib_module_names else INFO


def _look_at_import(node: ast.Import | ast.ImportFrom, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """A source that imports a runner means to speak to it."""
    if module.reading.role is not Role.SOURCE or module.reading.is_script or scope.guarded:
        return
    if isinstance(node, ast.ImportFrom):
        imported = [f"{node.module}.{each.name}" for each in node.names] if not node.level else []
    else:
        imported = [each.name for each in node.names]
    for name in imported:
        if name.partition(".")[0] in RUNNERS - {"pluggy"}:
            severity = INFO if name.startswith("unittest.mock") or _has_tests(module) else FLAG
            yield module.suspect(
                "runner_in_source", severity, f"imports a test runner (`{name}`) into a source", node, scope
            )


def _has_tests(module: PythonModule) -> bool:
    """Whether the file holds tests itself, whatever it is called."""
    return any(
        isinstance(node, ast.ClassDef) and any(module.dotted(base).endswith("TestCase") for base in node.bases)
        for node, _ in module.nodes
    )


RULES: NodeRules = (
    ((ast.Assign, ast.AugAssign, ast.Delete), _look_at_assignment),
    ((ast.Call,), _look_at_call),
    ((ast.Import, ast.ImportFrom), _look_at_import),
)
