"""Cells that can be run without a model, and a provider that does as it is told, for tests of runs of many cells."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from trueup.core.usage import Usage
from trueup.skills._case import Boolean, Case, Contains
from trueup.skills._cell import CellSkill, CellSpec
from trueup.skills._matrix import Patience
from trueup.skills._model import AssistantTurn, Judgement, Message, Needs, Query, RespondRequest, UserTurn

QUICK = Patience(attempts=4, first_wait_secs=0.01, most_wait_secs=1.0)


class ScriptedProvider:
    """Answers by functions. `at_once` is the most calls that it had to answer at the same time."""

    def __init__(
        self,
        respond: Callable[[RespondRequest], Awaitable[AssistantTurn]] | None = None,
        judge: Callable[[str], Awaitable[Judgement]] | None = None,
    ) -> None:
        self._respond = respond
        self._judge = judge
        self.replies = 0
        self.verdicts = 0
        self.running = 0
        self.at_once = 0

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        return dict.fromkeys(platforms, "1.0")

    def supports_resume(self, platform: str) -> bool:
        return False

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        self.replies += 1
        with _Counted(self):
            await asyncio.sleep(0)
            return await self._respond(request) if self._respond else AssistantTurn(message="Hello")

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        return UserTurn(message="go on", stop=True)

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        self.verdicts += 1
        with _Counted(self):
            await asyncio.sleep(0)
            return await self._judge(model) if self._judge else Judgement(value=True)


class _Counted:
    def __init__(self, provider: ScriptedProvider) -> None:
        self._provider = provider

    def __enter__(self) -> None:
        self._provider.running += 1
        self._provider.at_once = max(self._provider.at_once, self._provider.running)

    def __exit__(self, *_: object) -> None:
        self._provider.running -= 1


def dollars(amount: float) -> Usage:
    return Usage(input_tokens=int(amount * 1000), output_tokens=0, cost_usd=amount)


def case_named(name: str, skill: Path, *, judged: bool = False) -> Case:
    evals = (Boolean(criterion="it greets"),) if judged else (Contains(text="Hello"),)
    return Case(name=name, source=skill / f"{name}.yaml", skill=skill, input="Greet.", evals=evals)


def spec_of(
    case: str = "greets", platform: str = "p", model: str = "m", repeat: int = 1, judged: bool = False
) -> CellSpec:
    skill = CellSkill(name="greeter", path="/skills/greeter", instructions="Greet.", digest="d")
    return CellSpec(
        case=case_named(case, Path("/skills/greeter"), judged=judged),
        skill=skill,
        platform=platform,
        model=model,
        repeat=repeat,
        provider="x",
        prompts="y",
        fixtures="",
        judges=("judge",),
        platform_version="1.0",
    )
