"""Where reports and their cells are found: names, addresses, and the parts of what is too long for one page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from aiohttp import web
from msgspec import Struct

from trueup.skills import CellReport, kept_reports, report_words

from ._numbers import number_in
from ._templates import said


class Wanted(Struct, frozen=True):
    """Which cells of a report somebody chose to see. `case` is the label of one, `on` that of a platform and model."""

    status: str = ""
    arm: str = ""
    case: str = ""
    on: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        """What an address asks for; what it does not know it leaves alone."""
        return cls(**{name: query.get(name, "") for name in cls.__struct_fields__})

    def takes(self, cell: CellReport) -> bool:
        """Whether a cell is one of those."""
        has = {"status": cell.status.value, "arm": cell.arm.value, "case": label(cell.case), "on": column_of(cell)}
        return all(getattr(self, name) in ("", value) for name, value in has.items())

    def address(self, report: str) -> str:
        """Where they are listed."""
        chosen = {name: value for name in self.__struct_fields__ if (value := getattr(self, name))}
        return f"/reports/{report}/cells" + (f"?{urlencode(chosen)}" if chosen else "")


class Part(Struct, frozen=True):
    """The part of a long list that a page shows, and where those around it are."""

    number: int
    size: int
    count: int
    query: dict[str, str]

    @classmethod
    def of(cls, request: web.Request, count: int, size: int) -> Part:
        """The part that an address asks for."""
        asked, last = number_in(request.query.get("page"), 1), max(1, -(-count // size))
        return cls(min(max(1, asked), last), size, count, dict(request.query))

    @property
    def start(self) -> int:
        return (self.number - 1) * self.size

    @property
    def end(self) -> int:
        return min(self.start + self.size, self.count)

    @property
    def is_all(self) -> bool:
        return self.count <= self.size

    @property
    def earlier(self) -> str | None:
        """The address of the part before."""
        return self._address(self.number - 1) if self.number > 1 else None

    @property
    def later(self) -> str | None:
        """The address of the part after."""
        return self._address(self.number + 1) if self.end < self.count else None

    def _address(self, number: int) -> str:
        return f"?{urlencode({**self.query, 'page': number})}"


async def known(name: str) -> str:
    """The name of a report, if one is kept by it."""
    if name not in await asyncio.to_thread(kept_reports):
        raise web.HTTPNotFound(reason="no report of that name is kept")
    return name


def moment_of(name: str) -> str:
    """When a report was kept, as its name says."""
    try:
        return datetime.strptime(name[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).isoformat()
    except ValueError:
        return name


def column_of(cell: CellReport) -> str:
    """The platform and model of a cell, as the heat map has them."""
    return label(report_words.column_name((cell.platform, cell.model)))


def label(text: str) -> str:
    """A name in one line without control characters, which a form would not send back as they were."""
    return " ".join(said(text).split())


def cell_address(report: str, cell: CellReport) -> str:
    """Where a cell is told."""
    return f"/reports/{report}/cells/{quote(cell.key, safe='')}-{cell.repeat}"


def square_address(report: str, cells: Sequence[CellReport]) -> str:
    """What is behind a square of a heat map: the one cell, or a list of its repeats."""
    first = cells[0]
    if len(cells) == 1:
        return cell_address(report, first)
    return Wanted(arm=first.arm.value, case=label(first.case), on=column_of(first)).address(report)
