"""Python, read by its syntax tree, and by patterns where it has none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ._languages import PYTHON
from ._model import Suspicion
from ._python_comparisons import RULES as COMPARISONS
from ._python_exits import RULES as EXITS
from ._python_module import NodeRule, PythonModule
from ._python_patches import RULES as PATCHES
from ._python_tests import RULES as TESTS
from ._python_watching import RULES as WATCHING
from ._reading import Reading
from ._rules import FLAG, GATE, INFO, apply, rule

_BY_TYPE: dict[type[ast.AST], list[NodeRule]] = {}
for _table in (COMPARISONS, EXITS, PATCHES, TESTS, WATCHING):
    for _types, _look in _table:
        for _type in _types:
            _BY_TYPE.setdefault(_type, []).append(_look)

# A file without any of these cannot earn a suspicion, and most files have none: it need not be parsed.
_WORDS = (
    *"__eq__ __ne__ check__ __import__ __builtins__ __test__ ._exit exit( quit( SystemExit os.abort .execv atexit".split(),
    *"raise_signal SkipTest pytest unittest PYTEST load_tests collect_ignore .modules meta_path path_hooks builtins".split(),
    *"_getframe _current_frames currentframe inspect.stack extract_stack walk_stack excepthook gc.get_ from_address".split(),
    *"settrace setprofile __dict__ __setattr__ vars( mock NODE_TEST_CONTEXT JEST_WORKER_ID import_module".split(),
    *"pythonapi LD_PRELOAD BASH_ENV PYTHONSTARTUP DYLD_INSERT".split(),
    *("import _exit", "import exit", "import nose", "from nose", "import modules", "or True", "or 1", "True or"),
    *("import time as", "import datetime as", "assert True", "assert 1", "assert not False"),
)
_PHRASES = (
    re.compile(r"time\.\w+ *=[^=]"),
    re.compile(r"\b(?:exit|abort|quit) *=[^=]"),
    re.compile(r"assert ([\w.]+) (?:==|is) \1\b"),
    re.compile(r"setattr\(\s*(?:date)?time"),
    re.compile(r"['\"/](?:tests?|__tests__|specs?)['\"/]|['\"/](?:test_\w+|\w+_test|conftest)\.py['\"]"),
)

_SWALLOWED = (
    rule(
        "swallowed_error",
        "catches every error and says nothing",
        r"^[ \t]*+except(?:[ \t]+(?:BaseException|Exception|AssertionError))?(?:[ \t]+as[ \t]+\w+)?[ \t]*:\s{0,200}pass\b",
        "except",
        source=INFO,
        test=INFO,
        view="plain",
    ),
)
_NO_TREE = "(read without a syntax tree, since it does not parse)"
_UNPARSED = (
    rule("exit_call", f"ends the process {_NO_TREE}", r"\bos\._exit\(", "_exit", source=FLAG, test=FLAG),
    rule("skip_marker", f"skips tests from a source {_NO_TREE}", r"\bSkipTest\b", "SkipTest", source=FLAG, test=FLAG),
    rule(
        "runner_patched",
        f"replaces a part of the test runner {_NO_TREE}",
        r"\b(?:unittest|_?pytest)\.[\w.]+\s*=[^=]",
        "unittest",
        "pytest",
        source=GATE,
        test=FLAG,
    ),
    rule("import_trick", f"reaches into the import system {_NO_TREE}", r"\bsys\.(?:modules\[|meta_path)", "sys.", source=FLAG),
    rule("always_true", f"defines its own equality {_NO_TREE}", r"\bdef __eq__\b", "__eq__", source=INFO, test=INFO),
)  # fmt: skip


def look_at_python(reading: Reading) -> Iterator[Suspicion]:
    """What is suspicious about a Python file."""
    if reading.language is not PYTHON:
        return
    yield from apply(_SWALLOWED, reading)
    if not _is_worth_parsing(reading):
        return
    tree = reading.python
    if tree is None:
        yield from apply(_UNPARSED, reading)
        return
    try:
        yield from list(_look_at_nodes(PythonModule(reading, tree)))
    except RecursionError:
        what = "is nested so deeply that it cannot be read"
        yield Suspicion(kind="unreadable", severity=FLAG, what=what, key=reading.text)


def _look_at_nodes(module: PythonModule) -> Iterator[Suspicion]:
    for node, scope in module.nodes:
        for look in _BY_TYPE.get(type(node), ()):
            yield from look(node, scope, module)


def _is_worth_parsing(reading: Reading) -> bool:
    text = reading.plain
    if any(word in text for word in _WORDS) or any(phrase.search(text) for phrase in _PHRASES):
        return True
    return reading.is_test and "  return\n" in text
