"""From a tree to a verdict, by the rules that a verdict rests on."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import msgspec

from trueup import __version__
from trueup.contract import (
    Baseline,
    Check,
    CheckClass,
    CheckResult,
    Contract,
    Protection,
    canary_for,
    estimate,
    evaluate,
    files_to_mutate,
    is_setup_input,
    merge_protected,
    mutate,
    run_baseline,
)
from trueup.core.errors import InputError
from trueup.core.protocols import Recorder, Shell
from trueup.workspace import NO_SANDBOX, Checkout, Dependencies, FileChange, Layers, Setup

from ._memory import BaselineMemory, KnownBase
from ._plantable import plantable
from ._reasons import (
    canary_finding,
    count_findings,
    deaf_finding,
    dependency_finding,
    doubts,
    once_each,
    planted_finding,
    red_reasons,
)
from ._services import WithServices
from ._steps import Step
from ._trial import Rewritten, Trial, Watcher
from ._verdict import CheckVerdict, Finding, Outcome, Severity, Verdict

MOST_MANIFEST_BYTES = 1 << 20
REGULAR_FILE = "100644"
PLAIN_FILES = (REGULAR_FILE, "100755")


class Verifier:
    """Evaluates one contract on changes to one base commit: `prepare`, then `baseline`, then any number of verdicts."""

    def __init__(self, layers: Layers, contract: Contract, base: str, recorder: Recorder, *, jobs: int = 1) -> None:
        self._layers = layers
        self._mirror = layers.mirror
        self._contract = contract
        self._base = base
        self._recorder = recorder
        # Side by side, two checks would start the same service twice in one network.
        self._jobs = 1 if contract.services else jobs
        self._reasons: dict[str, str | None] = {}
        self._setup_inputs: dict[str, bool] = {}
        self._rewritten_on_base: set[Rewritten] = set()
        self._planted_on_base: set[str] = set()

    async def prepare(self) -> None:
        """Check the base out and set its dependencies up, once."""
        self._base_tree = await self._mirror.tree_of(self._base)
        self._base_folder = await self._layers.base(self._base)
        self._base_paths = list(await self._layers.entries(self._base_tree))
        self._dependencies = await self._set_up(self._base_tree)

    async def baseline(self, *, fresh: bool = False) -> Baseline:
        """What each check is worth: the contract evaluated on the untouched base, or what is remembered of that."""
        memory = await self._memory()
        known = None if fresh else await asyncio.to_thread(memory.recall)
        if known is None:
            runs = f"at most {estimate(self._contract)} runs of {len(self._contract.checks)} checks"
            await self._say(f"baseline: {runs} on the base")
            known = await self._evaluate_base()
            await asyncio.to_thread(memory.keep, known)
        else:
            await self._say("baseline: remembered from an earlier run")
        self._rewritten_on_base, self._planted_on_base = set(known.rewritten), set(known.planted)
        return known.baseline

    async def _evaluate_base(self) -> KnownBase:
        async with self._layers.pristine(self._base, None, self._dependencies) as checkout:
            watcher, planted = await self._watch(self._base_tree, checkout)
            baseline = await run_baseline(
                self._contract,
                self._with_services(checkout),
                watcher,
                base_paths=self._base_paths,
                read=self._read_base,
                jobs=self._jobs,
            )
        return KnownBase(baseline, watcher.rewritten, sorted(planted))

    async def _memory(self) -> BaselineMemory:
        dependencies = self._dependencies.key if self._dependencies else ""
        toolchain = await self._layers.toolchain()
        parts = (__version__, self._base, self._contract.digest, dependencies, str(self._layers.backend), toolchain)
        return BaselineMemory(self._layers.baselines, parts)

    async def verdict(self, tree: str, baseline: Baseline, *, guards_only: bool = False) -> Verdict:
        """Evaluate a tree, with protected paths as the base has them and, where it touched any, as it is."""
        changes = await self._mirror.changes(self._base_tree, tree)
        touched = [change.path for change in changes if self._reason(change.path)]
        findings = [self._touched_finding(path) for path in touched]
        restored = await self._mirror.restored(tree, self._base_tree, touched)
        restored, manifest_findings = await self._restore_manifests(restored, changes)
        findings += [*manifest_findings, *self._dependency_findings(changes)]

        setup_findings = await self._setup_findings(restored, tree, touched)
        if setup_findings:
            findings += setup_findings
            return self._conclude(tree, baseline, findings, touched, guards_only=guards_only)
        await self._say("the change, in a pristine checkout, judged by the base's tests and configuration")
        trial = await self._evaluate(restored, baseline)
        as_it_is = None
        if restored != tree:
            await self._say("once more, with the change's own tests and configuration")
            as_it_is = await self._evaluate(tree, baseline)
        for each in (trial, as_it_is):
            findings += each.findings if each else []
        findings += await self._would_it_go_red(tree, changes, touched, baseline)
        if not trial.red:
            findings += await self._canary_findings(restored, trial.dependencies, baseline)
            findings += await self._deafness_findings(restored, trial, baseline)
        return self._conclude(tree, baseline, findings, touched, trial, as_it_is, guards_only=guards_only)

    async def _say(self, text: str) -> None:
        await self._recorder.record(Step(text))

    def unproven(self, tree: str, baseline: Baseline, reasons: list[str]) -> Verdict:
        """The verdict where the baseline alone shows that none can be reached."""
        weaknesses = [
            Finding(severity=Severity.INFO, kind="weakness", message=weakness)
            for weakness in self._contract.weaknesses()
        ]
        verdict = self._conclude(tree, baseline, weaknesses, [], guards_only=True)
        return msgspec.structs.replace(verdict, outcome=Outcome.UNPROVEN, reasons=reasons)

    @cached_property
    def _protection(self) -> Protection:
        return Protection.of(self._contract, self._base_paths, self._read_base)

    @cached_property
    def _full_protection(self) -> Protection:
        """What would be protected if the contract made nothing editable."""
        contract = msgspec.structs.replace(self._contract, editable=[])
        return Protection.of(contract, self._base_paths, self._read_base)

    async def _evaluate(self, tree: str, baseline: Baseline) -> Trial:
        dependencies = await self._set_up(tree)
        async with self._layers.pristine(self._base, tree, dependencies) as checkout:
            watcher, planted = await self._watch(tree, checkout)
            results = await self._run(self._judged(baseline), checkout, watcher, jobs=self._jobs)
        findings = [planted_finding(path) for path in sorted(planted - self._planted_on_base)]
        findings += [finding for result in results for finding in count_findings(result, baseline)]
        return Trial(results, findings + watcher.findings(self._is_known), dependencies)

    async def _run(
        self, checks: list[Check], checkout: Checkout, recorder: Recorder, jobs: int = 1
    ) -> list[CheckResult]:
        contract = msgspec.structs.replace(self._contract, checks=checks)
        return await evaluate(contract, self._with_services(checkout), recorder, jobs=jobs)

    def _with_services(self, checkout: Checkout) -> Shell:
        return WithServices(checkout, self._contract.services) if self._contract.services else checkout

    async def _watch(self, tree: str, checkout: Checkout) -> tuple[Watcher, set[str]]:
        """Keep an eye on protected files and on the places of new ones; say which of those are there already."""
        entries = await self._layers.entries(tree)
        protected = await asyncio.to_thread(self._protected_among, entries)
        places = [path for path in plantable(protected, self._contract) if path not in entries and self._reason(path)]
        before = await checkout.fingerprints([*protected, *places])
        return Watcher(self._recorder, checkout, before), {path for path in places if before[path] is not None}

    def _is_known(self, rewritten: Rewritten) -> bool:
        if self._jobs > 1:
            # Of checks that run side by side, nobody knows which one it was.
            return any(known.path == rewritten.path for known in self._rewritten_on_base)
        return rewritten in self._rewritten_on_base

    def _protected_among(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if self._reason(path)]

    def _reason(self, path: str) -> str | None:
        """Why a path is protected; remembered, since every evaluation asks about every path."""
        if path not in self._reasons:
            reason = self._protection.covers(path)
            self._reasons[path] = str(reason) if reason else None
        return self._reasons[path]

    async def _set_up(self, tree: str) -> Dependencies | None:
        if not self._contract.setup and not self._contract.reuse:
            return None
        paths = await self._layers.entries(tree)
        setup = Setup(
            commands=tuple(self._contract.setup),
            variables=tuple(self._contract.setup_env),
            inputs=tuple(await asyncio.to_thread(lambda: [path for path in paths if self._is_setup_input(path)])),
            reuse=tuple(self._contract.reuse),
        )
        return await self._layers.dependencies(setup, self._base, None if tree == self._base_tree else tree)

    def _is_setup_input(self, path: str) -> bool:
        if path not in self._setup_inputs:
            self._setup_inputs[path] = is_setup_input(path, self._contract)
        return self._setup_inputs[path]

    async def _setup_findings(self, restored: str, tree: str, touched: list[str]) -> list[Finding]:
        """Set up the trees that are to be evaluated; where the change's own manifests forbid that, refuse it."""
        try:
            for each in dict.fromkeys((restored, tree)):
                await self._set_up(each)
        except InputError as error:
            what = f"dependencies cannot be set up with the change: {error}"
            locks = [path for path in touched if self._is_setup_input(path)]
            if locks:
                what += f"\n({', '.join(locks)} of the base was used; `editable` lets a change have its own)"
            return [Finding(severity=Severity.GATE, kind="setup_failed", message=what)]
        return []

    async def _restore_manifests(self, tree: str, changes: Iterable[FileChange]) -> tuple[str, list[Finding]]:
        """Put back the protected keys of manifests that are otherwise free to change."""
        files: dict[str, tuple[str, bytes]] = {}
        findings = []
        for change in changes:
            if not self._protection.by_key(change.path):
                continue
            if change.new_mode and change.new_mode not in PLAIN_FILES:
                tree = await self._mirror.restored(tree, self._base_tree, [change.path])
                what = f"{change.path} is no longer a plain file, but decides what checks do; the base's was used"
                findings.append(Finding(severity=Severity.FLAG, kind="protected_path", message=what, path=change.path))
                continue
            text = (await self._mirror.read(change.new_id)).decode(errors="replace") if change.new_id else ""
            merged = merge_protected(change.path, self._read_base(change.path), text)
            if merged.touched:
                files[change.path] = (REGULAR_FILE, merged.text.encode(errors="surrogatepass"))
                what = f"{', '.join(merged.touched)} of {change.path} decides what checks do; the base's was used"
                findings.append(Finding(severity=Severity.FLAG, kind="protected_key", message=what, path=change.path))
        return (await self._mirror.with_files(tree, files) if files else tree), findings

    async def _would_it_go_red(
        self, tree: str, changes: list[FileChange], touched: list[str], baseline: Baseline
    ) -> list[Finding]:
        """The change's protected files with the base's sources must leave a goal red, or they prove nothing.

        Where a person made such files editable, what they do to the goals is told and decides nothing.
        """
        if not baseline.goals:
            return []
        if touched and await self._goals_are_green(tree, touched, baseline):
            what = "with the change's own tests and configuration every goal is green on the base's sources: they ask for nothing"
            return [Finding(severity=Severity.GATE, kind="goes_green_without_the_change", message=what)]
        lifted = [change.path for change in changes if change.path not in touched and self._is_lifted(change.path)]
        if lifted and await self._goals_are_green(tree, [*touched, *lifted], baseline):
            what = f"the goals are green by {', '.join(lifted)} alone, which the contract makes editable"
            return [Finding(severity=Severity.INFO, kind="goes_green_without_the_change", message=what)]
        return []

    def _is_lifted(self, path: str) -> bool:
        return self._full_protection.covers(path) is not None

    async def _goals_are_green(self, tree: str, paths: list[str], baseline: Baseline) -> bool:
        """Whether a change's version of these paths is all that its goals ask for."""
        await self._say("could it have gone red? the change's tests and configuration on the base's sources")
        nothing_else = await self._mirror.restored(self._base_tree, tree, paths)
        names = {goal.name for goal in baseline.goals}
        goals = [check for check in self._contract.checks if check.name in names]
        try:
            dependencies = await self._set_up(nothing_else)
        except InputError:
            # Without the rest of the change nothing can even be installed.
            return False
        async with self._layers.pristine(self._base, nothing_else, dependencies) as checkout:
            results = await self._run(goals, checkout, self._recorder)
        return all(result.passed for result in results)

    async def _canary_findings(self, tree: str, dependencies: Dependencies | None, baseline: Baseline) -> list[Finding]:
        """A failing test that is put in must turn its check red, or the check does not listen."""
        paths = list(await self._layers.entries(tree))
        judged = self._judged(baseline)
        found = {check.name: canary_for(check, paths, self._read_base, secrets.token_hex(8)) for check in judged}
        canaries = {name: canary for name, canary in found.items() if canary is not None}
        if not canaries:
            return []
        await self._say("does it report failures? a failing test is put in")
        files = {canary.path: (REGULAR_FILE, canary.content.encode()) for canary in canaries.values()}
        planted = await self._mirror.with_files(tree, files)
        # In order and from the first on: an earlier check may have made a later one deaf.
        last = max(place for place, check in enumerate(judged) if check.name in canaries)
        async with self._layers.pristine(self._base, planted, dependencies) as checkout:
            results = await self._run(judged[: last + 1], checkout, self._recorder, jobs=self._jobs)
        return [canary_finding(result.name) for result in results if result.passed and result.name in canaries]

    async def _deafness_findings(self, tree: str, trial: Trial, baseline: Baseline) -> list[Finding]:
        """With other expectations in the base's own tests a goal must turn red, or it does not listen to them."""
        entries = await self._layers.entries(tree)
        asked: dict[str, dict[str, str]] = {}
        for goal in baseline.goals:
            # A runner that spoke, and skipped nothing: else nobody knows that the changed lines are run.
            counts = (trial.result_of(goal.name) or goal.results[-1]).counts
            if counts is not None and counts.collected and not counts.skipped:
                wanted = files_to_mutate(self._check(goal.name), counts.runners, entries)
                asked[goal.name] = await asyncio.to_thread(mutate, self._read_base, wanted)
        others = {path: text for files in asked.values() for path, text in files.items()}
        if not others:
            return []
        await self._say("does it listen to its tests? they are made to expect something else")
        files = {path: (entries[path].mode, text.encode()) for path, text in others.items()}
        changed = await self._mirror.with_files(tree, files)
        async with self._layers.pristine(self._base, changed, trial.dependencies) as checkout:
            results = await self._run(self._judged(baseline), checkout, self._recorder, jobs=self._jobs)
        return [deaf_finding(result.name) for result in results if result.passed and asked.get(result.name)]

    def _check(self, name: str) -> Check:
        return next(check for check in self._contract.checks if check.name == name)

    def _judged(self, baseline: Baseline) -> list[Check]:
        return [check for check in self._contract.checks if baseline.check(check.name).check_class in _JUDGED]

    def _dependency_findings(self, changes: Iterable[FileChange]) -> list[Finding]:
        if not self._contract.setup:
            return []
        return [dependency_finding(change.path) for change in changes if self._is_setup_input(change.path)]

    def _touched_finding(self, path: str) -> Finding:
        what = f"{path} is protected ({self._reason(path)}); the base's was used beside the change's own"
        return Finding(severity=Severity.FLAG, kind="protected_path", message=what, path=path)

    def _read_base(self, path: str) -> str | None:
        return _read_plain_file(self._base_folder / path)

    def _check_verdicts(self, baseline: Baseline, trial: Trial | None, as_it_is: Trial | None) -> list[CheckVerdict]:
        return [
            CheckVerdict(
                name=check.name,
                check_class=baseline.check(check.name).check_class,
                baseline=baseline.check(check.name).results[-1],
                result=trial.result_of(check.name) if trial else None,
                as_it_is=as_it_is.result_of(check.name) if as_it_is else None,
            )
            for check in self._contract.checks
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
        dependencies = trial.dependencies if trial else self._dependencies
        checks = self._check_verdicts(baseline, trial, as_it_is)
        refusals = [*red_reasons(checks), *(each.message for each in findings if each.severity is Severity.GATE)]
        unsure = [*([] if guards_only else doubts(baseline)), *self._layers.stray_installs(dependencies)]
        return Verdict(
            outcome=Outcome.REFUSED if refusals else Outcome.UNPROVEN if unsure else Outcome.VERIFIED,
            reasons=refusals or unsure,
            base=self._base,
            tree=tree,
            contract_digest=self._contract.digest,
            dependencies=dependencies.key if dependencies else None,
            sandbox=str(self._layers.backend),
            checks=checks,
            findings=once_each(findings),
            restored=touched,
            not_shown=tuple(self._not_shown(baseline)),
        )

    def _not_shown(self, baseline: Baseline) -> Iterator[str]:
        yield "visible checks only: behaviour that no check exercises was not looked at"
        if not baseline.goals:
            yield "guards only: that something was done was not shown"
        if self._contract.reuse:
            yield f"what is in {', '.join(self._contract.reuse)}: copied as it was found, and not set up anew"
        if self._layers.backend == NO_SANDBOX:
            yield "that nothing interfered: without a sandbox, checks see the files, processes and network of this user"


_JUDGED = (CheckClass.GOAL, CheckClass.GUARD)


def _read_plain_file(path: Path) -> str | None:
    """The text of a file, unless it is a link or too large to be a manifest."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        raw = file.read(MOST_MANIFEST_BYTES + 1)
    return raw.decode(errors="replace") if len(raw) <= MOST_MANIFEST_BYTES else None
