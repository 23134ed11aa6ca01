"""Sources that read the tests: whoever knows the questions need not know the answers."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator

from ._languages import CONFIG, MAKE, PYTHON, SHELL
from ._model import Suspicion
from ._reading import Reading, Role, role_of
from ._rules import FLAG

_QUOTED = re.compile(r"(['\"`])([\w./@ -]{3,200})\1")
_SPEAKS_OF_TESTS = re.compile(r"(?i)['\"`/][^'\"`\n]{0,200}(?:test|spec|fixture|e2e|cypress)")
# Every other tool speaks of these.
_COMMON = frozenset(("conftest.py", "__init__.py", "test.js", "tests.py", "test.py", "tests.rs"))


def look_at_standards_read(reading: Reading) -> Iterator[Suspicion]:
    """Where a source names a test file of the base."""
    if reading.role is not Role.SOURCE or reading.is_script or reading.language in (None, SHELL, MAKE, CONFIG):
        return
    if not _SPEAKS_OF_TESTS.search(reading.code):
        return
    for text, line in _texts(reading):
        path = posixpath.normpath(text.strip())
        if _is_a_test(path, reading):
            what = f"names a test (`{text.strip()}`): whoever reads the tests can give their answers without working"
            yield Suspicion(kind="reads_standard", severity=FLAG, what=what, line=line)


def _is_a_test(path: str, reading: Reading) -> bool:
    """Whether the base has such a test: by its whole path, or by a name that only tests have."""
    name = posixpath.basename(path)
    if "." not in name or name in _COMMON:
        return False
    if role_of(name, protected=False) is Role.TEST:
        return name in reading.around.base_names
    return "/" in path and role_of(path, protected=False) is Role.TEST and path in reading.around.base_paths


def _texts(reading: Reading) -> Iterator[tuple[str, int]]:
    if reading.language is PYTHON and reading.python is not None:
        for node in ast.walk(reading.python):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                yield node.value, node.lineno
        return
    for hit in _QUOTED.finditer(reading.code):
        yield hit[2], reading.line_at(hit.start())
