"""From a tree to a verdict, by the rules that a verdict rests on."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import msgspec

from trueup.contract import (
    Baseline,
    CheckClass,
    CheckCompleted,
    CheckResult,
    Contract,
    Protection,
    canary_for,
    compare_counts,
    evaluate,
    is_setup_input,
    merge_protected,
    run_baseline,
)
from trueup.core.protocols import Event, Recorder
from trueup.workspace import Checkout, Dependencies, FileChange, Fingerprint, Layers, Setup

from ._verdict import CheckVerdict, Finding, Outcome, Severity, Verdict

MOST_MANIFEST_BYTES = 1 << 20
REGULAR_FILE = "100644"


class Verifier:
    """Evaluates one contract on changes to one base commit."""

    def __init__(self, layers: Layers, contract: Contract, base: str, recorder: Recorder, *, jobs: int = 1) -> None:
        self._layers = layers
        self._mirror = layers.mirror
        self._contract = contract
        self._base = base
        self._recorder = recorder
        self._jobs = jobs
        self._reasons: dict[str, str | None] = {}

    async def prepare(self) -> None:
        """Check the base out and set its dependencies up, once."""
        self._base_tree = await self._mirror.tree_of(self._base)
        self._base_folder = await self._layers.base(self._base)
        self._base_paths = list(await self._mirror.entries(self._base_tree))
        self._dependencies = await self._set_up(self._base_tree)

    async def baseline(self) -> Baseline:
        """What each check is worth: the contract evaluated on the untouched base."""
        async with self._layers.pristine(self._base, None, self._dependencies) as checkout:
            return await run_baseline(
                self._contract,
                checkout,
                self._recorder,
                base_paths=self._base_paths,
                read=self._read_base,
                jobs=self._jobs,
            )

    async def verdict(self, tree: str, baseline: Baseline, *, guards_only: bool = False) -> Verdict:
        """Evaluate a tree, with protected paths as the base has them and, where it touched any, as it is."""
        changes = await self._mirror.changes(self._base_tree, tree)
        touched = [change.path for change in changes if self._reason(change.path)]
        findings = [self._touched_finding(path) for path in touched]
        restored = await self._mirror.restored(tree, self._base_tree, touched)
        restored, manifest_findings = await self._restore_manifests(restored, changes)
        findings += [*manifest_findings, *self._dependency_findings(changes)]

        trial = await self._evaluate(restored, baseline)
        as_it_is = await self._evaluate(tree, baseline) if restored != tree else None
        for each in (trial, as_it_is):
            findings += each.findings if each else []
        findings += await self._would_it_go_red(tree, touched, baseline)
        if not trial.red:
            findings += await self._canary_findings(restored, trial.dependencies)
        checks = self._check_verdicts(baseline, trial, as_it_is)
        return self._conclude(tree, baseline, checks, findings, touched, trial.dependencies, guards_only=guards_only)

    @cached_property
    def _protection(self) -> Protection:
        return Protection.of(self._contract, self._base_paths, self._read_base)

    async def _evaluate(self, tree: str, baseline: Baseline) -> Trial:
        dependencies = await self._set_up(tree)
        judged = [check for check in self._contract.checks if baseline.check(check.name).check_class in _JUDGED]
        contract = msgspec.structs.replace(self._contract, checks=judged)
        async with self._layers.pristine(self._base, tree, dependencies) as checkout:
            paths = await asyncio.to_thread(self._protected_among, await self._mirror.entries(tree))
            watcher = Watcher(self._recorder, checkout, await checkout.fingerprints(paths))
            results = await evaluate(contract, checkout, watcher, jobs=self._jobs)
        findings = [finding for result in results for finding in _count_findings(result, baseline)]
        return Trial(results, findings + watcher.findings, dependencies)

    def _protected_among(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if self._reason(path)]

    def _reason(self, path: str) -> str | None:
        """Why a path is protected; remembered, since every evaluation asks about every path."""
        if path not in self._reasons:
            reason = self._protection.covers(path)
            self._reasons[path] = str(reason) if reason else None
        return self._reasons[path]

    async def _set_up(self, tree: str) -> Dependencies | None:
        paths = self._base_paths if tree == self._base_tree else list(await self._mirror.entries(tree))
        setup = Setup(
            commands=tuple(self._contract.setup),
            variables=tuple(self._contract.setup_env),
            inputs=tuple(path for path in paths if is_setup_input(path, self._contract)),
            reuse=tuple(self._contract.reuse),
        )
        return await self._layers.dependencies(setup, self._base, None if tree == self._base_tree else tree)

    async def _restore_manifests(self, tree: str, changes: Iterable[FileChange]) -> tuple[str, list[Finding]]:
        """Put back the protected keys of manifests that are otherwise free to change."""
        files: dict[str, tuple[str, bytes]] = {}
        findings = []
        for change in changes:
            if not self._protection.by_key(change.path):
                continue
            text = (await self._mirror.read(change.new_id)).decode(errors="replace") if change.new_id else ""
            merged = merge_protected(change.path, self._read_base(change.path), text)
            if merged.touched:
                files[change.path] = (REGULAR_FILE, merged.text.encode())
                what = f"{', '.join(merged.touched)} of {change.path} decides what checks do; the base's was used"
                findings.append(Finding(severity=Severity.FLAG, kind="protected_key", message=what, path=change.path))
        return (await self._mirror.with_files(tree, files) if files else tree), findings

    async def _would_it_go_red(self, tree: str, touched: list[str], baseline: Baseline) -> list[Finding]:
        """The change's protected files with the base's sources must leave a goal red, or they prove nothing."""
        if not touched or not baseline.goals:
            return []
        verifiers_only = await self._mirror.restored(self._base_tree, tree, touched)
        names = {goal.name for goal in baseline.goals}
        goals = [check for check in self._contract.checks if check.name in names]
        async with self._layers.pristine(self._base, verifiers_only, await self._set_up(verifiers_only)) as checkout:
            results = await evaluate(msgspec.structs.replace(self._contract, checks=goals), checkout, self._recorder)
        if any(not result.passed for result in results):
            return []
        what = "with the change's own tests and configuration every goal is green on the base's sources: they ask for nothing"
        return [Finding(severity=Severity.GATE, kind="goes_green_without_the_change", message=what)]

    async def _canary_findings(self, tree: str, dependencies: Dependencies | None) -> list[Finding]:
        """A failing test that is put in must turn its check red, or the check does not listen."""
        findings = []
        paths = list(await self._mirror.entries(tree))
        for check in self._contract.checks:
            canary = canary_for(check, paths, self._read_base, secrets.token_hex(8))
            if canary is None:
                continue
            planted = await self._mirror.with_files(tree, {canary.path: (REGULAR_FILE, canary.content.encode())})
            async with self._layers.pristine(self._base, planted, dependencies) as checkout:
                (result,) = await evaluate(
                    msgspec.structs.replace(self._contract, checks=[check]), checkout, self._recorder
                )
            if result.passed:
                what = f"a failing test that trueup put in left check {check.name!r} green: it does not report failures"
                findings.append(Finding(severity=Severity.GATE, kind="canary", message=what, check=check.name))
        return findings

    def _dependency_findings(self, changes: Iterable[FileChange]) -> list[Finding]:
        if not self._contract.setup:
            return []
        return [
            Finding(
                severity=Severity.FLAG,
                kind="dependency_changed",
                message=f"{change.path} decides which packages are installed; they were installed anew from it",
                path=change.path,
            )
            for change in changes
            if is_setup_input(change.path, self._contract)
        ]

    def _touched_finding(self, path: str) -> Finding:
        what = f"{path} is protected ({self._reason(path)}); the base's was used beside the change's own"
        return Finding(severity=Severity.FLAG, kind="protected_path", message=what, path=path)

    def _read_base(self, path: str) -> str | None:
        return _read_plain_file(self._base_folder / path)

    def _check_verdicts(self, baseline: Baseline, trial: Trial, as_it_is: Trial | None) -> list[CheckVerdict]:
        return [
            CheckVerdict(
                name=check.name,
                check_class=baseline.check(check.name).check_class,
                baseline=baseline.check(check.name).results[-1],
                result=trial.result_of(check.name),
                as_it_is=as_it_is.result_of(check.name) if as_it_is else None,
            )
            for check in self._contract.checks
        ]

    def _conclude(
        self,
        tree: str,
        baseline: Baseline,
        checks: list[CheckVerdict],
        findings: list[Finding],
        touched: list[str],
        dependencies: Dependencies | None,
        *,
        guards_only: bool,
    ) -> Verdict:
        refusals = [*_red_reasons(checks), *(each.message for each in findings if each.severity is Severity.GATE)]
        doubts = [] if guards_only else _doubts(baseline)
        outcome = Outcome.REFUSED if refusals else Outcome.UNPROVEN if doubts else Outcome.VERIFIED
        verdict = Verdict(
            outcome=outcome,
            reasons=refusals or doubts,
            base=self._base,
            tree=tree,
            contract_digest=self._contract.digest,
            dependencies=dependencies.key if dependencies else None,
            sandbox=str(self._layers.backend),
            checks=checks,
            findings=_once_each(findings),
            restored=touched,
        )
        if guards_only and not baseline.goals:
            more = "guards only: that something was done was not shown"
            return msgspec.structs.replace(verdict, not_shown=(*verdict.not_shown, more))
        return verdict


_JUDGED = (CheckClass.GOAL, CheckClass.GUARD)


class Trial(msgspec.Struct, frozen=True):
    """One evaluation of a tree."""

    results: list[CheckResult]
    findings: list[Finding]
    dependencies: Dependencies | None

    @property
    def red(self) -> bool:
        return any(not result.passed for result in self.results)

    def result_of(self, name: str) -> CheckResult | None:
        return next((result for result in self.results if result.name == name), None)


class Watcher:
    """A recorder that looks, after each check, whether protected files still are what they were."""

    def __init__(self, recorder: Recorder, checkout: Checkout, before: dict[str, Fingerprint]) -> None:
        self._recorder = recorder
        self._checkout = checkout
        self._before = before
        self.findings: list[Finding] = []

    async def record(self, event: Event) -> None:
        await self._recorder.record(event)
        if isinstance(event, CheckCompleted):
            for path in await self._checkout.rewritten(self._before):
                what = f"while check {event.result.name!r} ran, {path} was rewritten, which decides what checks do"
                self.findings.append(
                    Finding(severity=Severity.GATE, kind="rewritten", message=what, path=path, check=event.result.name)
                )
                # Told once; what the next check does to it is not news.
                del self._before[path]


def _count_findings(result: CheckResult, baseline: Baseline) -> list[Finding]:
    complaint = compare_counts(baseline.check(result.name).counts, result.counts)
    if complaint is None:
        return []
    return [
        Finding(
            severity=Severity.GATE, kind="test_counts", message=f"check {result.name!r}: {complaint}", check=result.name
        )
    ]


def _red_reasons(checks: Iterable[CheckVerdict]) -> list[str]:
    reasons = []
    for check in checks:
        for result, where in ((check.result, ""), (check.as_it_is, " with the change's own tests and configuration")):
            if result is not None and not result.passed:
                was = "is still red" if check.check_class is CheckClass.GOAL else "was green and is red"
                reasons.append(f"{check.check_class.value} {check.name!r} {was}{where}: {result.reason}")
                break
    return reasons


def _doubts(baseline: Baseline) -> list[str]:
    if baseline.goals:
        return []
    if baseline.flaky:
        return [
            f"no check that was red on the base can be relied on; {', '.join(check.name for check in baseline.flaky)} disagree with themselves"
        ]
    return ["every check is already green on the base, so none of them shows that anything was done"]


def _once_each(findings: Iterable[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _read_plain_file(path: Path) -> str | None:
    """The text of a file, unless it is a link or too large to be a manifest."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        raw = file.read(MOST_MANIFEST_BYTES + 1)
    return raw.decode(errors="replace") if len(raw) <= MOST_MANIFEST_BYTES else None
