"""Every session of a user: started, found again, gone on with, given up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trueup.contract import CheckCompleted, CheckResult
from trueup.core.errors import InputError, TrueupError
from trueup.core.protocols import Event
from trueup.core.trust import data_folder
from trueup.core.usage import Usage
from trueup.harness import capabilities_of, harness_names
from trueup.runs import CheckRecord, EventRecord, RunInfo, RunStore, Started, StoredRecord, as_record

from .._site import Site, open_site
from ._chronicle import Chronicle, Listener, Told
from ._ground import Ground, engine_of
from ._lease import Lease
from ._meter import Rivals, Spent
from ._person import Absent, Once, Person, Revise, SendBack
from ._policy import gate_of
from ._request import CodeRequest, Deliver
from ._session import Session
from ._states import FailureReason, State
from ._story import Story
from .events import SessionCreated, SessionEvent, UserInput

KIND = "session"


class SessionSummary(Struct, frozen=True, kw_only=True):
    """One line of a list of sessions. `owner` is the process that works on it now, `engine` what was asked for.

    `updated_at` and `message` are of its latest change of state.
    """

    id: str
    state: State
    reason: FailureReason | None
    message: str
    intent: str
    engine: str
    repository: str
    started_at: str
    updated_at: str
    owner: int | None
    race: str | None = None


class Unreadable(Struct, frozen=True):
    """A recorded session that cannot be told again, and why."""

    session_id: str
    why: str


class Ready(Struct, frozen=True):
    """A session that could begin: what is asked for, where, and from which commit on."""

    request: CodeRequest
    site: Site
    base: str


class _Kept(Struct, frozen=True):
    """What the first record of a session keeps."""

    request: CodeRequest
    base: str


class Silence:
    """A `Listener` for whom nothing needs to be shown."""

    async def hear(self, told: Any) -> None:
        pass


class Sessions:
    """The sessions in a store, each with a folder for what outlives its process."""

    def __init__(self, store: RunStore, folder: Path | None = None) -> None:
        self._store = store
        self._folder = folder or data_folder() / "sessions"

    async def start(self, request: CodeRequest, person: Person, listener: Listener) -> Story:
        """Begin a session, and go on until it has ended or waits for a person."""
        async with self.begun(await self.ready(request), person, listener) as session:
            return await session.run()

    async def ready(self, request: CodeRequest) -> Ready:
        """Find out that a session could begin, before anything is run or kept."""
        if not request.intent.strip():
            raise InputError('say what is to be done: trueup code "add a --version flag"')
        _must_be_text(request.intent)
        site = await open_site(Path(request.folder), sandboxed=request.sandboxed)
        base = await site.repo.resolve(request.base or "HEAD")
        await _can_be_done(request, site, base)
        return Ready(request, site, base)

    @asynccontextmanager
    async def begun(
        self,
        ready: Ready,
        person: Person,
        listener: Listener,
        *,
        session_id: str | None = None,
        rivals: Rivals | None = None,
    ) -> AsyncIterator[Session]:
        """A new session, for as long as this process works on it."""
        request, site, base = ready.request, ready.site, ready.base
        data = {"request": msgspec.to_builtins(request), "base": base}
        started = Started(intent=request.intent, agent_id=KIND, agent_name=request.engine, data=data)
        run = await self._store.start(started, run_id=session_id, kind=KIND)
        story = Story(id=run.run_id, request=request, base=base)
        async with self.lease(story.id).held():
            chronicle = Chronicle(story, self._store, listener, until=0)
            created = SessionCreated(
                repository=str(site.repo.root), base=base, engine=request.engine, race=request.race
            )
            await chronicle.record(created)
            yield Session(chronicle, site, self._folder_of(story), person, rivals)

    async def resume(self, session_id: str, person: Person, listener: Listener) -> Story:
        """Go on with a session from the last state that it was safe in."""
        async with self.opened(session_id, person, listener) as session:
            return await session.run()

    @asynccontextmanager
    async def opened(
        self, session_id: str, person: Person, listener: Listener, *, rivals: Rivals | None = None
    ) -> AsyncIterator[Session]:
        """A session that was begun before, for as long as this process works on it."""
        named, _ = await self._unfinished(session_id)
        async with self.lease(named.id).held():
            # Read again: whoever worked on it until now may have brought it further.
            story, until = await self._unfinished(named.id)
            site = await open_site(Path(story.request.folder), sandboxed=story.request.sandboxed)
            chronicle = Chronicle(story, self._store, listener, until)
            yield Session(chronicle, site, self._folder_of(story), person, rivals or _rivals_of(story))

    async def respond(self, session_id: str, words: str, person: Person, listener: Listener) -> Story | None:
        """Say something to a session. Where another process works on it, it hears it, and there is nothing to wait for."""
        story, _ = await self._unfinished(session_id)
        if self.lease(story.id).owner() is not None:
            await self.say(story.id, words)
            return None
        return await self.resume(story.id, await self.answering(story, words, person), listener)

    async def answering(self, story: Story, words: str, person: Person) -> Person:
        """Whoever answers next: with these words where the session waits, else once they are put down for the engine."""
        _must_be_text(words)
        if story.state is State.CONTRACT_PROPOSED:
            return Once(Revise(words), person)
        if story.state is State.NEEDS_APPROVAL:
            return Once(SendBack(words), person)
        await self.say(story.id, words)
        return person

    async def say(self, session_id: str, words: str) -> None:
        """Put down what a person says to the engine; whoever works on the session hears it."""
        _must_be_text(words)
        story, _ = await self._unfinished(session_id)
        await self._store.append(story.id, [as_record(UserInput(words))])

    async def abandon(self, session_id: str, why: str) -> Story:
        """Give a session up, having stopped whoever works on it."""
        story, _ = await self._unfinished(session_id)
        async with self.lease(story.id).taken_over():
            return await self._abandon(story.id, why)

    async def _abandon(self, session_id: str, why: str) -> Story:
        # Whoever worked on it may have brought it further, or to its end.
        story, until = await self._unfinished(session_id)
        chronicle = Chronicle(story, self._store, Silence(), until)
        try:
            site = await open_site(Path(story.request.folder), sandboxed=story.request.sandboxed)
        except TrueupError:
            # Its repository is gone, or no sandbox works any more: there is nothing to put away, and the session can still be ended.
            await chronicle.enter(State.ABANDONED, why)
            await chronicle.close()
            return story
        return await Session(chronicle, site, self._folder_of(story), Absent()).abandon(why)

    async def list(self) -> list[SessionSummary]:
        """Every session, newest first."""
        runs = await self._store.list(kind=KIND)
        ids = [run.run_id for run in runs]
        created = await self._store.latest(ids, "session_created")
        states = await self._store.latest(ids, "state_changed")
        return [self._summary(run, created.get(run.run_id), states.get(run.run_id)) for run in runs]

    async def story(self, session_id: str) -> Story:
        """A session as it is known."""
        return (await self._read(session_id))[0]

    async def stories(self, kinds: Collection[str], *, since: str | None = None) -> AsyncIterator[Story | Unreadable]:
        """Sessions that began since then, one at a time, told from records of these kinds alone; newest first."""
        for run in await self._store.list(kind=KIND):
            if since is None or run.started_at >= since:
                yield await self._story_or_not(run.run_id, kinds)

    async def _story_or_not(self, session_id: str, kinds: Collection[str]) -> Story | Unreadable:
        try:
            return told_again(session_id, await self._store.trace(session_id, types={"started", *kinds}))
        except InputError as error:
            return Unreadable(session_id, str(error))

    async def owner(self, session_id: str) -> int | None:
        """The process that works on a session now."""
        return self.lease((await self._store.find(session_id, kind=KIND)).run_id).owner()

    async def diff(self, session_id: str) -> bytes:
        """The latest change of a session, as a patch."""
        story = await self.story(session_id)
        if story.tree is None:
            raise InputError(f"session {story.id} has no change yet")
        site = await open_site(Path(story.request.folder), sandboxed=False)
        chronicle = Chronicle(story, self._store, Silence(), until=0)
        await Ground(site, chronicle, self._folder_of(story)).bring_back(story.tree)
        return await site.mirror.diff(story.base, story.tree)

    async def _unfinished(self, session_id: str) -> tuple[Story, int]:
        story, until = await self._read(session_id)
        if story.state.is_final:
            raise InputError(f"session {story.id} has ended: it is {story.state.value}")
        return story, until

    async def _read(self, session_id: str) -> tuple[Story, int]:
        run = await self._store.find(session_id, kind=KIND)
        records = await self._store.trace(run.run_id)
        return told_again(run.run_id, records), records[-1].seq

    def lease(self, session_id: str) -> Lease:
        """The right to work on a session, or on a race."""
        folder = self._folder / session_id
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Lease(folder)

    def _folder_of(self, story: Story) -> Path:
        return self._folder / story.id

    def _summary(self, run: RunInfo, created: StoredRecord | None, changed: StoredRecord | None) -> SessionSummary:
        state = _data(changed)
        return SessionSummary(
            id=run.run_id,
            state=State(state.get("state", State.CREATED)),
            reason=FailureReason(state["reason"]) if state.get("reason") else None,
            message=state.get("message", ""),
            intent=run.intent,
            engine=run.agent_name or "",
            repository=_data(created).get("repository", ""),
            started_at=run.started_at,
            updated_at=changed.at if changed is not None else run.started_at,
            owner=self.lease(run.run_id).owner(),
            race=_data(created).get("race"),
        )


def _must_be_text(words: str) -> None:
    """Commits, prompts and records are text: what is none is better refused before there is work to lose."""
    try:
        words.encode()
    except UnicodeEncodeError:
        raise InputError(f"{words!a} is not text in UTF-8; write it in that encoding") from None


def _data(stored: StoredRecord | None) -> dict[str, Any]:
    return stored.record.data if stored is not None and isinstance(stored.record, EventRecord) else {}


async def _can_be_done(request: CodeRequest, site: Site, base: str) -> None:
    """Fail before anything is run, where there is nobody to do the work or to commit it."""
    engine = await engine_of(request, site, base, await gate_of(site, base))
    _must_be_told(request, engine.name, site.layers.environ)
    await engine.version()
    if request.deliver in {Deliver.MERGE, Deliver.BRANCH}:
        await site.repo.identity()


def _must_be_told(request: CodeRequest, engine: str, environ: Mapping[str, str]) -> None:
    """Refuse a strict budget for an agent of which it is known that nobody will know what it uses."""
    limits, folder = request.limits, Path(request.folder)
    is_limited = limits.strict and (limits.usd is not None or limits.tokens is not None)
    if not is_limited or engine not in harness_names(environ, folder):
        return
    able = capabilities_of(engine, environ, folder)
    if not able.usage and not able.budget_while_running:
        what = f"{engine} does not tell what it uses, so that nothing could hold it to a budget"
        raise InputError(f"{what}: name another engine, or leave --strict-budget away")


def _rivals_of(story: Story) -> Rivals | None:
    """What the losers of a race used: whoever won it goes on within what they left."""
    if story.race is None:
        return None
    losers = [entry for entry in story.race.entries if entry.session_id != story.id]
    spent = Spent(Usage.total(entry.usage for entry in losers), sum(entry.turns for entry in losers))
    return lambda: spent


def told_again(session_id: str, records: list[StoredRecord]) -> Story:
    """A session, from the records of its run."""
    started = records[0].record if records else None
    try:
        kept = msgspec.convert(started.data if isinstance(started, Started) else None, _Kept)
    except msgspec.ValidationError:
        what = f"run {session_id} does not begin as a session does"
        raise InputError(f"{what}; `trueup runs verify {session_id}` tells whether it is whole") from None
    story = Story(id=session_id, request=kept.request, base=kept.base)
    for stored in records[1:]:
        event = as_event(stored)
        if event is not None:
            story.tell(event)
    return story


def told_of(session_id: str, stored: StoredRecord) -> Told | None:
    """A record of a session as it was told when it was written; None for one that was not."""
    record = stored.record
    event = as_event(stored)
    if isinstance(record, CheckRecord):
        event = CheckCompleted(msgspec.convert(record.result, CheckResult))
    return None if event is None else Told(session_id, stored.seq, stored.at, event)


def as_event(stored: StoredRecord) -> Event | None:
    """The event that a record keeps; None for one that is no event, or of a kind that this trueup does not know."""
    record = stored.record
    if not isinstance(record, EventRecord):
        return None
    try:
        return msgspec.convert({**record.data, "kind": record.type}, SessionEvent)  # type: ignore[no-any-return]
    except msgspec.ValidationError:
        return None
