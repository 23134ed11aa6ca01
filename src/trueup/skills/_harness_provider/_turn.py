"""One reply of an agent: what it is asked, how the skill and the mocks reach it, and what is made of its answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace

from trueup.core.errors import InputError, Kind
from trueup.core.protocols import Launcher
from trueup.core.usage import Usage
from trueup.harness import HarnessRequest, HarnessResult, Mode, Permission, Status, SystemPrompt

from .._case import HarnessProviderConfig
from .._mocks import MockAction
from .._model import AssistantTurn, Delivery, Needs, ProviderError, RespondRequest, Role
from ._activation import is_activated
from ._gate import MockGate, acts
from ._install import install, refuse_others
from ._platform import Platform, failure, lacking
from ._witness import Witness


class Turn:
    """The next turn of a cell on a platform. `used` counts the stubs that answered in the cell before."""

    def __init__(
        self, asked: RespondRequest, platform: Platform, config: HarnessProviderConfig, used: Counter[int]
    ) -> None:
        self._asked = asked
        self._platform = platform
        self._config = config
        mocks = asked.mocks or ()
        self._gate = MockGate(mocks, used) if acts(mocks) else None
        self._witness = Witness(asked.recorder, self._gate)
        self._spent: list[Usage] = []
        self._notes: list[str] = []

    async def take(self, launcher: Launcher, env: Mapping[str, str]) -> AssistantTurn:
        """Have the agent reply; a `ProviderError` where it does not, an `InputError` where it cannot be asked this."""
        self._refuse_impossible()
        if self._is_installed and self._is_first:
            await asyncio.to_thread(self._install, env.get("HOME"))
        result = await self._run(launcher, env)
        spent = Usage.total(self._spent)
        if result.status is not Status.OK:
            raise failure(self._platform.context, result, spent)
        return self._turn(result, spent)

    def _turn(self, result: HarnessResult, spent: Usage) -> AssistantTurn:
        asked, able, witness = self._asked, self._platform.capabilities, self._witness
        escaped = witness.escaped(asked.mocks or ())
        message = result.text.strip()
        if escaped is not None or not message:
            why = escaped or f"{result.harness} ended its turn and said nothing"
            raise ProviderError(self._platform.context, why, kind=Kind.PROTOCOL, usage=spent)
        seen = asked.skill if self._is_installed and able.tool_events else None
        return AssistantTurn(
            message=message,
            usage=spent,
            session_id=result.session_id if able.resume else None,
            events=witness.events,
            events_told=able.tool_events,
            mock_calls=None if asked.mocks is None else witness.calls,
            activated=None if seen is None else is_activated(seen, witness.events),
            notes=(*self._notes, *self._notes_on_mocks()),
        )

    def _notes_on_mocks(self) -> list[str]:
        if self._gate is None:
            return []
        is_denied = any(call.action == MockAction.DENY for call in self._witness.calls)
        if is_denied and self._platform.capabilities.permission is not Permission.STDIO:
            # Its protocol has a yes and a no, and no place for a reason.
            return [
                *self._gate.notes,
                f"{self._platform.name}: the message of a mock's `deny` is not told to the model",
            ]
        return self._gate.notes

    @property
    def _is_installed(self) -> bool:
        return Delivery(self._config.delivery) is Delivery.INSTALL

    @property
    def _is_first(self) -> bool:
        return all(message.role is not Role.ASSISTANT for message in self._asked.messages)

    def _refuse_impossible(self) -> None:
        """What a case asks for that was not told of before anything began."""
        mocks = self._asked.mocks
        actions = {action for mock in mocks or () for action in mock.actions}
        needs = Needs(mocks=mocks is not None, mock_actions=tuple(sorted(actions)))
        problems = list(lacking(self._platform, self._config, needs))
        if problems:
            raise InputError("; ".join(problems))

    def _install(self, home: str | None) -> None:
        place, folder = self._platform.capabilities.skills or "", self._asked.folder
        refuse_others(folder, place, home)
        if self._asked.skill is not None:
            install(self._asked.skill, folder / place)

    async def _run(self, launcher: Launcher, env: Mapping[str, str]) -> HarnessResult:
        request = replace(self._request(self._asked.session), env=env)
        result = await self._run_once(request, launcher)
        if result.failure_kind is Kind.SESSION_NOT_FOUND and request.resume is not None:
            self._note("its session was gone, so that the whole conversation was told anew")
            result = await self._run_once(replace(self._request(None), env=env), launcher)
        return result

    async def _run_once(self, request: HarnessRequest, launcher: Launcher) -> HarnessResult:
        harness = self._platform.harness
        try:
            result = await harness.run(request, launcher, self._witness, self._gate)
        except InputError as error:
            if error.kind is not Kind.INPUT_TOO_LARGE or request.system is None:
                raise
            # It takes a system prompt as a word of its command line only, and nothing was begun yet.
            result = await harness.run(self._without_system(request), launcher, self._witness, self._gate)
        self._spent.append(result.usage)
        return result

    def _request(self, session: str | None) -> HarnessRequest:
        asked, able = self._asked, self._platform.capabilities
        resume = session if able.resume else None
        request = HarnessRequest(
            prompt=self._prompt(resume),
            cwd=str(asked.folder),
            model=asked.model or None,
            mode=Mode(self._config.mode),
            resume=resume,
            timeout_secs=self._config.timeout_secs,
            skills=self._offered,
        )
        if asked.skill is None or self._is_installed:
            return request
        request = replace(request, system=asked.skill.instructions)
        if able.system_prompt is SystemPrompt.NONE:
            return self._without_system(request)
        if able.system_prompt is SystemPrompt.REPLACES:
            self._note("the skill stands in the place of its own system prompt")
        return request

    def _prompt(self, resume: str | None) -> str:
        from .._providers import latest_user_message, respond_prompt

        messages = self._asked.messages
        # A skill that is to be found is found by what a user says, and not by what is said about a user.
        is_plain = self._is_installed and len(messages) == 1 and messages[0].role is Role.USER
        return latest_user_message(messages) if is_plain or resume is not None else respond_prompt(messages)

    @property
    def _offered(self) -> tuple[str, ...] | None:
        if not self._is_installed:
            # Else one that the user has of the same name would help the arm without it.
            return () if self._platform.capabilities.user_skills else None
        return () if self._asked.skill is None else (self._asked.skill.name,)

    def _without_system(self, request: HarnessRequest) -> HarnessRequest:
        """The skill before the prompt; a session that goes on has it from its beginning."""
        self._note("it was given the skill before the prompt, and not as a system prompt")
        if request.resume is not None:
            return replace(request, system=None)
        return replace(request, system=None, prompt=f"{request.system}\n\n{request.prompt}")

    def _note(self, what: str) -> None:
        self._notes.append(f"{self._platform.name}: {what}")
