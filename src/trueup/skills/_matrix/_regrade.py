"""A report judged anew: the conversations stay as they were held, and only the evals are looked at again."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from msgspec.structs import replace

from trueup import __version__
from trueup.core.errors import InputError
from trueup.runs import RunStore

from .._case import Case, Config
from .._cell import CellSpec, can_regrade, fixtures_digest, regrade_cell
from .._model import Provider
from .._providers import PROMPTS_FINGERPRINT
from .._report import About, CellReport, Report, build_report
from .._skill import Skill
from ._bounds import Patience
from ._budget import Budget, Limits
from ._calls import CellCalls, Switchboard
from ._executor import Attempt, LocalExecutor
from ._plan import cell_skill, delivery_of, provider_fingerprint, skills_of
from ._run import Watcher, now_text


async def regrade(
    report: Report,
    cases: Sequence[Case],
    config: Config,
    provider: Provider,
    *,
    jobs: int,
    runs: RunStore | None = None,
    owner: str | None = None,
    watcher: Watcher | None = None,
) -> Report:
    """Have every cell of a report judged by the cases and the judges of now. What a cell's replies cost stays told."""
    by_name = {case.name: case for case in cases}
    again = {number: cell for number, cell in enumerate(report.runs) if cell.case in by_name and can_regrade(cell)}
    if not again:
        raise InputError("nothing can be judged again: no cell of the report that was judged is of one of these cases")
    specs = await asyncio.to_thread(_specs, list(again.values()), by_name, config, report)
    numbers = dict(zip(map(id, specs), again, strict=True))
    calls = Switchboard(provider, jobs, Budget(Limits()), Patience())

    async def judge(spec: CellSpec) -> Attempt:
        cell = report.runs[numbers[id(spec)]]
        asking = CellCalls(calls, spec)
        graded = asking.with_lost(await regrade_cell(spec, cell, asking, runs=runs, owner=owner))
        return Attempt(report=replace(graded, key=_key(spec, cell, report)))

    cells = list(report.runs)
    started = now_text()
    async with aclosing(LocalExecutor(jobs).run(_each(specs), judge)) as ended:
        async for spec, graded in ended:
            cells[numbers[id(spec)]] = graded
            if watcher is not None:
                await watcher.ended(graded)
    left = len(cells) - len(again)
    return await asyncio.to_thread(
        build_report,
        cells,
        replace(_about(report, config), started_at=started, ended_at=now_text()),
        partial=report.partial,
        notes=[*report.notes, *([f"{left} cells are as they were: they could not be judged again"] if left else [])],
    )


async def _each(specs: Sequence[CellSpec]) -> AsyncIterator[CellSpec]:
    for spec in specs:
        yield spec


def _specs(cells: Sequence[CellReport], cases: Mapping[str, Case], config: Config, report: Report) -> list[CellSpec]:
    wanted = {cell.case: cases[cell.case] for cell in cells}
    skills = skills_of(wanted.values())
    fixtures = {name: fixtures_digest(case) for name, case in wanted.items()}
    return [_spec(cell, wanted[cell.case], skills, fixtures[cell.case], config, report) for cell in cells]


def _spec(
    cell: CellReport, case: Case, skills: Mapping[Path, Skill], fixtures: str, config: Config, report: Report
) -> CellSpec:
    return CellSpec(
        case=case,
        skill=cell_skill(skills[case.skill]),
        platform=cell.platform,
        model=cell.model,
        repeat=cell.repeat,
        arm=cell.arm,
        provider=provider_fingerprint(config),
        prompts=PROMPTS_FINGERPRINT,
        fixtures=fixtures,
        platform_version=report.about.versions.get(cell.platform),
        judges=config.judge_models,
        votes=config.votes,
        max_turns=config.max_turns,
        delivery=delivery_of(config),
    )


def _key(spec: CellSpec, cell: CellReport, report: Report) -> str:
    """The key of now, if only the judge is another; else one of its own: the conversation was held about something else."""
    about = report.about
    before = replace(spec, judges=tuple(about.judge_models), votes=about.votes, prompts=about.prompts)
    if before.key == cell.key:
        return spec.key
    return hashlib.sha256(f"{cell.key} judged as {spec.key}".encode()).hexdigest()


def _about(report: Report, config: Config) -> About:
    return replace(
        report.about,
        trueup=__version__,
        judge_models=list(config.judge_models),
        votes=config.votes,
        prompts=PROMPTS_FINGERPRINT,
    )
