"""Cells of earlier reports, to be shown again instead of run again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from trueup.core.errors import InputError

from .._cell import CellSpec
from .._report import JUDGED, Arm, CellReport, read_report


class _CellLine(msgspec.Struct, frozen=True, tag_field="type", tag="cell"):
    """A line of a stream: a cell that has ended."""

    cell: CellReport


def cells_of(path: Path) -> list[CellReport]:
    """The cells of a report; also of a stream of lines whose writer was killed."""
    try:
        return read_report(path).runs
    except InputError:
        cells = _lines(path)
        if not cells:
            raise
        return cells


class StoredBaseline:
    """The arm without the skill, as an earlier report has it, and which cells of now are not in it."""

    def __init__(self, cells: Iterable[CellReport]) -> None:
        bare = [cell for cell in cells if cell.arm is Arm.WITHOUT]
        self._by_key = {cell.key: cell for cell in bare if cell.status in JUDGED}
        self._unjudged = {cell.key for cell in bare} - self._by_key.keys()
        self._by_name = {(cell.case, cell.platform, cell.model, cell.repeat) for cell in bare}
        self.missing: list[str] = []

    def find(self, spec: CellSpec, key: str) -> CellReport | None:
        """The cell that would come to the same; where there is none, it is said why."""
        found = self._by_key.get(key)
        if found is None:
            named = (spec.case.name, spec.platform, spec.model, spec.repeat) in self._by_name
            changed = "its case, judge, prompts or platform changed" if named else "was not run then"
            why = "could not be judged then" if key in self._unjudged else changed
            place = f"{spec.case.name} on {spec.platform} {spec.model}".rstrip()
            self.missing.append(f"{place}, repeat {spec.repeat}: {why}")
        return found


def _lines(path: Path) -> list[CellReport]:
    found = []
    lines = path.read_bytes().splitlines() if path.is_file() else []
    # Whoever was killed may have been in the middle of a line.
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=_CellLine).cell)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return found
