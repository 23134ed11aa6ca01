"""Cells that have ended, by the hash of all that decided about them, so that none is paid for twice."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from trueup.core.errors import InfrastructureError
from trueup.core.files import user_folder, write_whole
from trueup.core.text import writable

from .._cell import CellSpec
from .._report import JUDGED, CellReport


class KeptCells(NamedTuple):
    """Cells in the cache: how many, where, how large together, and when one was last used."""

    cells: int
    folder: Path
    size_bytes: int
    used: float


class CellCache:
    """A folder with one file for each cell that passed or failed; an error says nothing that is worth keeping.

    What cannot be read there is as good as absent, and is written anew. A disk that takes nothing makes the next run
    dearer and this one no worse.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of_the_user(cls, environ: Mapping[str, str] | None = None) -> CellCache:
        return cls(cells_folder(environ))

    async def get(self, key: str) -> CellReport | None:
        return await asyncio.to_thread(self._read, key)

    async def put(self, report: CellReport) -> None:
        if report.status in JUDGED:
            await asyncio.to_thread(self._write, report)

    def _read(self, key: str) -> CellReport | None:
        path = self._path(key)
        try:
            report = msgspec.json.decode(path.read_bytes(), type=CellReport)
            # What is used stays longest.
            os.utime(path)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return report if report.key == key and report.status in JUDGED else None

    def _write(self, report: CellReport) -> None:
        path = self._path(report.key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Names of files and models need not be text.
            write_whole(path, msgspec.json.encode(writable(msgspec.to_builtins(report))).decode())
        except (OSError, InfrastructureError):
            return

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def as_cell_of(spec: CellSpec, report: CellReport) -> CellReport:
    """An earlier cell in the place of one that would come to the same."""
    return replace(
        report,
        case=spec.case.name,
        skill=spec.skill.path,
        platform=spec.platform,
        model=spec.model,
        repeat=spec.repeat,
        arm=spec.arm,
        cached=True,
    )


def cells_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where the cells of the user are, by the XDG rules."""
    return user_folder("XDG_CACHE_HOME", ".cache", os.environ if environ is None else environ) / "trueup" / "skills"


def list_cells(environ: Mapping[str, str] | None = None) -> KeptCells:
    """The cells that are kept."""
    folder = cells_folder(environ)
    return _together(folder, [status for _, status in _kept(folder)])


def clean_cells(environ: Mapping[str, str] | None = None, *, older_than_secs: float = 0) -> KeptCells:
    """Remove the cells that were not used lately. Return what went."""
    folder, unused_since = cells_folder(environ), time.time() - older_than_secs
    gone = [(path, status) for path, status in _kept(folder) if status.st_mtime <= unused_since]
    for path, _ in gone:
        path.unlink(missing_ok=True)
    return _together(folder, [status for _, status in gone])


def _kept(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.glob("*/*.json"):
        with suppress(FileNotFoundError):
            yield path, path.stat()


def _together(folder: Path, cells: list[os.stat_result]) -> KeptCells:
    used = max((cell.st_mtime for cell in cells), default=0.0)
    return KeptCells(len(cells), folder, sum(cell.st_size for cell in cells), used)
