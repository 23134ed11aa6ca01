"""One evaluation of a tree: what its checks came to, and what they did to the files that decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from trueup.contract import CheckCompleted, CheckResult
from trueup.core.protocols import Event, Recorder
from trueup.workspace import Checkout, Dependencies, Fingerprint

from ._verdict import Finding, Severity


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


class Rewritten(msgspec.Struct, frozen=True):
    """That a protected file was no longer what it had been once a check had run."""

    check: str
    path: str

    def finding(self, *, on_base_too: bool) -> Finding:
        what = f"while check {self.check!r} ran, {self.path} was rewritten, which decides what checks do"
        if on_base_too:
            what = f"check {self.check!r} rewrites {self.path}, as it does on the base"
        severity = Severity.INFO if on_base_too else Severity.GATE
        return Finding(severity=severity, kind="rewritten", message=what, path=self.path, check=self.check)


class Watcher:
    """A recorder that looks, after each check, whether protected files still are what they were."""

    def __init__(self, recorder: Recorder, checkout: Checkout, before: dict[str, Fingerprint]) -> None:
        self._recorder = recorder
        self._checkout = checkout
        self._before = before
        self._one_at_a_time = asyncio.Lock()
        self.rewritten: list[Rewritten] = []

    async def record(self, event: Event) -> None:
        await self._recorder.record(event)
        if isinstance(event, CheckCompleted):
            async with self._one_at_a_time:
                await self._look(event.result.name)

    async def _look(self, check: str) -> None:
        found = await self._checkout.rewritten(self._before)
        if found:
            self.rewritten += [Rewritten(check, path) for path in found]
            # From here on what the next check does to them is news.
            self._before.update(await self._checkout.fingerprints(found))

    def findings(self, is_known: Callable[[Rewritten], bool]) -> list[Finding]:
        """What was seen; what the same check does on the base is known and no reason to refuse."""
        return [each.finding(on_base_too=is_known(each)) for each in self.rewritten]
