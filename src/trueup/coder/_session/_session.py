"""The session: a state machine that goes on from whatever state it is in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from trueup.core.errors import TrueupError

from .._site import Site
from ._approval_step import ApprovalStep
from ._chronicle import Chronicle
from ._contract_step import ContractStep
from ._failures import failure_of
from ._ground import Ground
from ._meter import Rivals
from ._person import Person
from ._states import State
from ._story import Story
from ._verdict_step import VerdictStep
from ._work_step import WorkStep

Step = Callable[[], Awaitable[bool]]


class Session:
    """One session while a process works on it. Every step leaves it in a state from which another could go on."""

    def __init__(
        self, chronicle: Chronicle, site: Site, folder: Path, person: Person, rivals: Rivals | None = None
    ) -> None:
        self._chronicle = chronicle
        ground = Ground(site, chronicle, folder)
        contract = ContractStep(chronicle, ground, person)
        self._work = WorkStep(chronicle, ground, rivals)
        self._steps: dict[State, Step] = {
            State.CREATED: contract.propose,
            State.CONTRACT_PROPOSED: contract.confirm,
            State.CONTRACT_CONFIRMED: self._work.begin,
            State.RUNNING: self._work.work,
            State.VERIFYING: VerdictStep(chronicle, ground).verify,
            State.NEEDS_APPROVAL: ApprovalStep(chronicle, ground, person).approve,
        }

    @property
    def story(self) -> Story:
        """The session as it is known, kept up to date."""
        return self._chronicle.story

    async def run(self, until: State | None = None) -> Story:
        """Take step after step until the session has ended, waits for a person, or is in a certain state."""
        story = self._chronicle.story
        try:
            while not (story.state.is_final or story.state is until) and await self._steps[story.state]():
                pass
        except TrueupError as error:
            await self._chronicle.fail(failure_of(error))
        finally:
            await self._work.put_away()
        await self._chronicle.close()
        return story

    async def abandon(self, why: str) -> Story:
        """Give the session up, in whatever state it is."""
        await self._chronicle.enter(State.ABANDONED, why)
        await self._work.put_away()
        await self._chronicle.close()
        return self._chronicle.story
