"""Cells of a skill report: those that somebody chose, and one with its conversation and what was judged of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from aiohttp import web

from trueup.skills import Arm, CellReport, CellStatus, ToolEvent, kept_cell, kept_outline, report_words

from ._lines import readable
from ._numbers import number_in
from ._report_places import Part, Wanted, cell_address, column_of, known, label, moment_of
from ._site import Site
from ._templates import MOST_CHARACTERS

PAGE = 100
# What is shown of a tool call before it is unfolded.
_GLANCE = 100


def routes(site: Site) -> list[web.RouteDef]:
    """The pages of cells."""

    async def cells(request: web.Request) -> web.Response:
        name = await known(request.match_info["name"])
        return await asyncio.to_thread(_list, site, request, name)

    async def cell(request: web.Request) -> web.Response:
        name = await known(request.match_info["name"])
        key, _, repeat = request.match_info["cell"].rpartition("-")
        found = await asyncio.to_thread(kept_cell, name, key, number_in(repeat, 0))
        if found is None:
            raise web.HTTPNotFound(reason="the report has no such cell")
        run = None if found.run_id is None else await site.daemon.store.get(found.run_id)
        return await asyncio.to_thread(_show, site, request, name, found, run is not None)

    return [web.get("/reports/{name}/cells", cells), web.get("/reports/{name}/cells/{cell}", cell)]


def _list(site: Site, request: web.Request, name: str) -> web.Response:
    wanted, every = Wanted.of(request.query), kept_outline(name).runs
    chosen = [cell for cell in every if wanted.takes(cell)]
    part = Part.of(request, len(chosen), PAGE)
    return site.render(
        request,
        "report_cells.html",
        report_name=name,
        when=moment_of(name),
        wanted=wanted,
        cells=chosen[part.start : part.end],
        part=part,
        statuses=list(CellStatus),
        arms=list(Arm),
        columns=list(dict.fromkeys(column_of(cell) for cell in every)),
        cell_address=cell_address,
        words=report_words,
    )


def _show(site: Site, request: web.Request, name: str, cell: CellReport, is_recorded: bool) -> web.Response:
    return site.render(
        request,
        "report_cell.html",
        report_name=name,
        when=moment_of(name),
        cell=cell,
        is_recorded=is_recorded,
        whole="whole" in request.query,
        is_long=any(len(text) > MOST_CHARACTERS for text in _texts(cell)),
        siblings=Wanted(case=label(cell.case), on=column_of(cell)).address(name),
        told=_told,
        glance=_glance,
        readable=readable,
        words=report_words,
    )


def _texts(cell: CellReport) -> Iterator[str]:
    """Everything that a page of a cell shows only the beginning of, where it is long."""
    for message in cell.transcript.messages:
        yield message.content
        yield from map(_told, message.events)
    yield from (readable(call.input) for call in cell.mock_calls or ())
    yield from report_words.why(cell)


def _told(event: ToolEvent) -> str:
    """What a tool was given, or what came of it."""
    return readable(event.input) if event.kind == "tool_call" else event.output or ""


def _glance(event: ToolEvent) -> str:
    """The first words of that."""
    start = " ".join(_told(event)[: 4 * _GLANCE].split())
    return start if len(start) <= _GLANCE else f"{start[:_GLANCE]}…"
