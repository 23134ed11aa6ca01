"""What of the user's files a program needs to run: more than itself, where it is a script of a package.

In a sandbox a program is seen at its own path. A script of a Node package also needs the packages beside it and the
`node` that the user has; a script of a Python environment needs the environment, and the Python that it was made of.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGES = "node_modules"
# Seen in every sandbox.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
LONGEST_FIRST_LINE = 512
_INTERPRETER = re.compile(rb"#!\s*(\S+)(?:\s+(?:-S\s+)?([^\s=-][^\s=]*))?")


def parts_of(program: str, environ: Mapping[str, str]) -> list[str]:
    """The files and folders without which a program does not run; of several that lie in each other, the outer one."""
    found = list(dict.fromkeys(_parts(program, environ)))
    return [each for each in found if not any(_is_within(each, other) for other in (*found, *SYSTEM))]


def _parts(program: str, environ: Mapping[str, str]) -> Iterator[str]:
    yield from _with_target(program)
    real = os.path.realpath(program)
    for path in (program, real):
        if packages := _outermost_packages(path):
            yield packages
    interpreter = _interpreter(real, environ)
    if interpreter is not None:
        yield from _with_target(interpreter)
        if packages := _outermost_packages(interpreter):
            yield packages
        yield from _environment(interpreter)


def _with_target(path: str) -> Iterator[str]:
    yield path
    # Behind a link there may be a folder that nobody else needs to see.
    yield os.path.realpath(path)


def _outermost_packages(path: str) -> str | None:
    """The outermost folder of packages above a file: packages find each other there."""
    parts = Path(path).parts
    return str(Path(*parts[: parts.index(PACKAGES) + 1])) if PACKAGES in parts else None


def _interpreter(script: str, environ: Mapping[str, str]) -> str | None:
    """Who reads a script, by its first line; None where the file is none, or names nobody who is there."""
    try:
        with Path(script).open("rb") as file:
            first = _INTERPRETER.match(file.readline(LONGEST_FIRST_LINE))
    except OSError:
        return None
    if first is None:
        return None
    named, argument = (os.fsdecode(each or b"") for each in first.groups())
    if Path(named).name == "env" and argument:
        return shutil.which(argument, path=environ.get("PATH", os.defpath))
    return named if Path(named).exists() else None


def _environment(interpreter: str) -> Iterator[str]:
    """The environment of a Python, and what it was made of."""
    folder = Path(interpreter).parent.parent
    settings = folder / "pyvenv.cfg"
    if not settings.is_file():
        return
    yield str(folder)
    made_of = re.search(r"(?m)^home\s*=\s*(\S.*?)\s*$", settings.read_text(errors="replace"))
    if made_of is not None and Path(made_of[1]).is_dir():
        yield str(Path(made_of[1]).parent)


def _is_within(path: str, other: str) -> bool:
    return path != other and Path(path).is_relative_to(other)
