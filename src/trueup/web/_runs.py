"""Runs: all of them, and one turn by turn."""

from __future__ import annotations

from aiohttp import web

from ._site import Site

PAGE = 50


def routes(site: Site) -> list[web.RouteDef]:
    """The pages of runs."""

    async def runs(request: web.Request) -> web.Response:
        return site.render(request, "runs.html", runs=await site.daemon.store.list(limit=PAGE))

    return [web.get("/runs", runs)]
