"""The calls of a cell, on their way to the provider: bounded over all cells, tried again where that is harmless, and paid."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from trueup.core.errors import Kind
from trueup.core.usage import Usage

from .._cell import CellSpec
from .._model import (
    AssistantTurn,
    Judgement,
    Message,
    Needs,
    Provider,
    ProviderError,
    Query,
    RespondRequest,
    UserTurn,
)
from .._report import CellReport
from ._bounds import TOO_MUCH, Bound, Patience
from ._budget import Budget, BudgetSpentError
from ._plan import is_judged

T = TypeVar("T", AssistantTurn, UserTurn, Judgement)


class Switchboard:
    """What the calls of all cells share: how many are made at once, what each judge can take, and the budget.

    What a platform, or a judge, refuses to everybody is remembered, so that it is not paid for again: `closed` says so.
    """

    def __init__(self, provider: Provider, jobs: int, budget: Budget, patience: Patience) -> None:
        self.provider = provider
        self.budget = budget
        self.patience = patience
        self.slots = asyncio.Semaphore(jobs)
        self.judges: defaultdict[str, Bound] = defaultdict(lambda: Bound(jobs, patience))
        self._closed: dict[tuple[str, ...], ProviderError] = {}

    def closed(self, spec: CellSpec) -> ProviderError | None:
        """Why a cell cannot come to a verdict, where another found that out."""
        judged = [("judge", judge) for judge in spec.judges] if is_judged(spec.case) else []
        places = [("platform", spec.platform), ("model", spec.platform, spec.model), *judged]
        return next((self._closed[place] for place in places if place in self._closed), None)

    def close_platform(self, spec: CellSpec, error: ProviderError) -> None:
        """A platform failed in a way that other cells of it would meet too."""
        match error.kind:
            case Kind.AUTH | Kind.QUOTA:
                self._closed["platform", spec.platform] = error
            case Kind.MODEL_NOT_FOUND:
                self._closed["model", spec.platform, spec.model] = error

    def close_judge(self, model: str, error: ProviderError) -> None:
        """A judge failed in a way that every cell would meet, and only after its skill has run."""
        if error.kind in {Kind.AUTH, Kind.QUOTA, Kind.MODEL_NOT_FOUND}:
            self._closed["judge", model] = error


class CellCalls:
    """The provider as one cell sees it. `failure` is what a reply of the skill failed with.

    `refused` is there where a call was not made for want of budget. A judge, or a simulated user, is asked again where
    the failure may pass: nothing has changed by asking. A reply is not, for the agent may have worked half-way; its
    whole cell is run again, by the executor. What failed questions used is not known to the cell, and is added to its
    report.
    """

    def __init__(self, switchboard: Switchboard, spec: CellSpec) -> None:
        self._shared = switchboard
        self._spec = spec
        self.failure: ProviderError | None = None
        self.refused: BudgetSpentError | None = None
        self._lost: list[Usage] = []

    def with_lost(self, report: CellReport) -> CellReport:
        """A report of the cell that counts also what failed questions used."""
        if not self._lost:
            return report
        usage = Usage.total([*self._lost, report.usage or Usage()])
        return replace(report, usage=usage, judge_usage=Usage.total([*self._lost, report.judge_usage or Usage()]))

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        return await self._shared.provider.prepare(platforms, needs)

    def supports_resume(self, platform: str) -> bool:
        return self._shared.provider.supports_resume(platform)

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        try:
            return await self._paid(lambda: self._shared.provider.respond(request))
        except BudgetSpentError:
            raise
        except ProviderError as error:
            self.failure = error
            self._shared.close_platform(self._spec, error)
            raise

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        return await self._asked(model, lambda: self._shared.provider.simulate_user(model, persona, messages))

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        return await self._asked(model, lambda: self._shared.provider.judge(model, query, messages))

    async def _asked(self, model: str, call: Callable[[], Awaitable[T]]) -> T:
        """Ask a judge, more than once where it must be."""
        attempts = 0
        while True:
            attempts += 1
            try:
                return await self._bounded(self._shared.judges[model], call)
            except BudgetSpentError:
                raise
            except ProviderError as error:
                self._shared.close_judge(model, error)
                if not self._shared.patience.goes_again(error.kind, attempts, error.retry_after):
                    raise
                if error.usage is not None:
                    self._lost.append(error.usage)
                await asyncio.sleep(self._shared.patience.wait_secs(attempts, error.retry_after))

    async def _bounded(self, bound: Bound, call: Callable[[], Awaitable[T]]) -> T:
        await bound.wait_for_room()
        began = time.monotonic()
        try:
            answer = await self._paid(call)
            bound.succeeded(began)
            return answer
        except ProviderError as error:
            if error.kind in TOO_MUCH:
                bound.was_too_much(began, error.retry_after)
            raise
        finally:
            bound.leave()

    async def _paid(self, call: Callable[[], Awaitable[T]]) -> T:
        async with self._shared.slots:
            try:
                self._shared.budget.must_not_be_spent()
                answer = await call()
            except BudgetSpentError as error:
                self.refused = error
                raise
            except ProviderError as error:
                self._shared.budget.charge_failed(self._spec, error)
                raise
        self._shared.budget.charge(self._spec, answer.usage)
        return answer
