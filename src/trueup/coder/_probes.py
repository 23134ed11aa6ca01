"""Whether green means anything: experiments on a change whose checks are green."""

from __future__ import annotations

import asyncio
import secrets

from trueup.contract import Baseline, Check, CheckResult, Mutant, canary_for, files_to_mutate, mutate
from trueup.core.errors import InputError
from trueup.workspace import FileChange

from ._protected import REGULAR_FILE, Protected
from ._reasons import canary_finding, deaf_finding, selective_finding, uncollected_finding
from ._stage import Stage
from ._trial import Trial
from ._verdict import Finding, Severity

PATHS_NAMED = 5


class Probes:
    """Experiments on one stage."""

    def __init__(self, stage: Stage, protected: Protected, baseline: Baseline, judged: list[Check]) -> None:
        self._stage = stage
        self._protected = protected
        self._baseline = baseline
        self._judged = judged

    async def would_it_go_red(self, tree: str, changes: list[FileChange], touched: list[str]) -> list[Finding]:
        """The change's protected files with the base's sources must leave a goal red, or they prove nothing.

        Where a person made such files editable, what they do to the goals is told and decides nothing.
        """
        if not self._baseline.goals:
            return []
        if touched and await self._goals_are_green(tree, touched):
            what = (
                f"with {_listed(touched)} as the change has it, every goal is green on the base's own sources: "
                "what was asked for was edited, and not what was to be done "
                "(if that is the task, name it in the contract's `editable`)"
            )
            return [Finding(severity=Severity.GATE, kind="goes_green_without_the_change", message=what)]
        lifted = [
            change.path for change in changes if change.path not in touched and self._protected.is_lifted(change.path)
        ]
        if lifted and await self._goals_are_green(tree, [*touched, *lifted]):
            what = f"the goals are green by {', '.join(lifted)} alone, which the contract makes editable"
            return [Finding(severity=Severity.INFO, kind="goes_green_without_the_change", message=what)]
        return []

    async def _goals_are_green(self, tree: str, paths: list[str]) -> bool:
        """Whether a change's version of these paths is all that its goals ask for."""
        stage = self._stage
        await stage.say("could it have gone red? the change's tests and configuration on the base's sources")
        nothing_else = await stage.mirror.restored(stage.base_tree, tree, paths)
        goals = [stage.check(goal.name) for goal in self._baseline.goals]
        try:
            dependencies = await stage.set_up(nothing_else)
        except InputError:
            # Without the rest of the change nothing can even be installed.
            return False
        async with stage.pristine(nothing_else, dependencies) as checkout:
            results = await stage.run(goals, checkout)
        return all(result.passed for result in results)

    async def do_they_listen(self, tree: str, trial: Trial) -> list[Finding]:
        """Checks that are green must turn red by a failing test, and goals by other expectations."""
        deaf, listening = await self._deafness(tree, trial)
        return [*deaf, *await self._canary(tree, trial, listening)]

    async def _canary(self, tree: str, trial: Trial, listening: set[str]) -> list[Finding]:
        """A failing test that is put in must turn its check red, or the check does not listen."""
        stage = self._stage
        paths = list(await stage.layers.entries(tree))
        found = {check.name: canary_for(check, paths, stage.read_base, secrets.token_hex(8)) for check in self._judged}
        canaries = {name: canary for name, canary in found.items() if canary is not None}
        if not canaries:
            return []
        await stage.say("does it report failures? a failing test is put in")
        files = {canary.path: (REGULAR_FILE, canary.content.encode()) for canary in canaries.values()}
        planted = await stage.mirror.with_files(tree, files)
        # In order and from the first on: an earlier check may have made a later one deaf.
        last = max(place for place, check in enumerate(self._judged) if check.name in canaries)
        async with stage.pristine(planted, trial.dependencies) as checkout:
            results = await stage.run(self._judged[: last + 1], checkout, jobs=stage.jobs)
        goals = {goal.name for goal in self._baseline.goals}
        return [
            uncollected_finding(result.name)
            if _was_not_collected(result, trial) and (result.name in listening or result.name not in goals)
            else canary_finding(result.name)
            for result in results
            if result.passed and result.name in canaries
        ]

    async def _deafness(self, tree: str, trial: Trial) -> tuple[list[Finding], set[str]]:
        """With other expectations in the base's own tests a goal must turn red, or it does not listen to them."""
        stage = self._stage
        entries = await stage.layers.entries(tree)
        asked: dict[str, dict[str, Mutant]] = {}
        for goal in self._baseline.goals:
            # A runner that spoke, and skipped nothing: else nobody knows that the changed lines are run.
            counts = (trial.result_of(goal.name) or goal.results[-1]).counts
            if counts is not None and counts.collected and not counts.skipped:
                wanted = files_to_mutate(stage.check(goal.name), counts.runners, entries)
                asked[goal.name] = await asyncio.to_thread(mutate, stage.read_base, wanted, counts.runners)
        others = {path: mutant.text for mutants in asked.values() for path, mutant in mutants.items()}
        if not others:
            return [], set()
        await stage.say("does it listen to its tests? they are made to expect something else")
        files = {path: (entries[path].mode, text.encode()) for path, text in others.items()}
        changed = await stage.mirror.with_files(tree, files)
        async with stage.pristine(changed, trial.dependencies) as checkout:
            results = await stage.run(self._judged, checkout, jobs=stage.jobs)
        findings = []
        for result in results:
            mutants = list(asked.get(result.name, {}).values())
            if mutants and result.passed:
                findings.append(deaf_finding(result.name))
            elif mutants and (unmoved := _tests_that_did_not_fail(mutants, result, trial)):
                findings.append(selective_finding(result.name, unmoved))
        return findings, {result.name for result in results if not result.passed}


def _tests_that_did_not_fail(mutants: list[Mutant], result: CheckResult, trial: Trial) -> int:
    """How many tests went on passing although they expect something else; 0 where that cannot be told."""
    before = trial.result_of(result.name)
    if before is None or before.counts is None or result.counts is None:
        return 0
    known_to_run = sum(mutant.tests for mutant in mutants)
    stopped_early = result.counts.collected < before.counts.collected
    if stopped_early or before.counts.collected < known_to_run:
        return 0
    return max(0, sum(mutant.changed for mutant in mutants) - result.counts.failed)


def _was_not_collected(result: CheckResult, trial: Trial) -> bool:
    """Whether the runner counts no more tests than without the one that was put in: a selection passed it over."""
    before = trial.result_of(result.name)
    if before is None or before.counts is None or result.counts is None:
        return False
    return result.counts.collected <= before.counts.collected


def _listed(paths: list[str]) -> str:
    return ", ".join(paths[:PATHS_NAMED]) + (
        f" and {len(paths) - PATHS_NAMED} more" if len(paths) > PATHS_NAMED else ""
    )
