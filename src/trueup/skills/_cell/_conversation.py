"""The conversation of a cell: the skill replies, and where the case has a user, one is played until it is done."""

from __future__ import annotations

from pathlib import Path

from trueup.core.text import written

from .._case import User
from .._model import AssistantTurn, Message, MockCall, Query, QueryKind, RespondRequest, Role
from .._report import Arm
from ._bounds import bounded_calls, bounded_events
from ._calls import Calls
from ._mock_calls import named
from ._recording import CellRun
from ._spec import CellSpec


class Conversation:
    """What was said in a cell so far, and what was seen of the agent meanwhile. It is kept where a call fails."""

    def __init__(self, spec: CellSpec, notes: list[str]) -> None:
        self.messages = [Message(Role.USER, written(spec.case.input))]
        self.turns = 0
        self.events_told = True
        self.mock_calls: list[MockCall] | None = None
        self._spec = spec
        self._notes = notes
        self._session: str | None = None
        self._activations: list[bool | None] = []

    @property
    def activated(self) -> bool | None:
        """Whether the harness used the skill by itself; None where a turn in which it may have could not be seen."""
        if self._spec.arm is Arm.WITHOUT:
            return False
        if True in self._activations:
            return True
        return None if not self._activations or None in self._activations else False

    async def hold(self, folder: Path, calls: Calls, run: CellRun) -> None:
        """Talk until the case says that it is enough."""
        while True:
            done = await self._reply(folder, calls, run)
            user = self._spec.case.user
            if user is None or done or self.turns >= self._spec.turns_allowed:
                return
            if await self._is_done(user, calls) or await self._user_stops(user, calls):
                return

    async def _reply(self, folder: Path, calls: Calls, run: CellRun) -> bool:
        """Let the skill reply; whether it says that it is done."""
        spec, case = self._spec, self._spec.case
        watched = case.spy or bool(case.mocks)
        request = RespondRequest(
            platform=spec.platform,
            model=spec.model,
            skill=spec.skill_ref,
            messages=tuple(self.messages),
            folder=folder,
            recorder=run,
            session=self._session if calls.provider.supports_resume(spec.platform) else None,
            mocks=case.mocks if watched else None,
        )
        reply = await calls.respond(request, self.turns + 1)
        self._take(reply)
        return reply.done

    def _take(self, reply: AssistantTurn) -> None:
        self.turns += 1
        self.messages.append(Message(Role.ASSISTANT, written(reply.message), bounded_events(reply.events)))
        self.events_told &= reply.events_told or bool(reply.events)
        self._activations.append(reply.activated)
        self._session = reply.session_id or self._session
        if reply.mock_calls is not None:
            seen = named(bounded_calls(reply.mock_calls), self._spec.case.mocks)
            self.mock_calls = [*(self.mock_calls or []), *seen]
        self._notes += (note for note in reply.notes if note not in self._notes)

    async def _is_done(self, user: User, calls: Calls) -> bool:
        if user.done_when is None:
            return False
        query = Query(kind=QueryKind.BOOLEAN, criterion=user.done_when)
        verdict = await calls.judge(self._spec.judges[0], query, tuple(self.messages), op="done_when")
        return verdict.value is True

    async def _user_stops(self, user: User, calls: Calls) -> bool:
        """Let the simulated user answer; whether that was the end."""
        said = await calls.simulate_user(self._spec.judges[0], user.persona, tuple(self.messages))
        self.messages.append(Message(Role.USER, written(said.message)))
        return said.stop
