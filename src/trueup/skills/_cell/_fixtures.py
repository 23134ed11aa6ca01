"""What a cell's folder holds at first: a copy of a folder beside the case, and files that the case spells out."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from trueup.core.errors import InfrastructureError, InputError

from .._case import Case, Workspace


class _Entry(Struct, frozen=True):
    """A file, folder or link of a fixture; `name` is relative to the fixture, `link` where a link leads."""

    name: str
    path: Path
    mode: int
    link: str | None = None

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


def fixtures_digest(case: Case) -> str:
    """A digest of the folder that cells of this case begin with: names, contents, links, what is executable. Blocks.

    An empty text where there is no such folder.
    """
    if case.workspace is None or case.workspace.folder is None:
        return ""
    digest = hashlib.sha256()
    try:
        for entry in sorted(_entries(Path(case.workspace.folder)), key=lambda each: each.name):
            digest.update(repr((os.fsencode(entry.name), *_content(entry))).encode())
    except OSError as error:
        raise InputError(_unreadable(case.workspace.folder, error)) from None
    return digest.hexdigest()


def fill(folder: Path, workspace: Workspace) -> None:
    """Put into a new folder what the workspace of a case names. Blocks."""
    try:
        if workspace.folder is not None:
            _copy(Path(workspace.folder), folder)
        for name, text in workspace.files.items():
            _write(folder, name, text)
    except OSError as error:
        named = error.filename or workspace.folder or folder
        raise InfrastructureError(f"the workspace could not be made: {named}: {error.strerror}") from None
    except ValueError as error:
        # A NUL in a name, or half of a character in a text.
        raise InputError(f"workspace.files: cannot be written: {error}") from None


def _copy(source: Path, target: Path) -> None:
    for entry in _entries(source):
        place = target / entry.name
        if entry.is_folder:
            place.mkdir()
        elif entry.link is not None:
            place.symlink_to(entry.link)
        else:
            shutil.copy(entry.path, place, follow_symlinks=False)


def _write(folder: Path, name: str, text: str) -> None:
    place = Path(os.path.realpath(folder / name))
    if Path(name).is_absolute() or not place.is_relative_to(os.path.realpath(folder)) or place == folder:
        raise InputError(f"workspace.files: {name!r} is not below the workspace; use a path relative to it")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8", newline="")


def _entries(root: Path) -> Iterator[_Entry]:
    """Everything below a folder, folders before what is in them. Links are told and never followed."""
    if not root.is_dir():
        raise InputError(f"workspace.folder: there is no folder {root}")
    top = Path(os.path.realpath(root))
    left = [top]
    while left:
        with os.scandir(left.pop()) as found:
            inner = sorted(found, key=lambda each: each.name)
        for each in inner:
            entry = _entry(Path(each.path), top)
            yield entry
            if entry.is_folder:
                left.append(entry.path)


def _entry(path: Path, top: Path) -> _Entry:
    name = str(path.relative_to(top))
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return _Entry(name, path, mode, _inner_link(path, top))
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise InputError(f"workspace.folder: {path} is neither a file nor a folder, and cannot be copied; remove it")
    return _Entry(name, path, mode)


def _inner_link(path: Path, top: Path) -> str:
    """Where a link leads, relative to itself, so that the copy leads into the copy."""
    leads_to = Path(os.path.realpath(path))
    if not leads_to.is_relative_to(top):
        raise InputError(f"workspace.folder: {path} is a link that leads out of the folder; put a copy there instead")
    target = path.readlink()
    if _stays_inside(path.parent, target, top):
        return str(target)
    return os.path.relpath(leads_to, os.path.realpath(path.parent))


def _stays_inside(place: Path, target: Path, top: Path) -> bool:
    """Whether a link goes through nothing outside: one that did would lead from the copy back to the original."""
    steps = (place.joinpath(*target.parts[: count + 1]) for count in range(len(target.parts)))
    return all(Path(os.path.realpath(step)).is_relative_to(top) for step in steps)


def _content(entry: _Entry) -> tuple[str, object, bool]:
    if entry.is_folder:
        return "folder", "", False
    if entry.link is not None:
        return "link", entry.link, False
    with entry.path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return "file", found, bool(entry.mode & stat.S_IXUSR)


def _unreadable(folder: str, error: OSError) -> str:
    return f"workspace.folder: {error.filename or folder}: {error.strerror}"
