"""Where a file that nobody tracks would decide what checks do: places to look at, before and after each of them."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable, Iterator

from trueup.contract import Contract

# Read by runners and interpreters without being asked, and made by no tool.
_NAMES = (
    "conftest.py pytest.ini .pytest.ini tox.ini sitecustomize.py usercustomize.py pytest.py pytest/__init__.py "
    "unittest.py unittest/__init__.py jest.config.js vitest.config.js .mocharc.js .babelrc .npmrc"
).split()


# What Python has loaded before it looks into the folder of a script, and what is built into it, cannot be hidden.
_HIDEABLE = sorted(
    name
    for name in sys.stdlib_module_names.difference(sys.builtin_module_names)
    if not name.startswith("_") and name not in ("os", "site", "codecs", "encodings", "io", "abc", "stat", "posixpath")
)


def plantable(protected: Iterable[str], contract: Contract) -> list[str]:
    """Paths of such files in every folder that leads to a protected one, and in those that checks start in.

    Python's own modules can be hidden from where it looks first: the folders of scripts, and those that checks start in.
    """
    roots = {"", *(check.cwd for check in contract.checks)}
    folders = set(roots)
    for path in protected:
        folder = posixpath.dirname(path)
        if path.endswith(".py") and any(path in check.command for check in contract.checks):
            roots.add(folder)
        while folder and folder not in folders:
            folders.add(folder)
            folder = posixpath.dirname(folder)
    places = {posixpath.join(folder, name) for folder in folders for name in _NAMES}
    places.update(posixpath.join(root, file) for root in roots for name in _HIDEABLE for file in _files_of(name))
    return sorted(map(posixpath.normpath, places))


def _files_of(module: str) -> Iterator[str]:
    yield f"{module}.py"
    yield f"{module}/__init__.py"
