"""Skill reports: those that are kept, one of them in pictures, and two of them against each other."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from aiohttp import web
from msgspec import Struct

from trueup.core.errors import InputError
from trueup.skills import (
    Arm,
    CellStatus,
    Comparison,
    Delta,
    GroupComparison,
    ReportHead,
    compare_reports,
    heat_maps,
    kept_head,
    kept_outline,
    kept_reports,
    rate_bars,
    report_words,
)

from ._report_places import Part, Wanted, known, moment_of, square_address
from ._site import Site

PAGE = 50
# Cases of a heat map on one page.
MOST_CASES = 200
# Cases that moved, and cells that only one of two reports has.
MOST_TOLD = 500


class Kept(Struct, frozen=True):
    """A report in the list. `head` is None where it cannot be read, and `trouble` says why."""

    name: str
    head: ReportHead | None
    trouble: str = ""

    @property
    def when(self) -> str:
        return moment_of(self.name)


# A line of a comparison: of all cases, or of one platform and model.
Compared = tuple[str, Comparison]


def routes(site: Site) -> list[web.RouteDef]:
    """The pages of reports."""

    async def reports(request: web.Request) -> web.Response:
        return await asyncio.to_thread(_list, site, request)

    async def report(request: web.Request) -> web.Response:
        name = await known(request.match_info["name"])
        return await asyncio.to_thread(_show, site, request, name)

    async def compare(request: web.Request) -> web.Response:
        if not {"before", "after"} <= request.query.keys():
            raise InputError("a comparison needs two reports: choose one before and one after")
        before, after = [await known(request.query[which]) for which in ("before", "after")]
        return await asyncio.to_thread(_compare, site, request, before, after)

    # A comparison is not the report of that name, and so comes first.
    return [
        web.get("/reports", reports),
        web.get("/reports/compare", compare),
        web.get("/reports/{name}", report),
    ]


def _list(site: Site, request: web.Request) -> web.Response:
    names = kept_reports()
    part = Part.of(request, len(names), PAGE)
    kept = [_kept(name) for name in names[part.start : part.end]]
    return site.render(request, "reports.html", kept=kept, part=part, words=report_words)


def _kept(name: str) -> Kept:
    try:
        return Kept(name, kept_head(name))
    except InputError as error:
        return Kept(name, None, str(error))


def _show(site: Site, request: web.Request, name: str) -> web.Response:
    report = kept_outline(name)
    maps = heat_maps(report)
    part = Part.of(request, max((len(each.rows) for each in maps), default=0), MOST_CASES)
    count = Counter((cell.arm, cell.status) for cell in report.runs)
    return site.render(
        request,
        "report.html",
        report_name=name,
        when=moment_of(name),
        report=report,
        maps=[each._replace(rows=each.rows[part.start : part.end]) for each in maps],
        part=part,
        bars=rate_bars(report),
        deltas=_compared(report.statistics.delta, report.statistics.deltas),
        counts=[
            (status, count[Arm.WITH, status], Wanted(arm=Arm.WITH, status=status).address(name))
            for status in CellStatus
            if count[Arm.WITH, status]
        ],
        bare=sum(count[Arm.WITHOUT, status] for status in CellStatus),
        bare_address=Wanted(arm=Arm.WITHOUT).address(name),
        square_address=square_address,
        words=report_words,
    )


def _compare(site: Site, request: web.Request, before: str, after: str) -> web.Response:
    found = compare_reports(kept_outline(before), kept_outline(after))
    return site.render(
        request,
        "report_comparison.html",
        before=before,
        after=after,
        when={name: moment_of(name) for name in (before, after)},
        found=found,
        compared=_compared(found.overall, found.groups),
        most=MOST_TOLD,
        words=report_words,
    )


def _compared(overall: Comparison | None, groups: Sequence[Delta | GroupComparison]) -> list[Compared]:
    every = [] if overall is None else [("all", overall)]
    single = [(report_words.column_name((each.platform, each.model)), each.comparison) for each in groups]
    # Of one platform and model the same would be told twice.
    return [*every, *(single if len(single) > 1 else [])]
