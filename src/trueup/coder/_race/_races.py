"""Every race of a user: started, gone on with, decided, given up."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trueup.core.errors import InputError
from trueup.runs import Ended, EndStatus, RunStore, Started, as_record

from .._session import CodeRequest, Listener, Person, Pick, Sessions, Story, Told
from .._session._sessions import as_event
from .._session.events import RaceDecided, RaceEntry
from ._model import Race, Raced, Runner
from ._pick import Decision, decide, entry_of
from ._track import Track

KIND = "race"


class _Kept(Struct, frozen=True):
    """What the first record of a race keeps."""

    request: CodeRequest
    base: str
    pick: Pick
    runners: list[Runner]


class Races:
    """The races in a store, and their sessions."""

    def __init__(self, store: RunStore, sessions: Sessions) -> None:
        self.sessions = sessions
        self._store = store

    async def start(
        self, request: CodeRequest, runners: list[Runner], pick: Pick, person: Person, listener: Listener
    ) -> Raced:
        """Begin a race, and go on until its winner is delivered, or it waits for a person, or nobody gets there."""
        if request.cassette is not None:
            raise InputError("a cassette holds the calls of one engine; race without it")
        readied = [
            await self.sessions.ready(replace(request, engine=runner.engine, model=runner.model or request.model))
            for runner in runners
        ]
        kept = _Kept(request, readied[0].base, pick, runners)
        names = ", ".join(map(str, runners))
        started = Started(request.intent, agent_id=KIND, agent_name=names, data=msgspec.to_builtins(kept))
        run = await self._store.start(started, kind=KIND)
        return await self._go_on(run.run_id, person, listener)

    async def resume(self, race_id: str, person: Person, listener: Listener) -> Raced:
        """Go on with every session of a race that has not ended."""
        race = await self.race(race_id)
        if race.ended and race.winner is None:
            raise InputError(f"race {race.id} has ended; `trueup code show {race.id}` tells how")
        return await self._go_on(race.id, person, listener)

    async def abandon(self, race_id: str, why: str) -> Race:
        """Give up a race with all of its sessions, having stopped whoever runs it."""
        race = await self.race(race_id)
        if race.ended and all(story.state.is_final for story in await self.stories(race)):
            raise InputError(f"race {race.id} has ended, and so has every session of it")
        async with self.sessions.lease(race.id).taken_over():
            for story in await self.stories(race):
                await self._give_up(story, why)
            await self._end(race.id, "cancelled", why)
            return await self.race(race.id)

    async def race(self, race_id: str) -> Race:
        """A race as it is known."""
        run = await self._store.find(race_id, kind=KIND)
        started, *others = await self._store.trace(run.run_id, types={"started", "race_decided"})
        try:
            kept = msgspec.convert(started.record.data if isinstance(started.record, Started) else None, _Kept)
        except msgspec.ValidationError:
            what = f"run {run.run_id} does not begin as a race does"
            raise InputError(f"{what}; `trueup runs verify {run.run_id}` tells whether it is whole") from None
        decided = [event for event in map(as_event, others) if isinstance(event, RaceDecided)]
        return Race(
            id=run.run_id,
            request=kept.request,
            base=kept.base,
            pick=kept.pick,
            runners=kept.runners,
            decided=decided[-1] if decided else None,
            ended=run.ended,
        )

    async def stories(self, race: Race) -> list[Story]:
        """The sessions of a race, those that have begun."""
        return list((await self._stories(race)).values())

    async def _go_on(self, race_id: str, person: Person, listener: Listener) -> Raced:
        async with self.sessions.lease(race_id).held():
            # Read while nobody else can bring it further.
            race = await self.race(race_id)
            if race.decided is None:
                track = Track(self.sessions, race, listener, await self._stories(race))
                first = await track.agree(person)
                if first.contract is None or first.digest is None:
                    return await self._without_contract(race, first, listener)
                await track.run(first.contract)
                await self._decide(race, track.first_verified, listener)
                race = await self.race(race_id)
            await self._keep_to_what_was_decided(race)
            winner = await self._deliver(race, person, listener)
            return Raced(await self.race(race_id), winner)

    async def _without_contract(self, race: Race, first: Story, listener: Listener) -> Raced:
        """Wait for whoever has to agree, with nobody at work; or be over, where there will be no contract."""
        if first.state.is_final:
            nobody = Decision(None, f"there is no contract to race for: {first.message}")
            await self._put_down(race, [], nobody, listener)
            await self._end(race.id, "incomplete", nobody.why)
        return Raced(await self.race(race.id), first)

    async def _decide(self, race: Race, first_verified: str | None, listener: Listener) -> None:
        # Read again: one that was stopped may not know any more what was kept of it last.
        entries = [entry_of(story) for story in await self.stories(race)]
        await self._put_down(race, entries, decide(race.pick, entries, first_verified), listener)

    async def _put_down(self, race: Race, entries: list[RaceEntry], decision: Decision, listener: Listener) -> None:
        """Keep who won, before anybody is let go of: whoever goes on after this process keeps to it."""
        decided = RaceDecided(
            race_id=race.id, pick=race.pick, winner=decision.winner, why=decision.why, entries=entries
        )
        appended = await self._store.append(race.id, [as_record(decided)])
        if appended.first_seq is None or appended.at is None:
            raise InputError(f"race {race.id} has ended meanwhile")
        await listener.hear(Told(race.id, appended.first_seq, appended.at, decided))

    async def _keep_to_what_was_decided(self, race: Race) -> None:
        """Tell the winner, and end every other session. Where nothing decided between the verified, a person still can."""
        decided = race.decided
        if decided is None:
            raise InputError(f"race {race.id} is not decided")
        for story in await self.stories(race) if decided.winner is not None else []:
            if story.id != decided.winner:
                await self._give_up(story, f"lost race {race.id} to {decided.winner}: {decided.why}")
            elif story.race is None and not story.state.is_final:
                await self._store.append(story.id, [as_record(decided)])
        await self._end(race.id, "completed" if decided.winner else "incomplete", decided.why)

    async def _deliver(self, race: Race, person: Person, listener: Listener) -> Story | None:
        if race.winner is None:
            return None
        winner = await self.sessions.story(race.winner)
        return winner if winner.state.is_final else await self.sessions.resume(winner.id, person, listener)

    async def _give_up(self, story: Story, why: str) -> None:
        if not story.state.is_final:
            await self.sessions.abandon(story.id, why)

    async def _end(self, race_id: str, status: EndStatus, why: str) -> None:
        info = await self._store.get(race_id)
        if info is not None and not info.ended:
            await self._store.end(race_id, Ended(status, summary=why))

    async def _stories(self, race: Race) -> dict[str, Story]:
        begun = [each for each in race.session_ids if await self._store.get(each) is not None]
        return {session_id: await self.sessions.story(session_id) for session_id in begun}
