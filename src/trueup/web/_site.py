"""The pages of one daemon: their paths, who gets in, and the headers that go with every answer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from trueup import __version__
from trueup.core.errors import TrueupError
from trueup.core.text import written
from trueup.daemon import Admit, Daemon

from ._door import Door, is_sent_from_elsewhere
from ._live import Streams
from ._templates import template

# Modules with `routes(site)`, loaded with the first daemon that shows pages.
PARTS = ("_runs", "_run", "_sessions", "_reports", "_report_cells")

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Forms must say where they come from, and nobody else needs to know.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FORM = "application/x-www-form-urlencoded"
_NO_FORM = "this is not what a form of these pages sends: nothing was done"
_NOT_YOURS = "nothing was done: the form was made for another visit; go back, load the page again, and send it anew"
# What HTTP says where nobody said more.
_PROBLEMS = {
    "Not Found": "there is no such page",
    "Method Not Allowed": "this address takes no such request",
    "Request Entity Too Large": "nothing was done: that is more than a form can hold, 1 MiB",
}
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Site:
    """What every page has at hand: the daemon, and how an answer is made."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.door = Door(None if daemon.tokens is None else daemon.tokens.human_token)
        self.streams = Streams()

    def add_to(self, application: web.Application, admit: Admit) -> None:
        """Put the pages on their paths."""
        application.middlewares.append(_guard(self, admit))
        application.on_response_prepare.append(_protect)
        application.on_shutdown.append(self.streams.end)
        # A link is used up by whoever opens it, not by whoever asks whether it is there.
        application.router.add_get("/enter", self.door.enter, allow_head=False)
        application.router.add_get("/static/{name}", _static)
        application.router.add_get("/favicon.ico", _icon)
        for part in PARTS:
            application.router.add_routes(import_module(f"trueup.web.{part}").routes(self))

    @property
    def name(self) -> str:
        """The name of this machine that browsers know the pages by."""
        return self.door.name

    def link(self, host: str, port: int) -> str:
        """An address that lets a person in, once."""
        return self.door.link(host, port)

    def render(self, request: web.Request, name: str, status: int = 200, **values: Any) -> web.Response:
        """A page: its template with what it shows, and what every page needs."""
        around = {"form_token": self.door.form_token(request), "path": request.path, "version": __version__}
        text = written(template(name).render(around | values))
        return web.Response(text=text, status=status, content_type="text/html", headers={"Cache-Control": "no-store"})

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """What a person sent with a form of ours; anything else is refused."""
        if request.content_type != _FORM:
            raise web.HTTPBadRequest(reason=_NO_FORM)
        try:
            data = {key: str(value) for key, value in (await request.post()).items()}
        except (ValueError, LookupError):
            raise web.HTTPBadRequest(reason=_NO_FORM) from None
        if not self.door.is_form_token(request, data.get("form_token", "")):
            raise web.HTTPForbidden(reason=_NOT_YOURS)
        return data


def pages(daemon: Daemon) -> Site:
    """The pages of a daemon."""
    return Site(daemon)


def _guard(site: Site, admit: Admit) -> Any:
    """Nobody sees a page who did not come through the door, and what goes wrong is told on a page too."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await (handler(request) if _is_wire(request) else _answer(site, admit, request, handler))

    return guard


async def _protect(request: web.Request, answer: web.StreamResponse) -> None:
    """Streams too: this comes before the first byte of every answer."""
    if not _is_wire(request):
        answer.headers.update(_HEADERS)
        answer.headers.setdefault("Cache-Control", "no-store")


async def _answer(site: Site, admit: Admit, request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        if site.door.is_in(request):
            admit(request)
        elif request.path != "/enter" and not request.path.startswith("/static/"):
            return _turn_away(site, request, 401)
        return await handler(request)
    except web.HTTPRedirection as redirection:
        return web.Response(status=redirection.status, headers={"Location": redirection.headers["Location"]})
    except web.HTTPException as error:
        if error.status == web.HTTPForbidden.status_code and not site.door.is_in(request):
            return _turn_away(site, request, error.status)
        problem = _PROBLEMS.get(error.reason, error.reason)
        return site.render(request, "problem.html", error.status, problem=problem)
    except TrueupError as error:
        return site.render(request, "problem.html", 400, problem=str(error))


def _turn_away(site: Site, request: web.Request, status: int) -> web.Response:
    return site.render(request, "stranger.html", status, is_sent=is_sent_from_elsewhere(request))


def _is_wire(request: web.Request) -> bool:
    """What programs ask for, which has its own rules."""
    is_socket = request.path == "/" and request.headers.get("Upgrade", "").lower() == "websocket"
    return is_socket or request.path == "/health"


async def _icon(_: web.Request) -> web.Response:
    """Where browsers look for it beside a text that is no page."""
    raise web.HTTPSeeOther("/static/icon.svg")


async def _static(request: web.Request) -> web.Response:
    content, kind, tag = _file(request.match_info["name"])
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("If-None-Match") == tag:
        return web.Response(status=304, headers=headers)
    return web.Response(body=content, content_type=kind, charset="utf-8", headers=headers)


@cache
def _file(name: str) -> tuple[bytes, str, str]:
    found = next((each for each in files("trueup.web").joinpath("static").iterdir() if each.name == name), None)
    kind = _TYPES.get(name[name.rfind(".") :])
    if found is None or kind is None:
        raise web.HTTPNotFound
    content = found.read_bytes()
    return content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
