"""Coder sessions as they go on: the events of one, and the list of all."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from trueup.coder import State, event_data, told_of
from trueup.core.text import writable
from trueup.runs import StoredRecord

from .._method import Call, method
from .._subscriptions import TOO_SLOW, Feed, Notice
from ..coding import SessionRow
from ._coder import Nothing, OneSession


class SubscribeToSession(Struct, frozen=True):
    """A session, and the number of the event to begin with."""

    session_id: str
    from_seq: Annotated[int, Meta(ge=0)] = 0


class SubscribedToSession(Struct, frozen=True):
    """How a session stands. So many of its records were there already; their events come first."""

    session_id: str
    state: State
    events_replayed: int
    live: bool
    replay_available: bool


class Ended(Struct, frozen=True):
    """Whether there was something to end."""

    unsubscribed: bool


class Watch(Struct, frozen=True):
    """With `renew`, only whether this connection still watches is told."""

    renew: bool = False


class Watching(Struct, frozen=True):
    """Every session as it is now; from here on each that changes is told of."""

    sessions: list[SessionRow] | UnsetType = UNSET
    was_registered: bool | UnsetType = UNSET


@method("coder.subscribe", aside=True)
async def subscribe(call: Call, params: SubscribeToSession) -> SubscribedToSession:
    """Follow a session: its events from the beginning or a number on, then every further one, once and in order.

    They come as `coder.event`, the same objects that `trueup code --json` prints. A subscriber that does not keep up gets
    `coder.event_dropped` with the number to go on from.
    """
    connection, sessions = call.connection, call.daemon.coding.sessions
    story = await sessions.story(params.session_id)
    run = await call.daemon.store.find(story.id)
    call.afterwards = connection.subscriptions.promise(_key(story.id), session_feed(story.id, params.from_seq))
    return SubscribedToSession(
        session_id=story.id,
        state=story.state,
        events_replayed=max(0, run.record_count - params.from_seq),
        live=not story.state.is_final,
        replay_available=True,
    )


@method("coder.unsubscribe")
async def unsubscribe(call: Call, params: OneSession) -> Ended:
    """Stop following a session."""
    run = await call.daemon.store.find(params.session_id)
    return Ended(call.connection.subscriptions.end(_key(run.run_id)))


@method("coder.watch", aside=True)
async def watch(call: Call, params: Watch) -> Watching:
    """List every session, and be told of each that changes from now on, as `coder.session_changed`."""
    watchers, connection = call.daemon.coding.watchers, call.connection
    if params.renew:
        return Watching(was_registered=connection in watchers)

    async def tell(row: SessionRow) -> None:
        await connection.notify("coder.session_changed", {"session": row})

    return Watching(sessions=await watchers.add(connection, tell))


@method("coder.unwatch")
async def unwatch(call: Call, params: Nothing) -> Ended:
    """Be told of sessions no more."""
    return Ended(call.daemon.coding.watchers.remove(call.connection))


def session_feed(session_id: str, from_seq: int) -> Feed:
    """A session as `coder.subscribe` gives it. Numbers are those of its records, some of which are no events."""

    def event(stored: StoredRecord) -> Notice | None:
        told = told_of(session_id, stored)
        return None if told is None else ("coder.event", writable(event_data(told)))

    def dropped(cursor: int) -> Notice:
        return "coder.event_dropped", {"session_id": session_id, "from_seq": cursor, "reason": TOO_SLOW}

    return Feed(session_id, from_seq, event, dropped)


def _key(session_id: str) -> str:
    return f"coder {session_id}"
