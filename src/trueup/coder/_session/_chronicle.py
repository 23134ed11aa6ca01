"""What happens in a session, written down: on disk first, then known here, then told to whoever watches."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.protocols import Event
from trueup.runs import Ended, EndStatus, EventRecord, Record, RunStore, as_record

from ._failures import Failure
from ._states import State
from ._story import Story
from .events import StateChanged, UserInput

_STATUS: dict[State, EndStatus] = {State.MERGED: "completed", State.REPORTED: "completed", State.ABANDONED: "cancelled"}


class Told(Struct, frozen=True):
    """An event of a session, with its place in it and its time."""

    session_id: str
    seq: int
    at: str
    event: Event


def event_data(told: Told) -> dict[str, Any]:
    """An event as programs get it."""
    fields: dict[str, Any] = msgspec.to_builtins(told.event)
    place = {"session_id": told.session_id, "seq": told.seq, "ts": told.at, "type": fields.pop("kind")}
    # A harness has sessions of its own.
    return place | {f"event_{name}" if name in place else name: value for name, value in fields.items()}


class Listener(Protocol):
    """Watches a session."""

    async def hear(self, told: Told) -> None: ...


class Chronicle:
    """A `Recorder` of one session, which keeps its story up to date. `until` is the last record that it knows of."""

    def __init__(self, story: Story, store: RunStore, listener: Listener, until: int) -> None:
        self.story = story
        self._store = store
        self._listener = listener
        self._heard_until = until

    async def record(self, event: Event) -> None:
        """Let something have happened."""
        await self._tell(await self._append(as_record(event)), event)

    async def keep(self, record: Record) -> None:
        """Keep a record that is no event of the session."""
        await self._append(record)

    async def enter(self, state: State, message: str = "") -> bool:
        """Be in another state."""
        previous = self.story.state
        if not previous.may_become(state):
            raise InputError(f"session {self.story.id} is {previous.value} and cannot become {state.value}")
        await self.record(StateChanged(state=state, previous=previous, message=message))
        return not state.is_final

    async def fail(self, failure: Failure) -> bool:
        """Be over, without success."""
        changed = StateChanged(
            state=State.FAILED,
            previous=self.story.state,
            reason=failure.reason,
            message=failure.message,
            by_engine=failure.by_engine,
        )
        await self.record(changed)
        return False

    async def say(self, words: str) -> None:
        """Put down a person's words; `hear` takes them in, in the order in which they were said."""
        await self._append(as_record(UserInput(words)))
        await self.hear()

    async def hear(self) -> None:
        """Take in what a person said meanwhile, from whichever process they did."""
        for stored in await self._store.trace(self.story.id, after=self._heard_until, types={"user_input"}):
            self._heard_until = stored.seq
            if isinstance(stored.record, EventRecord):
                await self._tell((stored.seq, stored.at), UserInput(stored.record.data["text"]))

    async def close(self) -> None:
        """End the run of a session that has ended."""
        story = self.story
        info = await self._store.get(story.id)
        if story.state.is_final and info is not None and not info.ended:
            ended = Ended(
                status=_STATUS.get(story.state, "incomplete"),
                summary=story.message,
                outcome={"state": story.state.value, "reason": story.reason},
            )
            await self._store.end(story.id, ended)

    async def _append(self, record: Record) -> tuple[int, str]:
        appended = await self._store.append(self.story.id, [record])
        if appended.first_seq is None or appended.at is None:
            raise InputError(f"session {self.story.id} has ended meanwhile, and nothing more can happen in it")
        return appended.first_seq, appended.at

    async def _tell(self, place: tuple[int, str], event: Event) -> None:
        self.story.tell(event)
        await self._listener.hear(Told(self.story.id, *place, event))
