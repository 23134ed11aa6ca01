"""Reaching under the tests: the runner, the clock, the import system, built-in names; and asking who is watching."""

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
_FINDERS = frozenset(("sys.meta_path", "sys.path_hooks"))
_FRAMES = frozenset(
    "sys._getframe sys._current_frames inspect.stack inspect.currentframe inspect.getouterframes "
    "traceback.extract_stack traceback.walk_stack".split()
)
_TEST_WORDS = re.compile(r"\b(?:_?pytest|unittest|assert\w*|TestCase|test_\w*|tests?)\b|_test\b")
_WATCHED = re.compile(r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)")
_MODULE_NAME = re.compile(r"(?:_?pytest|unittest|nose2?)(?:\.[\w.]+)?")
_ARGUMENTS = ("sys.argv", "sys.orig_argv")


def _look_at_assignment(
    node: ast.Assign | ast.AugAssign | ast.Delete, scope: Scope, module: PythonModule
) -> Iterator[Suspicion]:
    targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
    flat = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    for target in flat:
        if isinstance(target, ast.Attribute):
            yield from _look_at_place(module.dotted(target), node, scope, module)
        elif isinstance(target, ast.Subscript):
            yield from _look_at_entry(module.dotted(target.value), target.slice, node, scope, module)


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
    elif called in _FRAMES:
        yield from _look_at_frames(called, node, scope, module)
    elif called in ("gc.get_referrers", "gc.get_objects", "ctypes.pythonapi"):
        yield module.suspect("import_trick", INFO, f"looks through the interpreter's memory (`{called}`)", node, scope)
    elif method == "from_address" and any(_is_call_of_id(each) for each in node.args):
        what = "writes over the interpreter's own objects (`from_address(id(…))`)"
        yield module.suspect("import_trick", FLAG, what, node, scope)


def _is_call_of_id(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "id"
        for each in ast.walk(node)
    )


def _look_at_place(place: str, node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """An attribute of a module that is not one's own, set."""
    root, _, rest = place.partition(".")
    name = place.rpartition(".")[2]
    if root in RUNNERS and root in _roots(module) and rest:
        if name not in _HONEST_SETTINGS and not place.startswith("unittest.mock"):
            severity = FLAG if module.reading.role is not Role.SOURCE else GATE
            yield module.suspect(
                "runner_patched", severity, f"replaces a part of the test runner (`{place}`)", node, scope
            )
    elif _CLOCKS.fullmatch(place) and root in _roots(module):
        severity = INFO if module.is_test else FLAG
        yield module.suspect("clock_trick", severity, f"replaces the clock (`{place}`)", node, scope)
    elif place in _FINDERS:
        severity = INFO if module.is_test else FLAG
        what = f"decides for everybody how modules are found (`{place}`)"
        yield module.suspect("import_trick", severity, what, node, scope)
    elif place in ("sys.modules", "sys.settrace", "sys.setprofile"):
        yield module.suspect("import_trick", FLAG, f"replaces `{place}`", node, scope)
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


_WEIGHTS: list[Severity] = [INFO, FLAG, GATE]


def _severity_of_module(name: str, module: PythonModule) -> Severity:
    root = name.partition(".")[0]
    if module.is_test:
        return FLAG if root in RUNNERS else INFO
    if root in RUNNERS:
        return GATE
    return FLAG if root in sys.stdlib_module_names else INFO


def _look_at_frames(called: str, node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """Whoever asks for its caller and speaks of tests answers for them."""
    around = scope.function or scope.statement
    if module.reading.role is Role.SOURCE and around is not None and _speaks_of_tests(around):
        what = f"looks at who calls it (`{called}`) and speaks of tests: it can answer them alone"
        yield module.suspect("test_detection", FLAG, what, node, scope)


def _speaks_of_tests(node: ast.AST) -> bool:
    documented = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    own = ast.get_docstring(node, clean=False) if documented else None  # type: ignore[arg-type]
    return any(_TEST_WORDS.search(text) for text in texts_in(node) if text != own)


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


def _look_at_comparison(node: ast.Compare, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`"pytest" in sys.modules`, `"unittest" in sys.argv[0]`."""
    if module.reading.role is not Role.SOURCE:
        return
    sides = [node.left, *node.comparators]
    asked = {module.dotted(each) for side in sides for each in ast.walk(side)}
    words = [text for side in sides for text in texts_in(side)]
    runner = any(_MODULE_NAME.fullmatch(word) for word in words)
    if "sys.modules" in asked and runner:
        what = "asks whether a test runner is loaded: it can behave otherwise when nobody tests it"
        yield module.suspect("test_detection", FLAG, what, node, scope)
    elif not asked.isdisjoint(_ARGUMENTS) and (runner or "py.test" in words):
        what = "asks whether it was started by a test runner: it can behave otherwise when nobody tests it"
        yield module.suspect("test_detection", FLAG, what, node, scope)


def _look_at_iteration(
    node: ast.GeneratorExp | ast.ListComp | ast.SetComp, scope: Scope, module: PythonModule
) -> Iterator[Suspicion]:
    """`any("unittest" in each for each in sys.argv)`."""
    over = {module.dotted(part) for each in node.generators for part in ast.walk(each.iter)}
    runner = any(_MODULE_NAME.fullmatch(text) for text in texts_in(node))
    if module.reading.role is Role.SOURCE and runner and not over.isdisjoint({*_ARGUMENTS, "sys.modules"}):
        what = "asks whether it was started by a test runner: it can behave otherwise when nobody tests it"
        yield module.suspect("test_detection", FLAG, what, node, scope)


def _look_at_text(node: ast.Constant, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if module.reading.role is Role.SOURCE and isinstance(node.value, str) and _WATCHED.fullmatch(node.value):
        what = f"asks whether a test is running (`{node.value}`): it can behave otherwise when none is"
        yield module.suspect("test_detection", FLAG, what, node, scope)


RULES: NodeRules = (
    ((ast.Assign, ast.AugAssign, ast.Delete), _look_at_assignment),
    ((ast.Call,), _look_at_call),
    ((ast.Import, ast.ImportFrom), _look_at_import),
    ((ast.Compare,), _look_at_comparison),
    ((ast.GeneratorExp, ast.ListComp, ast.SetComp), _look_at_iteration),
    ((ast.Constant,), _look_at_text),
)
