"""Runs: all of them, newest first, kept up to date while somebody looks, and found by what was said in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from msgspec import Struct

from trueup.core.usage import Usage
from trueup.runs import Found, RunInfo, RunStore, Totals, elapsed

from ._live import Fragment
from ._site import Site
from ._spending import Spending
from ._templates import said, template

PAGE = 50
MOST_FOUND = 50
# How soon a list shows what any process wrote.
LOOKING_SECS = 1.0
# A page does not wait longer until everything can be found.
INDEXING_SECS = 2.0
STATUSES = ("in_progress", "completed", "incomplete", "cancelled")


class Wanted(Struct, frozen=True):
    """What somebody chose to see. `before` is where the page above ended."""

    status: str = ""
    kind: str = ""
    agent: str = ""
    q: str = ""
    before: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        """What an address asks for; what it does not know it leaves alone."""
        return cls(**{name: query.get(name, "").strip() for name in cls.__struct_fields__})

    def address(self, path: str = "/runs", **changed: str) -> str:
        """Where that is seen, or something near it."""
        values = {name: getattr(self, name) for name in self.__struct_fields__} | changed
        chosen = urlencode({name: value for name, value in values.items() if value})
        return f"{path}?{chosen}" if chosen else path

    async def list(self, store: RunStore) -> list[RunInfo]:
        """The runs of a page, and one more where there is another page."""
        started, _, run_id = self.before.partition(" ")
        return await store.list(
            kind=self.kind or None,
            agent_id=self.agent or None,
            status=self.status or None,
            before=(started, run_id) if self.before else None,
            limit=PAGE + 1,
        )


class Row(Struct, frozen=True):
    """A run in the list. What it used is None where it is still being added up."""

    run: RunInfo
    usage: Usage | None

    @property
    def spent(self) -> Totals | None:
        return None if self.usage is None else Totals(self.usage)

    @property
    def agent(self) -> str:
        return self.run.agent_name or self.run.agent_id or ""

    @property
    def took(self) -> str:
        return elapsed(self.run)

    @property
    def place(self) -> str:
        return " ".join(self.run.place)


class Hit(Struct, frozen=True):
    """A record that was found, and its text around the words that were looked for."""

    found: Found
    before: str
    words: str
    after: str


def routes(site: Site) -> list[web.RouteDef]:
    """The pages of all runs."""
    store, spending = site.daemon.store, Spending(site.daemon.store)

    async def runs(request: web.Request) -> web.Response:
        wanted = Wanted.of(request.query)
        kinds, agents = await store.kinds_and_agents()
        # One that is chosen stays so, also where it is too rare to be offered.
        kinds = sorted({*kinds, wanted.kind} - {""})
        around: dict[str, Any] = {"wanted": wanted, "kinds": kinds, "agents": agents, "statuses": STATUSES}
        if wanted.q:
            return await _found(site, request, wanted, around)
        found = await wanted.list(store)
        rows = await _rows(spending, found[:PAGE])
        more = wanted.address(before=rows[-1].place) if len(found) > PAGE else None
        return await asyncio.to_thread(site.render, request, "runs.html", rows=rows, more=more, **around)

    async def live(request: web.Request) -> web.StreamResponse:
        return await site.streams.send(request, _changes(store, spending, Wanted.of(request.query)))

    return [web.get("/runs", runs), web.get("/live/runs", live)]


async def _rows(spending: Spending, runs: list[RunInfo]) -> list[Row]:
    spent = await spending.of(runs)
    return [Row(run, spent[run.run_id].usage if run.run_id in spent else None) for run in runs]


async def _changes(store: RunStore, spending: Spending, wanted: Wanted) -> AsyncGenerator[Fragment, None]:
    """Every row when somebody begins to look, then those that are new or have changed, the oldest first."""
    shown: dict[str, Row] = {}
    while True:
        found = {run.run_id: run for run in (await wanted.list(store))[:PAGE]}
        # One that has ended may not be what was asked for any more, and is still on the page.
        open_runs = [run_id for run_id, row in shown.items() if not row.run.ended and run_id not in found]
        gone = [await store.get(run_id) for run_id in open_runs[:PAGE]]
        rows = await _rows(spending, [*found.values(), *(run for run in gone if run is not None)])
        for row in reversed(rows):
            if shown.get(row.run.run_id) != row:
                yield Fragment("row", template("runs_row.html").render(row=row))
        shown = {row.run.run_id: row for row in rows}
        await asyncio.sleep(LOOKING_SECS)


async def _found(site: Site, request: web.Request, wanted: Wanted, around: dict[str, Any]) -> web.Response:
    store = site.daemon.store
    try:
        async with asyncio.timeout(INDEXING_SECS):
            await store.index()
    except TimeoutError:
        answer = site.render(request, "runs_found.html", hits=None, **around)
        answer.headers["Refresh"] = "2"
        return answer
    found = await store.search(
        wanted.q,
        kind=wanted.kind or None,
        agent_id=wanted.agent or None,
        status=wanted.status or None,
        limit=MOST_FOUND,
    )
    return site.render(request, "runs_found.html", hits=[_hit(each) for each in found], **around)


def _hit(found: Found) -> Hit:
    before, _, rest = said(found.snippet).partition("«")
    words, _, after = rest.partition("»")
    return Hit(found, before, words, after)
