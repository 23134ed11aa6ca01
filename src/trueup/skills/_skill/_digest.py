"""A skill's folder as a whole: its files, its links, and a digest of all that they say."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trueup.core.errors import InputError

from ._find import NOT_SEARCHED

MOST_FILES = 10_000
MOST_BYTES = 256 << 20


class Entry(NamedTuple):
    """A file or a link below a folder, by its name from there."""

    name: str
    status: os.stat_result

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.status.st_mode)


def folder_digest(folder: Path) -> str:
    """The SHA-256 of a folder: names, contents, whether a file can be run, and where links lead, which stay links.

    What version control and Python keep beside the files is left out, for using a skill must not make another of it.
    """
    digest = hashlib.sha256()
    for entry in survey(folder):
        kind, content = _content(folder / entry.name, entry)
        for part in (kind, os.fsencode(entry.name), content):
            digest.update(b"%d:" % len(part))
            digest.update(part)
    return digest.hexdigest()


def survey(folder: Path, most_files: int = MOST_FILES) -> list[Entry]:
    """Everything below a folder that is no folder itself, by name; an `InputError` where that is too much."""
    entries = sorted(_entries(folder, most_files), key=lambda entry: os.fsencode(entry.name))
    if sum(entry.status.st_size for entry in entries) > MOST_BYTES:
        raise InputError(f"{folder}: more than {MOST_BYTES >> 20} MiB; is it the folder of a skill?")
    return entries


def _entries(folder: Path, most_files: int) -> Iterator[Entry]:
    waiting, count = [""], 0
    while waiting:
        inside = waiting.pop()
        try:
            with os.scandir(folder / inside) as found:
                for each in found:
                    name = os.path.join(inside, each.name)  # noqa: PTH118 - a Path would cost ten times as much
                    if each.is_dir(follow_symlinks=False):
                        waiting += [] if each.name in NOT_SEARCHED else [name]
                        continue
                    count += 1
                    if count > most_files:
                        raise InputError(f"{folder}: more than {most_files} files; is it the folder of a skill?")
                    yield Entry(name, each.stat(follow_symlinks=False))
        except OSError as error:
            raise InputError(f"{folder / inside}: cannot be read: {error.strerror}") from None


def _content(path: Path, entry: Entry) -> tuple[bytes, bytes]:
    """What an entry is, and the digest of what it holds."""
    mode = entry.status.st_mode
    try:
        if entry.is_link:
            return b"link", os.fsencode(path.readlink())
        if not stat.S_ISREG(mode):
            return b"special", b""
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
            digest = hashlib.file_digest(file, "sha256")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    return b"program" if mode & stat.S_IXUSR else b"file", digest.digest()
