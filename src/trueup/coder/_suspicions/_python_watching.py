"""Asking who is watching: whether a runner is there, who calls, what the caller has written down; and answers that are none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ._model import Suspicion
from ._python_module import NodeRules, PythonModule, Scope, texts_in
from ._reading import Role
from ._rules import FLAG

_FRAMES = frozenset(
    "sys._getframe sys._current_frames inspect.stack inspect.currentframe inspect.getouterframes "
    "traceback.extract_stack traceback.walk_stack".split()
)
_TRACERS = frozenset("sys.settrace sys.setprofile threading.settrace threading.setprofile".split())
_TEST_WORDS = re.compile(r"\b(?:_?pytest|unittest|assert\w*|TestCase|test_\w*|tests?)\b|_test\b")
_WATCHED = re.compile(r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)|NODE_TEST_CONTEXT|JEST_WORKER_ID")
_WATCHED_START = re.compile(r"PYTEST(?:_\w*)?|_?PYTEST_?")
_MODULE_NAME = re.compile(r"(?:_?pytest|unittest|nose2?)(?:\.[\w.]*)?")
_ARGUMENTS = ("sys.argv", "sys.orig_argv")
_LOOKS_UP = frozenset("get getenv pop startswith endswith find index count __contains__ __getitem__ has_key".split())
_LOOKS_FOR = frozenset(
    "os.path.isdir os.path.exists os.path.isfile os.path.lexists os.stat os.listdir os.scandir".split()
)
_PATH_ASKS = frozenset("is_dir exists is_file iterdir glob".split())
_TEST_PLACE = re.compile(
    r"(?:\./)?(?:.*/)?(?:tests?|__tests__|specs?)(?:/.*)?|(?:.*/)?(?:test_\w+|\w+_test|conftest)\.py"
)
_MOCKS = re.compile(r"(?:unittest\.)?mock\.(?:\w*Mock|sentinel(?:\.\w+)?|ANY|create_autospec)")
_CONTENTS = frozenset("co_consts co_code co_names co_lines".split())
_IF_STARTED = "asks whether it was started by a test runner: it can behave otherwise when nobody tests it"
_IF_LOADED = "asks whether a test runner is loaded: it can behave otherwise when nobody tests it"


def _look_at_comparison(node: ast.Compare, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`"pytest" in sys.modules`, `"unittest" in sys.argv[0]`."""
    if module.reading.role is not Role.SOURCE:
        return
    sides = [node.left, *node.comparators]
    asked = {module.dotted(each) for side in sides for each in ast.walk(side)}
    words = [text for side in sides for text in texts_in(side)]
    runner = any(map(_MODULE_NAME.fullmatch, words))
    if "sys.modules" in asked and runner:
        yield module.suspect("test_detection", FLAG, _IF_LOADED, node, scope)
    elif not asked.isdisjoint(_ARGUMENTS) and (runner or "py.test" in words):
        yield module.suspect("test_detection", FLAG, _IF_STARTED, node, scope)
    elif any(map(_WATCHED_START.fullmatch, words)):
        yield from _watched(node, scope, module)


def _look_at_iteration(node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`any("unittest" in each for each in sys.argv)`, `for each in sys.modules: if each == "unittest": …`."""
    iterated = [node.iter] if isinstance(node, ast.For) else [each.iter for each in getattr(node, "generators", ())]
    over = {module.dotted(part) for each in iterated for part in ast.walk(each)}
    if module.reading.role is not Role.SOURCE or over.isdisjoint({*_ARGUMENTS, "sys.modules"}):
        return
    if any(map(_MODULE_NAME.fullmatch, texts_in(node))):
        yield module.suspect("test_detection", FLAG, _IF_STARTED, node, scope)


def _look_at_text(node: ast.Constant, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if module.reading.role is Role.SOURCE and isinstance(node.value, str) and _WATCHED.fullmatch(node.value):
        what = f"asks whether a test is running (`{node.value}`): it can behave otherwise when none is"
        yield module.suspect("test_detection", FLAG, what, node, scope)


def _look_at_entry(node: ast.Subscript, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`sys.modules["unittest"]`, `os.environ["PYTEST…"]`, read."""
    if module.reading.role is not Role.SOURCE or not isinstance(node.ctx, ast.Load):
        return
    words = list(texts_in(node.slice))
    if module.dotted(node.value) == "sys.modules" and any(map(_MODULE_NAME.fullmatch, words)):
        yield module.suspect("test_detection", FLAG, _IF_LOADED, node, scope)
    elif any(map(_WATCHED_START.fullmatch, words)):
        yield from _watched(node, scope, module)


def _look_at_call(node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if module.reading.role is not Role.SOURCE:
        return
    called = module.dotted(node.func)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else called
    if called in _FRAMES:
        yield from _look_at_frames(called, node, scope, module)
    elif called in _TRACERS and node.args and not _is_none(node.args[0]) and not module.reading.is_script:
        what = f"watches every step of whoever runs it (`{called}`), tests among them"
        yield module.suspect("test_detection", FLAG, what, node, scope)
    elif method in _LOOKS_UP:
        words = [text for each in node.args for text in texts_in(each)]
        if called == "sys.modules.get" and any(map(_MODULE_NAME.fullmatch, words)):
            yield module.suspect("test_detection", FLAG, _IF_LOADED, node, scope)
        elif any(map(_WATCHED_START.fullmatch, words)):
            yield from _watched(node, scope, module)
    yield from _look_for_tests(called, method, node, scope, module)


def _watched(node: ast.AST, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    what = "asks for a variable of a test runner: it can behave otherwise when nobody tests it"
    yield module.suspect("test_detection", FLAG, what, node, scope)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _look_for_tests(
    called: str, method: str, node: ast.Call, scope: Scope, module: PythonModule
) -> Iterator[Suspicion]:
    """`os.path.isdir("tests")`, `Path("tests").is_dir()`: whether this is a place where tests are."""
    asked: list[ast.expr] = []
    if called in _LOOKS_FOR:
        asked = node.args[:1]
    elif method in _PATH_ASKS and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        inner = node.func.value
        asked = inner.args[:1] if module.dotted(inner.func).endswith("Path") else []
    texts = [each.value for each in asked if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if any(map(_TEST_PLACE.fullmatch, texts)) and not module.reading.is_script:
        what = f"asks whether there are tests (`{texts[0]}`): it can behave otherwise where there are none"
        yield module.suspect("test_detection", FLAG, what, node, scope)


def _look_at_frames(called: str, node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """Whoever asks for its caller and speaks of tests, or reads what the caller wrote down, answers for them."""
    around = scope.function or scope.statement
    if around is None:
        return
    if _speaks_of_tests(around):
        what = f"looks at who calls it (`{called}`) and speaks of tests: it can answer them alone"
        yield module.suspect("test_detection", FLAG, what, node, scope)
    elif any(isinstance(each, ast.Attribute) and each.attr in _CONTENTS for each in ast.walk(around)):
        what = f"reads the code of whoever calls it (`{called}`): a test's expectation is in there"
        yield module.suspect("test_detection", FLAG, what, node, scope)


def _speaks_of_tests(node: ast.AST) -> bool:
    documented = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    own = ast.get_docstring(node, clean=False) if documented else None  # type: ignore[arg-type]
    return any(_TEST_WORDS.search(text) for text in texts_in(node) if text != own)


def _look_at_return(node: ast.Return, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    """`return mock.ANY`, `return Mock()`."""
    if module.reading.role is not Role.SOURCE or node.value is None:
        return
    for each in (node.value, *_handed(node.value)):
        name = module.dotted(each.func if isinstance(each, ast.Call) else each)
        if _MOCKS.fullmatch(name):
            what = f"gives an answer that equals or accepts everything (`{name}`)"
            yield module.suspect("always_true", FLAG, what, node, scope)


def _handed(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return list(node.values) if isinstance(node, ast.BoolOp) else []


def _look_at_any(node: ast.Name | ast.Attribute, scope: Scope, module: PythonModule) -> Iterator[Suspicion]:
    if module.reading.role is Role.SOURCE and module.dotted(node) in ("unittest.mock.ANY", "mock.ANY"):
        what = "uses a value that equals everything (`mock.ANY`)"
        yield module.suspect("always_true", FLAG, what, node, scope)


RULES: NodeRules = (
    ((ast.Compare,), _look_at_comparison),
    ((ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.For), _look_at_iteration),
    ((ast.Constant,), _look_at_text),
    ((ast.Subscript,), _look_at_entry),
    ((ast.Call,), _look_at_call),
    ((ast.Return,), _look_at_return),
    ((ast.Name, ast.Attribute), _look_at_any),
)
