"""The page of one session: shown, kept up to date, and what its forms do."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from aiohttp import web
from msgspec import Struct

from trueup.coder import State
from trueup.core.errors import InputError, TrueupError
from trueup.daemon import Daemon
from trueup.workspace import Repository

from ._diff import Patch, read_patch
from ._live import Fragment
from ._session import WAYS, Look, look_again, look_at, outcome_tone, severity_tone
from ._site import Site
from ._templates import template
from ._wire import ask

# How soon a page shows what any process wrote; a session that takes long to read is read less often.
LOOKING_SECS = 0.25
SHARE_OF_TIME = 4
# What is to be decided about, and beside it, where there is room, what was done.
COLUMNS = (("state", "actions", "contract"), ("findings", "iterations", "diff"))
WORTH_ASKING_TWICE = ("approve", "discard", "cancel")
_STALE = "Nothing was done: the session has gone on since your page was made. This is how it is now; decide again."

# Patches by the trees that they are between, the latest few: a page and what keeps it up to date show the same one.
_drawn: OrderedDict[tuple[str, str], Patch] = OrderedDict()
MOST_DRAWN = 8
# What templates say things with.
_WORDS: dict[str, Any] = {"outcome_tone": outcome_tone, "severity_tone": severity_tone, "ways": WAYS}

Form = Mapping[str, str]


class Change(Struct, frozen=True):
    """The latest change of a session as the page shows it, or why it cannot be shown; neither where there is none."""

    patch: Patch | None = None
    problem: str = ""

    def place(self, path: str | None, line: int | None) -> str | None:
        """Where on the page a line of a file is, if it is there."""
        return None if self.patch is None else self.patch.place(path, line)


class Target(Struct, frozen=True):
    """Where a change would be merged: a branch, or a detached HEAD; and whether that went on since the change began."""

    branch: str | None
    has_moved: bool


async def show(site: Site, request: web.Request) -> web.Response:
    """The page."""
    look = await _look(site, request)
    if look.story.id != request.match_info["id"]:
        raise web.HTTPSeeOther(f"/sessions/{look.story.id}")
    return await _page(site, request, look)


async def live(site: Site, request: web.Request) -> web.StreamResponse:
    """What changes on the page while somebody looks at it."""
    look = await _look(site, request)
    known = request.headers.get("Last-Event-ID") or request.query.get("until", "")
    around = {"form_token": site.door.form_token(request), "words": ""}
    return await site.streams.send(request, _changes(site.daemon, look, known, around))


async def whole_diff(site: Site, request: web.Request) -> web.Response:
    """The latest change as a patch, all of it."""
    look = await _look(site, request)
    patch = await site.daemon.coding.sessions.diff(look.story.id)
    headers = {"Content-Disposition": f'inline; filename="{look.story.id}.patch"', "Cache-Control": "no-store"}
    return web.Response(body=patch, content_type="text/plain", charset="utf-8", headers=headers)


async def make_sure(site: Site, request: web.Request) -> web.Response:
    """What an action would do, and the button that does it."""
    action = request.match_info["action"]
    if action not in WORTH_ASKING_TWICE:
        raise web.HTTPNotFound
    look = await _look(site, request)
    if action not in look.offers:
        return await _page(site, request, look, 409, problem=_not_now(look, action))
    target = await _target(look) if action == "approve" else None
    change = await _change(site.daemon, look)
    return site.render(request, "session_sure.html", look=look, action=action, target=target, change=change, **_WORDS)


async def act(site: Site, request: web.Request) -> web.Response:
    """Do what a form asks for, once; what cannot be done is told on the page, with the words that were typed."""
    name = request.match_info["action"]
    if name not in _ACTIONS:
        raise web.HTTPNotFound
    form = await site.form(request)
    look = await _look(site, request)
    try:
        async with _turn(look.story.id):
            # Read again: a second click waited here until the first one was done.
            look = await look_at(site.daemon, look.story.id)
            _must_be_possible(look, name)
            await _ACTIONS[name](site.daemon, look, form)
    except TrueupError as error:
        look = await look_at(site.daemon, look.story.id)
        return await _page(site, request, look, 409, problem=str(error), words=form.get("words", ""))
    raise web.HTTPSeeOther(f"/sessions/{look.story.id}")


async def _confirm(daemon: Daemon, look: Look, form: Form) -> None:
    _must_be_seen(look, form)
    await ask(daemon, "coder.confirm_contract", session_id=look.story.id)


async def _approve(daemon: Daemon, look: Look, form: Form) -> None:
    _must_be_seen(look, form)
    how = {"deliver": form["deliver"]} if form.get("deliver") else {}
    await ask(daemon, "coder.approve_merge", session_id=look.story.id, approve=True, **how)


async def _discard(daemon: Daemon, look: Look, form: Form) -> None:
    _must_be_seen(look, form)
    await ask(daemon, "coder.approve_merge", session_id=look.story.id, approve=False)


async def _respond(daemon: Daemon, look: Look, form: Form) -> None:
    _must_be_seen(look, form)
    words = form.get("words", "").replace("\r\n", "\n")
    if look.story.state is not State.CONTRACT_PROPOSED or not words.strip():
        await ask(daemon, "coder.respond", session_id=look.story.id, text=words)
        return
    revised = await ask(daemon, "coder.revise_contract", session_id=look.story.id, request=words)
    if not revised.revised:
        raise InputError(revised.message)


async def _resume(daemon: Daemon, look: Look, _: Form) -> None:
    await ask(daemon, "coder.resume", session_id=look.story.id)


async def _cancel(daemon: Daemon, look: Look, form: Form) -> None:
    words = form.get("words", "").strip()
    await ask(daemon, "coder.cancel", session_id=look.story.id, reason=words or None)


_ACTIONS: dict[str, Callable[[Daemon, Look, Form], Awaitable[None]]] = {
    "confirm": _confirm,
    "approve": _approve,
    "discard": _discard,
    "respond": _respond,
    "resume": _resume,
    "cancel": _cancel,
}
# Who is at it, by session: what is asked for twice is done one after the other.
_turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


def _turn(session_id: str) -> asyncio.Lock:
    return _turns.setdefault(session_id, asyncio.Lock())


def _must_be_possible(look: Look, action: str) -> None:
    """Refuse what nobody is asked for. A contract that cannot be confirmed is told about by the method."""
    if action not in look.offers and not (action == "confirm" and look.story.state is State.CONTRACT_PROPOSED):
        raise InputError(_not_now(look, action))


def _must_be_seen(look: Look, form: Form) -> None:
    """Refuse what was decided about something else."""
    if form.get("seen") != look.seen:
        raise InputError(_STALE)


def _not_now(look: Look, action: str) -> str:
    what = {"respond": "say", "resume": "go on with"}.get(action, action)
    return f"There is nothing to {what}: the session is {look.story.state.value.replace('_', ' ')}."


async def _look(site: Site, request: web.Request) -> Look:
    try:
        return await look_at(site.daemon, request.match_info["id"])
    except InputError as error:
        raise web.HTTPNotFound(reason=" ".join(str(error).split())) from None


async def _page(
    site: Site, request: web.Request, look: Look, status: int = 200, *, problem: str = "", words: str = ""
) -> web.Response:
    change = await _change(site.daemon, look)
    return site.render(
        request,
        "session.html",
        status,
        look=look,
        change=change,
        problem=problem,
        words=words,
        columns=COLUMNS,
        **_WORDS,
    )


async def _change(daemon: Daemon, look: Look) -> Change:
    if look.story.tree is None:
        return Change()
    trees = (look.story.base, look.story.tree)
    try:
        if trees not in _drawn:
            _drawn[trees] = await read_patch(await daemon.coding.sessions.diff(look.story.id))
            if len(_drawn) > MOST_DRAWN:
                _drawn.popitem(last=False)
        return Change(_drawn[trees])
    # Its repository may be gone, and the rest of the page is worth reading all the same.
    except TrueupError as error:
        return Change(problem=str(error))


async def _changes(daemon: Daemon, look: Look, known: str, around: dict[str, Any]) -> AsyncGenerator[Fragment, None]:
    """The parts of the page that are not as a browser `known` them, then each that changes."""
    change, tree = await _change(daemon, look), look.story.tree
    shown = dict(_parts(look, change, around)) if known == look.known else {}
    while True:
        for name, html in _parts(look, change, around):
            if shown.get(name) != html:
                yield Fragment("part", html, look.known)
            shown[name] = html
        if look.story.state.is_final and look.run.ended:
            yield Fragment("end")
            return
        look = await _another_look(daemon, look)
        if look.story.tree != tree:
            change, tree = await _change(daemon, look), look.story.tree


def _parts(look: Look, change: Change, around: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in chain(*COLUMNS):
        yield name, template(f"session_{name}.html").render(look=look, change=change, **around, **_WORDS)


async def _another_look(daemon: Daemon, look: Look) -> Look:
    """The session once it is another, however little."""
    while True:
        began = time.monotonic()
        latest = await look_again(daemon, look)
        if latest.known != look.known:
            return latest
        await asyncio.sleep(max(LOOKING_SECS, (time.monotonic() - began) * SHARE_OF_TIME))


async def _target(look: Look) -> Target:
    repo = await Repository.open(Path(look.story.request.folder))
    head = await repo.head()
    return Target(head.branch, head.commit != look.story.base)
