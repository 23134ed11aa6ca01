"""All cells of a request: run by an executor, kept as they end, and counted, also where that is cut short."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from trueup import __version__
from trueup.core.errors import InfrastructureError
from trueup.runs import RunStore

from .._case import Case, Config, notes
from .._cell import CellSpec, run_cell
from .._model import Provider
from .._providers import PROMPTS_FINGERPRINT
from .._report import JUDGED, About, Arm, CellError, CellReport, CellStatus, Report, Transcript, build_report
from ._bounds import Patience
from ._budget import Budget, Limits
from ._cache import CellCache, as_cell_of
from ._calls import CellCalls, Switchboard
from ._executor import Attempt, Executor, LocalExecutor
from ._plan import Place, Plan, is_unchanged, make_plan
from ._resume import StoredBaseline

MOST_TOLD = 5


class MatrixRequest(Struct, frozen=True, kw_only=True):
    """What is to be run. `earlier` are cells of before: one that came to a verdict is shown instead of being run again.

    `baseline` runs every case without the skill too. A `stored_baseline` is shown in its place; what is not in it is
    run where `baseline` is asked for as well, and else left out and told.
    """

    cases: tuple[Case, ...]
    config: Config
    paths: tuple[str, ...] = ()
    jobs: int = 4
    repeat: int = 1
    fail_fast: bool = False
    limits: Limits = Limits()
    baseline: bool = False
    stored_baseline: StoredBaseline | None = None
    earlier: tuple[CellReport, ...] = ()
    patience: Patience = Patience()

    @property
    def arms(self) -> tuple[Arm, ...]:
        wanted = self.baseline or self.stored_baseline is not None
        return (Arm.WITH, Arm.WITHOUT) if wanted else (Arm.WITH,)


class Watcher(Protocol):
    """Is told how a run goes."""

    async def planned(self, plan: Plan) -> None: ...

    async def began(self, spec: CellSpec) -> None: ...

    async def ended(self, report: CellReport) -> None: ...


async def run_matrix(
    request: MatrixRequest,
    provider: Provider,
    *,
    runs: RunStore | None = None,
    owner: str | None = None,
    cache: CellCache | None = None,
    executor: Executor | None = None,
    watcher: Watcher | None = None,
) -> Report:
    """Run every cell of a request and count what they came to."""
    matrix = Matrix(request, provider, runs=runs, owner=owner, cache=cache, executor=executor, watcher=watcher)
    return await matrix.run()


class Matrix:
    """A run of skill tests. Whoever cancels `run` can still have the `report` of what had ended by then."""

    def __init__(
        self,
        request: MatrixRequest,
        provider: Provider,
        *,
        runs: RunStore | None = None,
        owner: str | None = None,
        cache: CellCache | None = None,
        executor: Executor | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self._request = request
        self._provider = provider
        self._runs = runs
        self._owner = owner
        self._cache = cache
        # A few more cells than calls, so that no call waits while the workspace of another cell is made or removed.
        self._executor = executor or LocalExecutor(request.jobs + request.jobs // 4, request.patience)
        self._watcher = watcher
        self._budget = Budget(request.limits)
        self._calls = Switchboard(provider, request.jobs, self._budget, request.patience)
        self._verdicts = {each.key: each for each in request.earlier if each.status in JUDGED}
        self._plan: Plan | None = None
        self._reports: dict[Place, CellReport] = {}
        self._under_way: dict[int, Place] = {}
        self._left_out: set[Place] = set()
        self._changed: dict[str, None] = {}
        self._failure: str | None = None
        self._started_at = now_text()

    async def run(self) -> Report:
        """Run the cells until all have ended, one has failed that must not, or the budget is spent."""
        request = self._request
        self._plan = await make_plan(
            request.cases, request.config, self._provider, arms=request.arms, repeat=request.repeat
        )
        if self._watcher is not None:
            await self._watcher.planned(self._plan)
        async with (
            aclosing(self._to_run(self._plan)) as specs,
            aclosing(self._executor.run(specs, self._attempt)) as ended,
        ):
            async for spec, report in ended:
                self._budget.settle(spec, judged=report.status in JUDGED)
                await self._keep(spec, report)
                await self._finish(self._under_way.pop(id(spec)), report)
                if self._failure is not None:
                    break
        # Intervals are drawn again and again, which takes its time with many cells.
        return await asyncio.to_thread(self.report)

    def report(self, *, interrupted: bool = False) -> Report:
        """What has ended until now; the rest is skipped."""
        if self._plan is None:
            raise InfrastructureError("nothing was run yet, so there is nothing to report")
        plan = self._plan
        why = "interrupted" if interrupted else self._failure or self._budget.refusal or "not begun"
        every = sorted(place for place in plan.places() if place not in self._left_out)
        skipped = {place: _skipped(plan.spec(place), why) for place in every if place not in self._reports}
        return build_report(
            [self._reports[place] if place in self._reports else skipped[place] for place in every],
            self._about(plan),
            partial=bool(skipped) or any(each.status is CellStatus.SKIPPED for each in self._reports.values()),
            notes=[*([f"{len(skipped)} cells were not run: {why}"] if skipped else []), *self._notes(plan)],
        )

    async def _to_run(self, plan: Plan) -> AsyncGenerator[CellSpec, None]:
        """The cells that nobody has an answer to, while they may be run."""
        for place in plan.places():
            spec = plan.spec(place)
            known = await self._known(spec)
            if known is not None:
                await self._finish(place, as_cell_of(spec, known))
            elif spec.arm is Arm.WITHOUT and not self._request.baseline:
                self._left_out.add(place)
            elif await self._budget.admits(spec):
                self._under_way[id(spec)] = place
                yield spec
            if self._failure is not None or self._budget.refusal is not None:
                return

    async def _attempt(self, spec: CellSpec) -> Attempt:
        """One go at a cell, by this process."""
        closed = self._calls.closed(spec)
        if closed is not None:
            told = f"not tried, since another cell showed that it cannot work: {closed}"
            return Attempt(report=_errored(spec, CellError(kind=closed.kind, message=told, context=closed.context)))
        if self._watcher is not None:
            await self._watcher.began(spec)
        calls = CellCalls(self._calls, spec)
        report = calls.with_lost(await run_cell(spec, calls, runs=self._runs, owner=self._owner))
        if calls.refused is not None:
            note = f"ended half-way, since {calls.refused}"
            report = replace(report, status=CellStatus.SKIPPED, passed=False, error=None, notes=[*report.notes, note])
        failed = calls.failure if report.status is CellStatus.ERROR else None
        if failed is None:
            return Attempt(report=report)
        return Attempt(report=report, failure=failed.kind, retry_after=failed.retry_after)

    async def _known(self, spec: CellSpec) -> CellReport | None:
        """A cell of before that decides about this one."""
        stored = self._request.stored_baseline if spec.arm is Arm.WITHOUT else None
        may_be_cached = self._cache is not None and spec.platform_version is not None
        if not (stored or self._verdicts or may_be_cached):
            return None
        key = spec.key
        found = stored.find(spec, key) if stored else None
        found = found or self._verdicts.get(key)
        return found or (await self._cache.get(key) if self._cache and may_be_cached else None)

    async def _keep(self, spec: CellSpec, report: CellReport) -> None:
        # Without a version a platform could have become another by the time the cell is looked for.
        if self._cache is None or spec.platform_version is None:
            return
        # Somebody edits the skill meanwhile, or an agent does: later cells see another one than their key says.
        if await asyncio.to_thread(is_unchanged, spec):
            await self._cache.put(report)
        else:
            self._changed[spec.case.name] = None

    async def _finish(self, place: Place, report: CellReport) -> None:
        self._reports[place] = report
        if self._watcher is not None:
            await self._watcher.ended(report)
        # That a case fails without the skill is what it is there to show.
        is_bad = report.status is CellStatus.ERROR or (report.status is CellStatus.FAILED and report.arm is Arm.WITH)
        if is_bad and self._request.fail_fast and self._failure is None:
            self._failure = f"{report.case} on {report.platform} {report.model}".rstrip() + f" {_ended_as(report)}"

    def _about(self, plan: Plan) -> About:
        return About(
            trueup=__version__,
            provider=str(plan.config.provider.__struct_config__.tag),
            judge_models=list(plan.config.judge_models),
            prompts=PROMPTS_FINGERPRINT,
            versions=plan.versions,
            votes=plan.config.votes,
            started_at=self._started_at,
            ended_at=now_text(),
            paths=list(self._request.paths),
        )

    def _notes(self, plan: Plan) -> Iterator[str]:
        yield from self._budget.notes()
        yield from notes(plan.config)
        missing = self._request.stored_baseline.missing if self._request.stored_baseline else []
        if missing:
            run = "was run now" if self._request.baseline else "is left out; --baseline runs it"
            yield f"{len(missing)} cells are not in the stored baseline, and what is missing {run}: {_few(missing)}"
        if self._changed:
            yield f"not cached, since the skill or fixtures changed while the tests ran: {_few(list(self._changed))}"
        if self._cache is not None and None in plan.versions.values():
            unknown = ", ".join(name for name, version in plan.versions.items() if version is None)
            yield f"not cached, since the version is not known: {unknown}"
        yield from (str(warning) for skill in plan.skills.values() for warning in skill.warnings)


def _errored(spec: CellSpec, error: CellError) -> CellReport:
    return _without_verdict(spec, CellStatus.ERROR, error, [])


def _skipped(spec: CellSpec, why: str) -> CellReport:
    return _without_verdict(spec, CellStatus.SKIPPED, None, [why])


def _without_verdict(spec: CellSpec, status: CellStatus, error: CellError | None, notes: list[str]) -> CellReport:
    return CellReport(
        case=spec.case.name,
        skill=spec.skill.path,
        platform=spec.platform,
        model=spec.model,
        passed=False,
        turns=0,
        evals=[],
        transcript=Transcript(),
        status=status,
        repeat=spec.repeat,
        arm=spec.arm,
        key=spec.key,
        error=error,
        attempts=0,
        notes=notes,
    )


def _ended_as(report: CellReport) -> str:
    return "failed" if report.error is None else f"could not be judged ({report.error.kind})"


def _few(names: list[str]) -> str:
    more = f"; and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else ""
    return "; ".join(names[:MOST_TOLD]) + more


def now_text() -> str:
    """This moment, as reports have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
