"""The paths of a base that decide what checks do, and trees in which they are as the base has them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cached_property

import msgspec
from msgspec import Struct

from trueup.contract import Protection, merge_protected
from trueup.workspace import FileChange

from ._stage import Stage
from ._verdict import Finding, Severity

REGULAR_FILE = "100644"
PLAIN_FILES = (REGULAR_FILE, "100755")
TEST_FILE = "test file"


class Restored(Struct, frozen=True):
    """A change's tree with protected paths as the base has them: which were touched, and what is to be said of it."""

    tree: str
    touched: list[str]
    findings: list[Finding]


class Protected:
    """What is protected on one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._reasons: dict[str, str | None] = {}

    def reason(self, path: str) -> str | None:
        """Why a path is protected; remembered, since every evaluation asks about every path."""
        if path not in self._reasons:
            reason = self._protection.covers(path)
            self._reasons[path] = str(reason) if reason else None
        return self._reasons[path]

    def among(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if self.reason(path)]

    def is_lifted(self, path: str) -> bool:
        """Whether a path would be protected, had the contract not made it editable."""
        return self._full_protection.covers(path) is not None

    async def restore(self, tree: str, changes: list[FileChange]) -> Restored:
        """Undo what a change did to protected paths, and to the protected keys of manifests."""
        touched = self.among(change.path for change in changes)
        only_more = await self._tests_that_only_grew(changes)
        findings = [self._touched_finding(path, only_more=path in only_more) for path in touched]
        restored = await self._stage.mirror.restored(tree, self._stage.base_tree, touched)
        restored, more = await self._restore_manifests(restored, changes)
        return Restored(restored, touched, [*findings, *more])

    @cached_property
    def _protection(self) -> Protection:
        return Protection.of(self._stage.contract, self._stage.base_paths, self._stage.read_base)

    @cached_property
    def _full_protection(self) -> Protection:
        contract = msgspec.structs.replace(self._stage.contract, editable=[])
        return Protection.of(contract, self._stage.base_paths, self._stage.read_base)

    async def _restore_manifests(self, tree: str, changes: Iterable[FileChange]) -> tuple[str, list[Finding]]:
        """Put back the protected keys of manifests that are otherwise free to change."""
        mirror = self._stage.mirror
        files: dict[str, tuple[str, bytes]] = {}
        findings = []
        for change in changes:
            if not self._protection.by_key(change.path):
                continue
            if change.new_mode and change.new_mode not in PLAIN_FILES:
                tree = await mirror.restored(tree, self._stage.base_tree, [change.path])
                what = f"{change.path} is no longer a plain file, but decides what checks do; the base's was used"
                findings.append(Finding(severity=Severity.FLAG, kind="protected_path", message=what, path=change.path))
                continue
            text = (await mirror.read(change.new_id)).decode(errors="replace") if change.new_id else ""
            merged = merge_protected(change.path, self._stage.read_base(change.path), text)
            if merged.touched:
                files[change.path] = (REGULAR_FILE, merged.text.encode(errors="surrogatepass"))
                what = f"{', '.join(merged.touched)} of {change.path} decides what checks do; the base's was used"
                findings.append(Finding(severity=Severity.FLAG, kind="protected_key", message=what, path=change.path))
        return (await mirror.with_files(tree, files) if files else tree), findings

    async def _tests_that_only_grew(self, changes: Iterable[FileChange]) -> set[str]:
        """Test files that are new, or have every line that they had: they ask for more, and for nothing less."""
        tests = [
            change for change in changes if self.reason(change.path) == TEST_FILE and change.new_mode in PLAIN_FILES
        ]
        grown = {change.path for change in tests if change.old_id is None}
        kept = [change for change in tests if change.old_mode == change.new_mode]
        ids = [blob for change in kept for blob in (change.old_id, change.new_id) if blob]
        contents = await self._stage.mirror.read_many(ids)
        for change in kept:
            old, new = contents[str(change.old_id)], contents[str(change.new_id)]
            if await asyncio.to_thread(_has_every_line_of, new, old):
                grown.add(change.path)
        return grown

    def _touched_finding(self, path: str, *, only_more: bool) -> Finding:
        what = f"{path} is protected ({self.reason(path)}); the base's was used beside the change's own"
        severity = Severity.FLAG
        if only_more:
            what, severity = f"{path} has new tests, which ran in addition to the base's", Severity.INFO
        return Finding(severity=severity, kind="protected_path", message=what, path=path)


def _has_every_line_of(new: bytes, old: bytes) -> bool:
    """Whether a text has all lines of another, in their order."""
    lines = iter(new.splitlines())
    return all(line in lines for line in old.splitlines())
