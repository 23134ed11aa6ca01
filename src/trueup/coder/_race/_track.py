"""One race while a process runs it: its sessions side by side, within one budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trueup.contract import Contract
from trueup.core.usage import Usage

from .._session import Absent, Accept, Listener, Once, Person, Pick, Sessions, State, Story
from .._session._meter import Spent
from .._session._session import Session
from ._model import Race, Runner


class Track:
    """The sessions of a race by their ids, those that there are: as they were read, and live once they are at work."""

    def __init__(self, sessions: Sessions, race: Race, listener: Listener, stories: dict[str, Story]) -> None:
        self.stories = stories
        self.first_verified: str | None = None
        self._sessions = sessions
        self._race = race
        self._listener = listener

    async def agree(self, person: Person) -> Story:
        """The first session with a contract that is agreed to; or without, where nobody agreed yet or it cannot be."""
        session_id, runner = next(iter(self._race.entrants.items()))
        story = self.stories.get(session_id)
        if story is not None and (story.digest is not None or story.state.is_final):
            return story
        async with self._at_work(session_id, runner, None, person) as session:
            return await session.run(until=State.CONTRACT_CONFIRMED)

    async def run(self, contract: Contract) -> None:
        """Let every session go on until its change is verified or it has ended; or until the first is, if that wins."""
        if any(story.state in (State.MERGED, State.REPORTED) for story in self.stories.values()):
            return
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._run_one(session_id, runner, contract))
                    for session_id, runner in self._race.entrants.items()
                ]
                if self._race.pick is Pick.FIRST:
                    await self._until_one_is_verified(tasks)
        except BaseExceptionGroup as several:
            # What one of them meets that ends no session by itself, such as another process at work, ends the race.
            raise several.exceptions[0] from None

    async def _until_one_is_verified(self, tasks: list[asyncio.Task[Story]]) -> None:
        for done in asyncio.as_completed(tasks):
            story = await done
            if story.state is State.NEEDS_APPROVAL:
                self.first_verified = story.id
                break
        for task in tasks:
            task.cancel()

    async def _run_one(self, session_id: str, runner: Runner, contract: Contract) -> Story:
        known = self.stories.get(session_id)
        if known is not None and known.state.is_final:
            return known
        # The contract was agreed to in the first session, by whoever decides, for all of them.
        agreed = Once(Accept(f"race {self._race.id}"), Absent())
        async with self._at_work(session_id, runner, contract, agreed) as session:
            return await session.run(until=State.NEEDS_APPROVAL)

    @asynccontextmanager
    async def _at_work(
        self, session_id: str, runner: Runner, contract: Contract | None, person: Person
    ) -> AsyncIterator[Session]:
        def rivals() -> Spent:
            return self._spent_by_others(session_id)

        if session_id in self.stories:
            opening = self._sessions.opened(session_id, person, self._listener, rivals=rivals)
        else:
            ready = await self._sessions.ready(self._race.request_of(runner, contract))
            opening = self._sessions.begun(ready, person, self._listener, session_id=session_id, rivals=rivals)
        async with opening as session:
            self.stories[session_id] = session.story
            yield session

    def _spent_by_others(self, session_id: str) -> Spent:
        others = [story for each, story in self.stories.items() if each != session_id]
        return Spent(Usage.total(story.used for story in others), sum(story.calls for story in others))
