"""Sessions: all of them, and the paths of one. What a session is made of is loaded when one is looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from aiohttp import web
from msgspec import Struct

from trueup.daemon import Daemon
from trueup.runs import StoredRecord, Totals

from ._live import Fragment
from ._numbers import number_in
from ._site import Site
from ._templates import template

if TYPE_CHECKING:
    from trueup.coder import SessionSummary

PAGE = 50
MOST_PAGES = 10_000
# How soon a list shows what any process did.
LOOKING_SECS = 0.5
# Many sessions take long to list, and are listed less often.
SHARE_OF_TIME = 4
# Not a state, but what people look for.
WAITING = "waiting for you"


class Wanted(Struct, frozen=True):
    """What somebody chose to see."""

    state: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        """What an address asks for; what it does not know it leaves alone."""
        return cls(query.get("state", ""), max(1, min(number_in(query.get("page"), 1), MOST_PAGES)))

    def address(self, path: str = "/sessions", **changed: Any) -> str:
        """Where that is seen, or something near it."""
        values = {"state": self.state, "page": self.page} | changed
        chosen = {name: value for name, value in values.items() if value not in ("", 1)}
        return f"{path}?{urlencode(chosen)}" if chosen else path

    def includes(self, session: SessionSummary) -> bool:
        """Whether a session is one of those."""
        if self.state == WAITING:
            return session.owner is None and session.state.value in ("contract_proposed", "needs_approval")
        return self.state in ("", session.state.value)


class Row(Struct, frozen=True):
    """A session in the list. What it spent is None before its first iteration has ended."""

    session: SessionSummary
    tone: str
    iterations: int = 0
    spent: Totals | None = None

    @property
    def engine(self) -> str:
        """Who works, without the arguments of a command."""
        return self.session.engine.partition(" ")[0]


def routes(site: Site) -> list[web.RouteDef]:
    """The pages of sessions."""

    async def sessions(request: web.Request) -> web.Response:
        from trueup.coder import State

        wanted = Wanted.of(request.query)
        rows, more = await _rows(site.daemon, wanted)
        states = [WAITING, *(state.value for state in State)]
        return site.render(request, "sessions.html", rows=rows, more=more, wanted=wanted, states=states)

    async def live(request: web.Request) -> web.StreamResponse:
        return await site.streams.send(request, _changes(site.daemon, Wanted.of(request.query)))

    return [
        web.get("/sessions", sessions),
        web.get("/live/sessions", live),
        web.get("/sessions/{id}", _of_one(site, "show")),
        web.get("/live/sessions/{id}", _of_one(site, "live")),
        web.get("/sessions/{id}/diff", _of_one(site, "whole_diff")),
        web.get("/sessions/{id}/{action}", _of_one(site, "make_sure")),
        web.post("/sessions/{id}/{action}", _of_one(site, "act")),
    ]


def _of_one(site: Site, name: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        # The coder is large, and a daemon must be up at once.
        from . import _session_page

        answer: web.StreamResponse = await getattr(_session_page, name)(site, request)
        return answer

    return handle


async def _rows(daemon: Daemon, wanted: Wanted) -> tuple[list[Row], bool]:
    """The sessions of a page, and whether there is another page."""
    start = (wanted.page - 1) * PAGE
    found = [each for each in await daemon.coding.sessions.list() if wanted.includes(each)]
    shown = found[start : start + PAGE]
    spent = await daemon.store.latest([each.id for each in shown], "budget")
    return [_row(each, spent.get(each.id)) for each in shown], len(found) > start + PAGE


def _row(session: SessionSummary, budget: StoredRecord | None) -> Row:
    from trueup.coder import events, told_of

    from ._session import state_tone

    told = told_of(session.id, budget) if budget is not None else None
    if told is None or not isinstance(told.event, events.BudgetSpent):
        return Row(session, state_tone(session.state))
    return Row(session, state_tone(session.state), told.event.iterations, Totals(told.event.usage))


async def _changes(daemon: Daemon, wanted: Wanted) -> AsyncGenerator[Fragment, None]:
    """The rows when somebody begins to look, and whenever one of them is another."""
    shown = None
    while True:
        began = time.monotonic()
        rows, _ = await _rows(daemon, wanted)
        html = template("sessions_rows.html").render(rows=rows, wanted=wanted)
        if html != shown:
            yield Fragment("part", html)
        shown = html
        await asyncio.sleep(max(LOOKING_SECS, (time.monotonic() - began) * SHARE_OF_TIME))
