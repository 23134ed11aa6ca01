"""The verdict step: the change is judged where its maker cannot reach, and it is decided whether to go on."""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from trueup.core.errors import InputError
from trueup.model import generate_for

from .._contracts import no_verdict_because
from .._verdict import Finding, Outcome, Severity, Verdict
from ._chronicle import Chronicle
from ._failures import Failure
from ._ground import Ground
from ._judge import judge_change
from ._progress import why_stop
from ._states import FailureReason, State
from .events import FindingRaised, VerdictReached


class VerdictStep:
    """From `verifying` to `needs_approval`, back to `running`, or to the end."""

    def __init__(self, chronicle: Chronicle, ground: Ground) -> None:
        self._chronicle = chronicle
        self._story = chronicle.story
        self._ground = ground

    async def verify(self) -> bool:
        """Find out what the change is worth."""
        verdict = self._with_ignored(await self._with_judge(await self._verdict()))
        for finding in verdict.findings:
            await self._chronicle.record(FindingRaised(finding))
        await self._chronicle.record(VerdictReached(verdict))
        await self._chronicle.hear()
        if verdict.outcome is Outcome.VERIFIED:
            return await self._chronicle.enter(State.RUNNING if self._story.words else State.NEEDS_APPROVAL)
        failure = self._why_not_again(verdict)
        return await (self._chronicle.fail(failure) if failure else self._chronicle.enter(State.RUNNING))

    async def _verdict(self) -> Verdict:
        story, tree = self._story, self._story.tree
        if tree is None:
            raise InputError(f"session {story.id} has no change to verify")
        await self._ground.bring_back(tree)
        verifier, baseline = await self._ground.verifier(self._ground.contract())
        if tree == await self._ground.site.mirror.tree_of(story.base):
            return verifier.without_trial(tree, baseline, Outcome.REFUSED, ["the engine changed nothing"])
        known = [each.verdict for each in story.attempts if each.verdict and each.tree == tree]
        if known and known[-1].base == story.base:
            return known[-1]
        # On a base that moved, somebody else may have reached the goals already; then nothing may break.
        guards_only = story.request.allow_no_goal or bool(story.approved)
        hopeless = no_verdict_because(baseline, guards_only=guards_only)
        if hopeless:
            return verifier.without_trial(tree, baseline, Outcome.UNPROVEN, hopeless)
        return await verifier.verdict(tree, baseline, guards_only=guards_only)

    async def _with_judge(self, verdict: Verdict) -> Verdict:
        """The verdict with what a judge says of the change, where one is wanted."""
        judge = self._story.request.judge
        has_spoken = any(finding.kind == "judge" for finding in verdict.findings)
        if judge is None or has_spoken or verdict.outcome is not Outcome.VERIFIED:
            return verdict
        patch = await self._ground.site.mirror.diff(verdict.base, verdict.tree)
        fence = f"----{secrets.token_hex(8)}----"
        intent, contract = self._story.request.intent, self._ground.contract()
        found = await judge_change(generate_for(judge), intent, contract, patch, fence)
        return replace(verdict, findings=[*verdict.findings, *found])

    def _with_ignored(self, verdict: Verdict) -> Verdict:
        """The verdict with a word about files that the engine left and that no check can have seen."""
        diff = self._story.diff
        if diff is None or not diff.ignored or any(finding.kind == "ignored_files" for finding in verdict.findings):
            return verdict
        rest = diff.ignored_total - len(diff.ignored)
        named = ", ".join(diff.ignored) + (f" and {rest} more" if rest > 0 else "")
        what = f"git ignores {named}, which the engine left: they are no part of the change, and no check saw them"
        found = Finding(severity=Severity.INFO, kind="ignored_files", message=what, path=diff.ignored[0])
        return replace(verdict, findings=[*verdict.findings, found])

    def _why_not_again(self, verdict: Verdict) -> Failure | None:
        """Why the engine gets no further go at it, if so."""
        story, ended = self._story, self._story.engine_ended
        reasons = "\n".join(verdict.reasons)
        if verdict.outcome is Outcome.UNPROVEN:
            return Failure(FailureReason.UNPROVEN, reasons)
        if ended is not None and ended.reason is not None:
            return Failure(ended.reason, f"{ended.message}\n{reasons}", ended.by_engine)
        if ended is not None and ended.exit_code != 0 and self._nothing_new():
            what = f"the engine ended with exit {ended.exit_code} and changed nothing: {ended.output_tail}"
            return Failure(FailureReason.ERROR, what, by_engine=True)
        stuck = why_stop(story.attempts)
        if stuck is not None:
            return Failure(FailureReason.NO_PROGRESS, f"{stuck}\n{reasons}")
        if story.iterations_left < 1:
            return Failure(FailureReason.VERIFICATION, reasons)
        return None

    def _nothing_new(self) -> bool:
        before = self._story.attempts[-2].tree if len(self._story.attempts) > 1 else None
        return self._story.tree == before or (self._story.diff is not None and self._story.diff.files == 0)
