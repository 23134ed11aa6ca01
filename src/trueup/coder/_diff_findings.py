"""What a change looks like, as findings: its files are fetched, and read without being run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from trueup.contract import Baseline
from trueup.workspace import FileChange

from ._protected import Protected
from ._stage import Stage
from ._suspicions import ChangedFile, Context, suspicions
from ._verdict import Finding

MOST_BYTES = 4 << 20
MOST_STANDARDS = 200
SUBMODULE = "160000"
TEST_LIKE = tuple(".py .js .ts .mjs .cjs .tsx .jsx .sh .bash .bats .c .cc .cpp .h .go .rs .java .rb .php".split())


async def diff_findings(
    stage: Stage, protected: Protected, changes: list[FileChange], baseline: Baseline
) -> list[Finding]:
    """Everything about a change that a person should look at, or that no honest change has."""
    files = await _changed_files(stage, protected, changes)
    context = Context(
        base_paths=stage.base_paths,
        standards=await asyncio.to_thread(_standards, stage, protected),
        commands=[check.command for check in stage.contract.checks],
        goals=[stage.check(goal.name).command for goal in baseline.goals],
        intent=stage.contract.description,
    )
    return await asyncio.to_thread(suspicions, files, context)


async def _changed_files(stage: Stage, protected: Protected, changes: list[FileChange]) -> list[ChangedFile]:
    blobs = [
        blob
        for change in changes
        for blob, mode in ((change.old_id, change.old_mode), (change.new_id, change.new_mode))
        if blob is not None and mode != SUBMODULE
    ]
    sizes = await stage.mirror.sizes(blobs)
    contents = await stage.mirror.read_many(blob for blob in blobs if sizes.get(blob, MOST_BYTES) < MOST_BYTES)
    return [
        ChangedFile(
            path=change.path,
            old=_content(change.old_id, contents),
            new=_content(change.new_id, contents),
            old_mode=change.old_mode,
            new_mode=change.new_mode,
            protected=protected.reason(change.path) is not None,
        )
        for change in changes
    ]


def _content(blob: str | None, contents: dict[str, bytes]) -> bytes | None:
    # Too large to be read, or a repository of its own: it is there, and that is all that is known.
    return None if blob is None else contents.get(blob, b"")


def _standards(stage: Stage, protected: Protected) -> dict[str, bytes]:
    """The base's tests, whose answers a change may have copied."""
    tests = protected.among(path for path in stage.base_paths if path.endswith(TEST_LIKE))
    return dict(_read(stage, tests[:MOST_STANDARDS]))


def _read(stage: Stage, paths: Iterable[str]) -> Iterable[tuple[str, bytes]]:
    for path in paths:
        text = stage.read_base(path)
        if text is not None:
            yield path, text.encode(errors="surrogatepass")
