"""One provider that runs the skill, and another that judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from .._model import AssistantTurn, Judgement, Message, Needs, Provider, Query, RespondRequest, UserTurn


class SplitProvider:
    """What is under test stays with the responder; the judge plays the user and gives the verdicts."""

    def __init__(self, responder: Provider, judge: Provider) -> None:
        self._responder = responder
        self._judge = judge

    def __repr__(self) -> str:
        return f"SplitProvider({self._responder!r}, {self._judge!r})"

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        """The responder's versions; the judge is made ready too where anything is judged."""
        await self._judge.prepare((), Needs(judge=needs.judge))
        return await self._responder.prepare(platforms, msgspec.structs.replace(needs, judge=False))

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        return await self._responder.respond(request)

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        return await self._judge.simulate_user(model, persona, messages)

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        return await self._judge.judge(model, query, messages)

    def supports_resume(self, platform: str) -> bool:
        """The responder's answer: it is the one with sessions."""
        return self._responder.supports_resume(platform)
