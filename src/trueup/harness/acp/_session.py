"""One turn with an ACP agent: its prompt, what it tells and asks while it works, and how it ends.

What goes wrong between the agent and us is in `failure`; what goes wrong on our side of a decision is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from acp import RequestError
from acp.meta import CLIENT_METHODS
from acp.schema import (
    AllowedOutcome,
    CancelNotification,
    DeniedOutcome,
    PromptRequest,
    PromptResponse,
    RequestPermissionResponse,
    TextContentBlock,
)

from trueup.core.errors import Kind
from trueup.core.protocols import Decision
from trueup.core.usage import Usage

from .._events import PermissionDecided, SessionNamed, UsageReported
from .._protocol import HarnessRequest
from ..agents import Failure
from ._calls import Call
from ._endings import failure_of_reason, usage_of
from ._line import Line
from ._named import AcpAgent, agent_known_as
from ._opening import Opened, introduce, open_session
from ._permissions import Permissions, option_for
from ._telling import Telling
from ._updates import Updates
from ._wire import FAILURES, UnansweredError, Wire, failure_in


class Session:
    """A session while it lasts, and what is known of it afterwards. Without a `reason` its turn never ended."""

    def __init__(
        self, request: HarnessRequest, agent: AcpAgent, permissions: Permissions, telling: Telling, answer_secs: float
    ) -> None:
        self._request = request
        self._agent = agent
        self._permissions = permissions
        self._telling = telling
        self._answer_secs = answer_secs
        self._updates = Updates(agent)
        self._wire: Wire | None = None
        self._opened: Opened | None = None
        self._folder = ""
        self._deciding = 0
        self._looks: set[asyncio.Task[None]] = set()
        self._cost_before: float | None = None
        loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = loop.create_future()
        # Done where the run has to be stopped: for its `failure`, or for what it raises.
        self.trouble: asyncio.Future[None] = loop.create_future()
        self.is_introduced = False
        self.is_deaf = False
        self.version: str | None = None
        self.failure: Failure | None = None
        self.reason: str | None = None
        self.usage = Usage(incomplete=True)
        self.denied: list[str] = []

    @property
    def id(self) -> str | None:
        return self._opened.id if self._opened else None

    @property
    def text(self) -> str:
        """The last that the agent said."""
        return self._updates.text

    @property
    def is_deciding(self) -> bool:
        """Whether the agent waits for us."""
        return self._deciding > 0

    async def talk(self, line: Line, folder: str) -> None:
        """Lead the session from its beginning to the end of its turn. The agent works in the folder."""
        self._folder = folder
        try:
            await self._prompt(await self._open(line))
        except FAILURES as error:
            self.is_deaf = isinstance(error, UnansweredError)
            self._fail(failure_in(error))
        finally:
            self._end()

    async def look(self, line: Line) -> None:
        """Only ask the agent who it is."""
        try:
            await self._introduced(line)
        except FAILURES as error:
            self._fail(failure_in(error))

    async def cancel(self) -> bool:
        """Tell the agent to stop, where it works: gives whether it was told. What it asks from now on is not allowed."""
        if self._wire is None or self._opened is None or self._over.done():
            return False
        self._end()
        await self._wire.notify("session_cancel", CancelNotification(session_id=self._opened.id))
        return True

    async def close(self) -> None:
        for look in self._looks:
            look.cancel()
        if self._wire is not None:
            await self._wire.close()

    async def _introduced(self, line: Line) -> tuple[Wire, Any]:
        wire = self._wire = Wire(self._handle, line, self._answer_secs)
        told = await introduce(wire)
        self.is_introduced = True
        if told.agent_info is not None:
            self.version = told.agent_info.version
            self._agent = self._updates.agent = agent_known_as(told.agent_info.name, self._agent)
        return wire, told

    async def _open(self, line: Line) -> tuple[Wire, Opened]:
        wire, told = await self._introduced(line)
        must_ask = self._permissions.are_needed
        opened = await open_session(wire, told, self._request, self._agent, self._folder, must_ask=must_ask)
        # What was told until here is of the session, and not of this turn.
        self._cost_before = self._updates.cost_usd
        self._updates.mode, self._updates.options = None, {}
        self._opened = opened
        self._telling.tell([SessionNamed(opened.id)])
        return wire, opened

    async def _prompt(self, ready: tuple[Wire, Opened]) -> None:
        wire, opened = ready
        text = self._request.prompt.encode(errors="replace").decode()
        prompt = PromptRequest(session_id=opened.id, prompt=[TextContentBlock(type="text", text=text)])
        try:
            told = await wire.wait_for("session_prompt", prompt, PromptResponse)
        finally:
            self._telling.tell(self._updates.pause())
        self._look_back(self._updates.left())
        # Somebody may still be thinking about what was done last.
        await asyncio.gather(*self._looks)
        self._take_end(told)

    def _take_end(self, told: PromptResponse) -> None:
        counted = told.usage.model_dump(by_alias=True) if told.usage else None
        reason, denied = told.stop_reason, bool(self.denied)
        self._fail(failure_of_reason(reason, self._updates, was_denied=denied, is_counted=counted is not None))
        self.reason = reason
        self.usage = usage_of(counted, told.field_meta, self._cost(), self._agent)
        if self.usage != Usage(incomplete=True):
            self._telling.tell([UsageReported(self.usage)])

    def _cost(self) -> float | None:
        """What this turn cost. An old session counts from its beginning, and may not tell what it had cost before."""
        if self._updates.cost_usd is None or (self._request.resume is not None and self._cost_before is None):
            return None
        return max(0.0, self._updates.cost_usd - (self._cost_before or 0.0))

    def _end(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def _fail(self, failure: Failure | None) -> None:
        """What went wrong first counts: what follows from it is no news."""
        self.failure = self.failure or failure

    def _stop_for(self, failure: Failure) -> None:
        self._fail(failure)
        if not self.trouble.done():
            self.trouble.set_result(None)

    def _break(self, error: Exception) -> None:
        if not self.trouble.done():
            self.trouble.set_exception(error)
            # Whoever waits for the run sees it; nobody may be left to.
            self.trouble.exception()

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """Take what the agent says by itself. What is not offered is not there."""
        told = params if isinstance(params, dict) else {}
        if method == CLIENT_METHODS["session_request_permission"] and not is_notification:
            return await self._answer(told)
        if not is_notification:
            raise RequestError.method_not_found(method)
        if method == CLIENT_METHODS["session_update"] and isinstance(told.get("update"), dict):
            await self._hear(told.get("sessionId"), told["update"])
        return None

    async def _hear(self, session: Any, update: Mapping[str, Any]) -> None:
        if self._opened is None:
            # An old session tells its history first, which is not of this run.
            self._updates.note(update)
            return
        if session != self._opened.id or self.reason is not None:
            return
        events, finished = self._updates.take(update)
        self._telling.tell(events)
        if self._permissions.are_needed:
            self._look_at_mode(self._opened)
            self._look_back(finished)
            await asyncio.gather(*self._looks)

    def _look_at_mode(self, opened: Opened) -> None:
        told = self._updates.options
        mode = told.get(opened.mode_option) if opened.mode_option is not None else None
        for each in (self._updates.mode, mode):
            if each is not None and each not in (self._agent.asking_modes or (opened.mode,)):
                self._stop_for(Failure(f"the agent went to mode {each!r}, in which it does not ask", Kind.REFUSED))
        for option, value in self._agent.options.items():
            if told.get(option, value) != value:
                what = f"the agent set {option} to {told[option]!r}, with which it does not ask"
                self._stop_for(Failure(what, Kind.REFUSED))

    def _look_back(self, calls: list[Call]) -> None:
        """See to it that nothing was done which is refused, or beside what was allowed."""
        for call in calls if self._permissions.are_needed else []:
            if call.has_happened and not call.is_allowed:
                look = asyncio.create_task(self._look_at(call))
                self._looks.add(look)
                look.add_done_callback(self._looks.discard)

    async def _look_at(self, call: Call) -> None:
        self._deciding += 1
        try:
            decision = await self._permissions.look_back(call, self._folder)
        except Exception as error:  # noqa: BLE001 - raised where the run is waited for
            self._break(error)
            return
        finally:
            self._deciding -= 1
        if not decision.allowed:
            self._telling.tell([PermissionDecided(call.id, call.action().tool, False, decision.reason)])
            what = "did what it was denied" if call.was_denied else "did unasked what is refused"
            self._stop_for(Failure(f"the agent {what}: {call.label}: {decision.reason}", Kind.REFUSED))

    async def _answer(self, told: Mapping[str, Any]) -> RequestPermissionResponse:
        part = told.get("toolCall")
        call = self._updates.asked(part if isinstance(part, dict) else {})
        asked = call.as_asked()
        self._telling.tell([*self._updates.pause(), *call.begun()])
        decision = await self._decided(asked)
        option = option_for(told.get("options"), allowed=decision.allowed)
        if decision.allowed and option is None:
            decision = Decision(allowed=False, reason="the agent offers no way to allow this once")
            option = option_for(told.get("options"), allowed=False)
        call.decided(asked, allowed=decision.allowed)
        self._telling.tell([PermissionDecided(call.id, asked.action().tool, decision.allowed, decision.reason)])
        if not decision.allowed:
            self.denied.append(asked.label)
        if option is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option))

    async def _decided(self, call: Call) -> Decision:
        """What is decided, unless the turn is over before."""
        if self._over.done() or self._opened is None:
            return Decision(allowed=False, reason="nothing is allowed outside of a turn")
        deciding = asyncio.create_task(self._permissions.decide(call, self._folder))
        waits: set[asyncio.Future[Any]] = {deciding, self._over}
        self._deciding += 1
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not deciding.done():
                return Decision(allowed=False, reason="the turn ended before it was decided")
            return deciding.result()
        except Exception as error:  # noqa: BLE001 - raised where the run is waited for
            self._break(error)
            return Decision(allowed=False, reason="nobody could decide")
        finally:
            self._deciding -= 1
            deciding.cancel()
