"""Where a file that nobody tracks would decide what checks do: places to look at, before and after each of them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from trueup.contract import Contract

# Read by runners and interpreters without being asked, and made by no tool.
_NAMES = (
    "conftest.py pytest.ini .pytest.ini tox.ini sitecustomize.py usercustomize.py pytest.py pytest/__init__.py "
    "unittest.py unittest/__init__.py jest.config.js vitest.config.js .mocharc.js .babelrc .npmrc"
).split()


def plantable(protected: Iterable[str], contract: Contract) -> list[str]:
    """Paths of such files in every folder that leads to a protected one, and in those that checks start in."""
    folders = {"", *(check.cwd for check in contract.checks)}
    for path in protected:
        folder = posixpath.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = posixpath.dirname(folder)
    return sorted({posixpath.normpath(posixpath.join(folder, name)) for folder in folders for name in _NAMES})
