"""From a tree to a verdict, by the rules that a verdict rests on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

import msgspec

from trueup import __version__
from trueup.contract import Baseline, Check, CheckClass, CheckResult, Contract, estimate, run_baseline
from trueup.core.errors import InputError
from trueup.core.protocols import Recorder
from trueup.workspace import NO_SANDBOX, Checkout, Dependencies, FileChange, Layers

from ._diff_findings import diff_findings
from ._memory import BaselineMemory, KnownBase
from ._plantable import plantable
from ._probes import Probes
from ._protected import Protected, Restored
from ._reasons import count_findings, dependency_finding, doubts, once_each, planted_finding, red_reasons
from ._stage import Stage
from ._trial import Rewritten, Trial, Watcher
from ._verdict import CheckVerdict, Finding, Outcome, Severity, Verdict


class Verifier:
    """Evaluates one contract on changes to one base commit: `prepare`, then `baseline`, then any number of verdicts."""

    def __init__(self, layers: Layers, contract: Contract, base: str, recorder: Recorder, *, jobs: int = 1) -> None:
        self._stage = Stage(layers, contract, base, recorder, jobs)
        self._protected = Protected(self._stage)
        self._rewritten_on_base: set[Rewritten] = set()
        self._planted_on_base: set[str] = set()

    async def prepare(self) -> None:
        """Check the base out and set its dependencies up, once."""
        await self._stage.prepare()

    @property
    def dependencies(self) -> Dependencies | None:
        """Layer 2 of the base, once it is prepared."""
        return self._stage.dependencies

    async def baseline(self, *, fresh: bool = False) -> Baseline:
        """What each check is worth: the contract evaluated on the untouched base, or what is remembered of that."""
        memory = await self._memory()
        known = None if fresh else await asyncio.to_thread(memory.recall)
        if known is None:
            contract = self._stage.contract
            runs = f"at most {estimate(contract)} runs of {len(contract.checks)} {'check' if len(contract.checks) == 1 else 'checks'}"
            await self._stage.say(f"baseline: {runs} on the base")
            known = await self._evaluate_base()
            await asyncio.to_thread(memory.keep, known)
        else:
            await self._stage.say("baseline: remembered from an earlier run")
        self._rewritten_on_base, self._planted_on_base = set(known.rewritten), set(known.planted)
        return known.baseline

    async def verdict(self, tree: str, baseline: Baseline, *, guards_only: bool = False) -> Verdict:
        """Evaluate a tree, with protected paths as the base has them and, where it touched any, as it is."""
        stage = self._stage
        changes = await stage.mirror.changes(stage.base_tree, tree)
        restored = await self._protected.restore(tree, changes)
        findings = [*restored.findings, *self._dependency_findings(changes)]
        findings += await diff_findings(stage, self._protected, changes, baseline)
        setup_findings = await self._setup_findings(restored, tree)
        if setup_findings:
            findings += setup_findings
            return self._conclude(tree, baseline, findings, restored.touched, guards_only=guards_only)
        await stage.say("the change, in a pristine checkout, judged by the base's tests and configuration")
        trial = await self._evaluate(restored.tree, baseline)
        as_it_is = None
        if restored.tree != tree:
            await stage.say("once more, with the change's own tests and configuration")
            as_it_is = await self._evaluate(tree, baseline)
        for each in (trial, as_it_is):
            findings += each.findings if each else []
        probes = Probes(stage, self._protected, baseline, self._judged(baseline))
        findings += await probes.would_it_go_red(tree, changes, restored.touched)
        if not trial.red:
            findings += await probes.do_they_listen(restored.tree, trial)
        return self._conclude(tree, baseline, findings, restored.touched, trial, as_it_is, guards_only=guards_only)

    def without_trial(self, tree: str, baseline: Baseline, outcome: Outcome, reasons: list[str]) -> Verdict:
        """The verdict where nothing needs to be run on the change to reach it."""
        weaknesses = [
            Finding(severity=Severity.INFO, kind="weakness", message=weakness)
            for weakness in self._stage.contract.weaknesses()
        ]
        verdict = self._conclude(tree, baseline, weaknesses, [], guards_only=True)
        return msgspec.structs.replace(verdict, outcome=outcome, reasons=reasons)

    async def _evaluate_base(self) -> KnownBase:
        stage = self._stage
        async with stage.pristine(None, stage.dependencies) as checkout:
            watcher, planted = await self._watch(stage.base_tree, checkout)
            baseline = await run_baseline(
                stage.contract,
                stage.with_services(checkout),
                watcher,
                base_paths=stage.base_paths,
                read=stage.read_base,
                jobs=stage.jobs,
            )
        return KnownBase(baseline, watcher.rewritten, sorted(planted))

    async def _memory(self) -> BaselineMemory:
        stage = self._stage
        dependencies = stage.dependencies.key if stage.dependencies else ""
        toolchain = await stage.layers.toolchain()
        backend = str(stage.layers.backend)
        parts = (__version__, stage.base, stage.contract.digest, dependencies, backend, toolchain)
        return BaselineMemory(stage.layers.baselines, parts)

    async def _evaluate(self, tree: str, baseline: Baseline) -> Trial:
        stage = self._stage
        dependencies = await stage.set_up(tree)
        async with stage.pristine(tree, dependencies) as checkout:
            watcher, planted = await self._watch(tree, checkout)
            results = await stage.run(self._judged(baseline), checkout, watcher, jobs=stage.jobs)
        results = await self._as_seen_without_the_hidden(results, tree, dependencies)
        findings = [planted_finding(path) for path in sorted(planted - self._planted_on_base)]
        findings += [finding for result in results for finding in count_findings(result, baseline)]
        return Trial(results, findings + watcher.findings(self._is_known), dependencies)

    async def _as_seen_without_the_hidden(
        self, results: list[CheckResult], tree: str, dependencies: Dependencies | None
    ) -> list[CheckResult]:
        """The results, with what visible checks print where no hidden one has run before them.

        Engines are told what visible checks print. Beside a hidden check, that could be its command.
        """
        stage = self._stage
        visible = [stage.check(result.name) for result in results if not stage.check(result.name).hidden]
        told = {result.name for result in results if not result.passed} & {check.name for check in visible}
        if len(visible) == len(results) or not told:
            return results
        async with stage.pristine(tree, dependencies) as checkout:
            apart = {result.name: result for result in await stage.run(visible, checkout, jobs=stage.jobs)}
        return [
            msgspec.structs.replace(result, output_tail=apart[result.name].output_tail)
            if result.name in told
            else result
            for result in results
        ]

    async def _watch(self, tree: str, checkout: Checkout) -> tuple[Watcher, set[str]]:
        """Keep an eye on protected files and on the places of new ones; say which of those are there already."""
        stage = self._stage
        entries = await stage.layers.entries(tree)
        protected = await asyncio.to_thread(self._protected.among, entries)
        places = [
            path
            for path in plantable(protected, stage.contract)
            if path not in entries and self._protected.reason(path)
        ]
        before = await checkout.fingerprints([*protected, *places])
        return Watcher(stage.recorder, checkout, before), {path for path in places if before[path] is not None}

    def _is_known(self, rewritten: Rewritten) -> bool:
        if self._stage.jobs > 1:
            # Of checks that run side by side, nobody knows which one it was.
            return any(known.path == rewritten.path for known in self._rewritten_on_base)
        return rewritten in self._rewritten_on_base

    async def _setup_findings(self, restored: Restored, tree: str) -> list[Finding]:
        """Set up the trees that are to be evaluated; where the change's own manifests forbid that, refuse it."""
        try:
            for each in dict.fromkeys((restored.tree, tree)):
                await self._stage.set_up(each)
        except InputError as error:
            what = f"dependencies cannot be set up with the change: {error}"
            locks = [path for path in restored.touched if self._stage.is_setup_input(path)]
            if locks:
                what += f"\n({', '.join(locks)} of the base was used; `editable` lets a change have its own)"
            return [Finding(severity=Severity.GATE, kind="setup_failed", message=what)]
        return []

    def _judged(self, baseline: Baseline) -> list[Check]:
        return [check for check in self._stage.contract.checks if baseline.check(check.name).check_class in _JUDGED]

    def _dependency_findings(self, changes: Iterable[FileChange]) -> list[Finding]:
        if not self._stage.contract.setup:
            return []
        return [dependency_finding(change.path) for change in changes if self._stage.is_setup_input(change.path)]

    def _check_verdicts(self, baseline: Baseline, trial: Trial | None, as_it_is: Trial | None) -> list[CheckVerdict]:
        return [
            CheckVerdict(
                name=check.name,
                check_class=baseline.check(check.name).check_class,
                baseline=baseline.check(check.name).results[-1],
                result=trial.result_of(check.name) if trial else None,
                as_it_is=as_it_is.result_of(check.name) if as_it_is else None,
            )
            for check in self._stage.contract.checks
        ]

    def _conclude(
        self,
        tree: str,
        baseline: Baseline,
        findings: list[Finding],
        touched: list[str],
        trial: Trial | None = None,
        as_it_is: Trial | None = None,
        *,
        guards_only: bool,
    ) -> Verdict:
        stage = self._stage
        dependencies = trial.dependencies if trial else stage.dependencies
        checks = self._check_verdicts(baseline, trial, as_it_is)
        refusals = [*red_reasons(checks), *_messages(findings, Severity.GATE)]
        if refusals:
            # What a person would have had to look at is often how it was tried.
            refusals += _messages(findings, Severity.FLAG)
        unsure = [*([] if guards_only else doubts(baseline)), *stage.layers.stray_installs(dependencies)]
        return Verdict(
            outcome=Outcome.REFUSED if refusals else Outcome.UNPROVEN if unsure else Outcome.VERIFIED,
            reasons=refusals or unsure,
            base=stage.base,
            tree=tree,
            contract_digest=stage.contract.digest,
            dependencies=dependencies.key if dependencies else None,
            sandbox=str(stage.layers.backend),
            checks=checks,
            findings=once_each(findings),
            restored=touched,
            not_shown=tuple(self._not_shown(baseline)),
        )

    def _not_shown(self, baseline: Baseline) -> Iterator[str]:
        contract = self._stage.contract
        yield "visible checks only: behaviour that no check exercises was not looked at"
        if not baseline.goals:
            yield "guards only: that something was done was not shown"
        if contract.reuse:
            yield f"what is in {', '.join(contract.reuse)}: copied as it was found, and not set up anew"
        if self._stage.layers.backend == NO_SANDBOX:
            yield "that nothing interfered: without a sandbox, checks see the files, processes and network of this user"


_JUDGED = (CheckClass.GOAL, CheckClass.GUARD)


def _messages(findings: Iterable[Finding], severity: Severity) -> list[str]:
    return list(dict.fromkeys(each.message for each in findings if each.severity is severity))
