"""A provider that says what a test wrote down for it, and the cells that tests run with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueup.core.errors import Kind
from trueup.skills._case import Case, Eval
from trueup.skills._cell import CellSkill, CellSpec
from trueup.skills._model import (
    AssistantTurn,
    Judgement,
    Message,
    MockCall,
    Needs,
    ProviderError,
    Query,
    RespondRequest,
    ToolEvent,
    UserTurn,
)

Reply = str | AssistantTurn | ProviderError | Callable[[RespondRequest], Awaitable[AssistantTurn]]
Verdict = bool | float | str | Judgement | ProviderError


class ScriptedProvider:
    """Gives its lines in turn, the last of them again and again. `verdicts` are by model, criterion, or for all.

    `requests`, `users` and `judged` are what it was asked. Verdicts take `judge_secs`; `at_once` is how many of them
    were asked for at the same time.
    """

    def __init__(
        self,
        *replies: Reply,
        users: Sequence[str | UserTurn | ProviderError] = ("Go on.",),
        verdicts: Mapping[str, Sequence[Verdict]] | Verdict = True,
        resumes: bool = True,
        judge_secs: float = 0,
    ) -> None:
        self.requests: list[RespondRequest] = []
        self.users: list[tuple[str, str]] = []
        self.judged: list[tuple[str, Query, tuple[Message, ...]]] = []
        self.at_once = 0
        self._replies = replies or ("Hello!",)
        self._said = users
        self._verdicts = verdicts if isinstance(verdicts, Mapping) else {"": [verdicts]}
        self._given: dict[str, int] = {}
        self._resumes = resumes
        self._judge_secs = judge_secs
        self._judging = 0

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        return dict.fromkeys(platforms, "1.0")

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        self.requests.append(request)
        reply = self._replies[min(len(self.requests), len(self._replies)) - 1]
        if callable(reply):
            return await reply(request)
        if isinstance(reply, ProviderError):
            raise reply
        return AssistantTurn(message=reply) if isinstance(reply, str) else reply

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        self.users.append((model, persona))
        said = self._said[min(len(self.users), len(self._said)) - 1]
        if isinstance(said, ProviderError):
            raise said
        return UserTurn(message=said) if isinstance(said, str) else said

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        self.judged.append((model, query, tuple(messages)))
        verdict = self._next_verdict(model, query)
        self._judging += 1
        self.at_once = max(self.at_once, self._judging)
        await asyncio.sleep(self._judge_secs)
        self._judging -= 1
        if isinstance(verdict, ProviderError):
            raise verdict
        return verdict if isinstance(verdict, Judgement) else Judgement(value=verdict, reason="So I say.")  # type: ignore[arg-type]

    def supports_resume(self, platform: str) -> bool:
        return self._resumes

    def _next_verdict(self, model: str, query: Query) -> Verdict:
        key = next(each for each in (query.criterion, model, "") if each in self._verdicts)
        number = self._given.get(key, 0)
        self._given[key] = number + 1
        script = self._verdicts[key]
        return script[min(number, len(script) - 1)]


def cell_of(*evals: Eval, **given: Any) -> CellSpec:
    """A cell that asks for a greeting; fields of its case are given by their own names, the others are the spec's."""
    fields = {name: given.pop(name) for name in ("name", "input", "user", "mocks", "spy", "workspace") if name in given}
    case = Case(
        **{"name": "greets", "input": "Greet Ada.", **fields},
        source=Path("/project/cases/greets.yaml"),
        skill=Path("/project/skills/greeter"),
        evals=evals,
    )
    skill = CellSkill(name="greeter", path="/project/skills/greeter", instructions="Greet people.", digest="d1")
    defaults = {"skill": skill, "platform": "claude-code", "model": "sonnet", "repeat": 1, "judges": ("haiku",)}
    fingerprints = {"provider": "command", "prompts": "p1", "fixtures": "", "platform_version": "2.1"}
    return CellSpec(case=case, **{**defaults, **fingerprints, **given})


def tool_call(name: str, tool_kind: str = "other", **arguments: Any) -> ToolEvent:
    return ToolEvent(kind="tool_call", name=name, input=arguments, tool_kind=tool_kind)


def seen_call(tool: str, command: str, action: str = "allow", rule: int | None = None) -> MockCall:
    return MockCall(tool=tool, input={"command": command}, action=action, rule=rule)


def refusal(kind: Kind = Kind.RATE_LIMIT, context: str = "respond", **given: Any) -> ProviderError:
    return ProviderError(context, "too many requests; wait a minute", kind=kind, **given)
