"""The shape of a change: links, binaries, repositories within, names that hide others."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Collection, Iterator, Sequence

from ._model import EXECUTABLE, LINK, SUBMODULE, ChangedFile, Suspicion
from ._reading import Reading
from ._rules import FLAG, GATE, INFO

_SYSTEM = ("/usr/", "/etc/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/", "/dev/null")
_PROGRAMS = {
    b"\x7fELF": "an ELF program or library",
    b"\xca\xfe\xba\xbe": "a Java class or a Mach-O program",
    b"\xcf\xfa\xed\xfe": "a Mach-O program",
    b"\xce\xfa\xed\xfe": "a Mach-O program",
    b"\0asm": "a WebAssembly program",
    b"MZ": "a Windows program",
}
_CODE_ENDINGS = tuple(
    ".pyc .pyo .so .dll .dylib .class .jar .war .wasm .exe .o .a .lib .node .whl .egg .pyz .pyd".split()
)
_INSTALLED = frozenset("node_modules site-packages __pycache__ .venv".split())
_ODD_PATH = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_GIT_FOLDER = re.compile(r"(?i)\.git[ .]*|git~1")

_RUNNERS = frozenset("pytest _pytest unittest pluggy nose nose2 coverage hypothesis doctest".split())
# In the standard library by name only, or taken by every other project.
_NOT_MISSED = frozenset("test tests this antigravity idlelib turtledemo lib2to3 __main__ site code".split())
_ROOTS = ("", "src", "lib", "python")
_TOOLS = frozenset(
    "python python2 python3 pypy pypy3 node npm npx pnpm yarn bun deno make gmake cmake ninja pytest py.test tox nox uv pip "
    "pip3 ruff mypy go cargo rustc java javac mvn gradle ruby php perl bash sh dash zsh env git timeout jest vitest tsc "
    "eslint gcc g++ cc clang ctest dotnet".split()
)
_PLACES_OF_TOOLS = re.compile(r"(?:(?:.*/)?(?:s?bin|\.local/bin|tools|scripts))?")
_COMMAND_WORD = re.compile(r"(?:^|[;&|(]\s*)(?:\w+=\S*\s+)*([\w.+-]+)(?=\s|$)")


def look_at_tree(file: ChangedFile) -> Iterator[Suspicion]:
    """What is suspicious about a path and its mode, whatever is in it."""
    yield from _path(file)
    if file.new is None and file.new_mode != SUBMODULE:
        return
    if file.new_mode == SUBMODULE:
        what = "is another repository: what is in it is no part of this change, and was not looked at"
        yield Suspicion(kind="embedded_repository", severity=FLAG, what=what)
    elif file.new_mode == LINK:
        yield from _link(file)
    elif file.new is not None and file.new != file.old:
        yield from _binary(Reading(file.path, file.new, protected=file.protected))


def _path(file: ChangedFile) -> Iterator[Suspicion]:
    if file.new_mode is None and file.new is None:
        return
    if _ODD_PATH.search(file.path):
        what = f"has characters in its name that cannot be seen ({file.path!a})"
        yield Suspicion(kind="odd_path", severity=FLAG, what=what)
    parts = file.path.split("/")
    if any(_GIT_FOLDER.fullmatch(part) for part in parts):
        what = "lies in a git folder, whose configuration and hooks git would follow"
        yield Suspicion(kind="embedded_repository", severity=GATE, what=what)
    elif file.old is None and not _INSTALLED.isdisjoint(parts[:-1]):
        what = "is installed or compiled code, which stands in for its source"
        yield Suspicion(kind="dependency_shadowed", severity=FLAG, what=what)


def _link(file: ChangedFile) -> Iterator[Suspicion]:
    target = (file.new or b"").decode(errors="surrogateescape")
    shown = ascii(target)
    if target.startswith("/"):
        severity = FLAG if f"{target}/".startswith(_SYSTEM) or target == "/dev/null" else GATE
        yield Suspicion(
            kind="symlink_out", severity=severity, what=f"is a link to an absolute path ({shown}), out of the tree"
        )
        return
    parts = [part for part in target.split("/") if part not in ("", ".")]
    reached = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), target))
    if reached == ".." or reached.startswith("../"):
        yield Suspicion(kind="symlink_out", severity=GATE, what=f"is a link out of the tree ({shown})")
    elif any(_GIT_FOLDER.fullmatch(part) for part in parts):
        yield Suspicion(kind="symlink_out", severity=GATE, what=f"is a link into a git folder ({shown})")
    elif ".." in parts[next((n for n, part in enumerate(parts) if part != ".."), len(parts)) :]:
        # Through a second link, such a way can leave the tree though it does not look so.
        yield Suspicion(kind="symlink_out", severity=FLAG, what=f"is a link whose way winds ({shown})")


def _binary(reading: Reading) -> Iterator[Suspicion]:
    program = next((what for magic, what in _PROGRAMS.items() if reading.raw.startswith(magic)), None)
    if program is not None and reading.is_binary:
        yield Suspicion(kind="binary", severity=FLAG, what=f"is {program}: nobody can read what it does")
    elif reading.path.lower().endswith(_CODE_ENDINGS) and reading.is_binary:
        yield Suspicion(kind="binary", severity=FLAG, what="is compiled or packed code: nobody can read what it does")
    elif reading.is_binary:
        yield Suspicion(kind="binary", severity=INFO, what="is a binary file")


def look_for_shadows(
    file: ChangedFile, new_paths: Collection[str], base_paths: Collection[str], commands: Sequence[str]
) -> Iterator[Suspicion]:
    """What is suspicious about a new name: whoever asks for the other thing of that name now gets this one."""
    if file.old is not None or file.new is None:
        return
    yield from _module_shadow(file, new_paths, base_paths)
    yield from _tool_shadow(file, commands)


def _module_shadow(file: ChangedFile, new_paths: Collection[str], base_paths: Collection[str]) -> Iterator[Suspicion]:
    root, name = _module(file.path)
    if name is None or (name not in sys.stdlib_module_names and name not in _RUNNERS) or name in _NOT_MISSED:
        return
    if root and _is_package(root, new_paths, base_paths):
        return
    if any(path.startswith(posixpath.join(root, f"{name}/")) for path in base_paths):
        return
    if name in _RUNNERS:
        yield Suspicion(kind="module_shadowed", severity=GATE, what=f"stands in for the test tool `{name}`")
    else:
        what = f"hides the standard library's `{name}` from everybody who imports it"
        yield Suspicion(kind="module_shadowed", severity=FLAG, what=what)


def _module(path: str) -> tuple[str, str | None]:
    """The import root and the name of a top-level module; no name for any other file."""
    folder, file = posixpath.split(path)
    stem, _, ending = file.partition(".")
    if stem == "__init__" and ending == "py":
        folder, stem = posixpath.split(folder)
    elif ending.rpartition(".")[2] not in ("py", "pyc", "so", "pyd"):
        return "", None
    return (folder, stem) if folder in _ROOTS else ("", None)


def _is_package(root: str, new_paths: Collection[str], base_paths: Collection[str]) -> bool:
    start = f"{root}/__init__.py"
    return start in base_paths or start in new_paths


def _tool_shadow(file: ChangedFile, commands: Sequence[str]) -> Iterator[Suspicion]:
    folder, name = posixpath.split(file.path)
    started = {word for command in commands for word in _COMMAND_WORD.findall(command)}
    runnable = file.new_mode in (EXECUTABLE, LINK) or (file.new or b"").startswith(b"#!")
    if runnable and name in _TOOLS | started and _PLACES_OF_TOOLS.fullmatch(folder):
        what = f"is a program called `{name}`: where its folder comes first, it is run in place of the real one"
        yield Suspicion(kind="tool_shadowed", severity=FLAG, what=what)
