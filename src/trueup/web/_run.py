"""A run: what is known of it, and what happened in it, a part of the timeline at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

from aiohttp import web
from markupsafe import Markup
from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.text import visible, written
from trueup.runs import RunInfo, RunStore, StoredRecord, as_step, elapsed, export_html, export_jsonl

from ._lines import Line, as_lines, told, whole_text
from ._live import Fragment, sender
from ._numbers import number_in
from ._site import Site
from ._spending import Spending
from ._templates import template

PAGE = 200
# How soon a page shows what any process wrote.
LOOKING_SECS = 0.25
_FORMS = {"jsonl": (export_jsonl, "application/jsonl"), "html": (export_html, "text/html")}

Show = Callable[[web.Request, RunInfo], Awaitable[web.StreamResponse]]


class View(Struct, frozen=True):
    """The part of a run that a page shows: the records after a place in it."""

    run: RunInfo
    after: int
    lines: list[Line]

    @property
    def last(self) -> int:
        """The number of the last record that is shown."""
        return self.lines[-1].step.seq if self.lines else self.after

    @property
    def has_more(self) -> bool:
        return self.last < self.run.record_count - 1

    @property
    def earlier(self) -> int | None:
        """After which record the part before begins; None where there is none."""
        return max(-1, self.after - PAGE) if self.after >= 0 else None


class Facts(Struct, frozen=True):
    """What is known of a run; not the whole of it while something is still being added up."""

    html: Markup
    are_whole: bool


class Timelines:
    """Reads parts of runs, with what was spent until each record of them."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.spending = Spending(store)

    async def view(self, run: RunInfo, after: int, limit: int = PAGE) -> View:
        """The records after a place, as many as a page shows."""
        after = max(-1, min(after, run.record_count - 1))
        records, totals = await asyncio.gather(
            self.store.outline(run.run_id, after=after, limit=limit), self.spending.until(run.run_id, after)
        )
        return View(run, after, await asyncio.to_thread(as_lines, records, run, totals))

    async def facts(self, run: RunInfo) -> Facts:
        """What is known of a run until now."""
        spent = (await self.spending.of([run])).get(run.run_id)
        html = template("run_facts.html").render(run=run, spent=spent, took=elapsed(run))
        return Facts(Markup(html), spent is not None)  # noqa: S704 - a template escapes

    async def news(self, run_id: str, after: int | None) -> AsyncGenerator[Fragment, None]:
        """What is new in a run until it has ended: its facts, and its records after a place where there is one."""
        shown, facts = None, None
        while (run := await self.store.get(run_id)) is not None:
            while after is not None and after < run.record_count - 1:
                view = await self.view(run, after)
                if not view.lines:
                    # Its records are being removed.
                    break
                yield Fragment("rows", await _rows(view), id=str(view.last))
                after = view.last
            if run != shown or facts is None or not facts.are_whole:
                shown, facts = run, await self.facts(run)
                yield Fragment("facts", facts.html)
            if run.ended and facts.are_whole:
                yield Fragment("ended")
                return
            await asyncio.sleep(LOOKING_SECS)


def routes(site: Site) -> list[web.RouteDef]:
    """The pages of one run."""
    timelines = Timelines(site.daemon.store)

    async def show(request: web.Request, run: RunInfo) -> web.Response:
        if request.match_info["run"] != run.run_id:
            raise web.HTTPSeeOther(request.rel_url.with_path(f"/runs/{run.run_id}", keep_query=True))
        view = await timelines.view(run, _after(request, run))
        facts = (await timelines.facts(run)).html
        return await asyncio.to_thread(site.render, request, "run.html", view=view, run=run, facts=facts)

    async def rows(request: web.Request, run: RunInfo) -> web.Response:
        after = number_in(request.query.get("after"), -1)
        limit = min(PAGE, max(1, number_in(request.query.get("until"), after + PAGE) - after))
        view = await timelines.view(run, after, limit)
        return web.Response(
            text=await _rows(view), content_type="text/html", headers={"Record-Count": str(run.record_count)}
        )

    async def live(request: web.Request, run: RunInfo) -> web.StreamResponse:
        place = request.headers.get("Last-Event-ID") or request.query.get("after")
        after = None if place is None else number_in(place, -1)
        return await site.streams.send(request, timelines.news(run.run_id, after))

    async def record(request: web.Request, run: RunInfo) -> web.Response:
        text = await _whole(timelines.store, run, number_in(request.match_info["seq"], -1), request.query.get("part"))
        return web.Response(text=text, content_type="text/plain", headers={"Cache-Control": "no-store"})

    def of_run(handler: Show) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                run = await timelines.store.find(request.match_info["run"])
            except InputError as error:
                return site.render(request, "problem.html", 404, problem=str(error))
            return await handler(request, run)

        return handle

    return [
        web.get("/runs/{run}", of_run(show)),
        web.get("/runs/{run}/rows", of_run(rows)),
        web.get("/runs/{run}/records/{seq}", of_run(record)),
        web.get("/runs/{run}/export/{form}", of_run(_exporter(timelines.store))),
        web.get("/live/runs/{run}", of_run(live)),
    ]


async def _rows(view: View) -> str:
    return await asyncio.to_thread(template("run_rows.html").render, view=view)


def _after(request: web.Request, run: RunInfo) -> int:
    """Where a page begins: after a record, at one, with the last ones, or at the beginning."""
    if "last" in request.query:
        return max(-1, run.record_count - 1 - PAGE)
    if "at" in request.query:
        return number_in(request.query["at"], 0) - 1
    return number_in(request.query.get("after"), -1)


async def _whole(store: RunStore, run: RunInfo, seq: int, part: str | None) -> str:
    found = await store.trace(run.run_id, after=seq - 1, limit=1)
    if not found or found[0].seq != seq:
        raise web.HTTPNotFound(reason=f"run {run.run_id} has no record {seq}")
    [stored] = found
    text = await asyncio.to_thread(_text, stored, run, part)
    if text is None:
        raise web.HTTPNotFound(reason=f"record {seq} has no such part")
    return text


def _text(stored: StoredRecord, run: RunInfo, part: str | None) -> str | None:
    """A record, or a part of it, so that it can be looked at. A large one takes a while."""
    if part is None:
        text: str | None = whole_text(stored)
    else:
        said, parts = told(stored.record, as_step(stored, run).said)
        text = said if part == "said" else parts.get(part)
    return None if text is None else visible(written(text))


def _exporter(store: RunStore) -> Show:
    async def export(request: web.Request, run: RunInfo) -> web.StreamResponse:
        form = request.match_info["form"]
        if form not in _FORMS:
            raise web.HTTPNotFound(reason=f"a run is exported as {' or '.join(_FORMS)}")
        writer, kind = _FORMS[form]
        answer = web.StreamResponse(
            headers={
                "Content-Type": f"{kind}; charset=utf-8",
                "Content-Disposition": f'attachment; filename="{run.run_id}.{form}"',
            }
        )
        await answer.prepare(request)
        send = sender(request, answer)
        # Whoever does not want the rest is not told about it.
        with suppress(ConnectionError):
            async for text in writer(store, run):
                await send(text.encode())
        return answer

    return export
