"""Sandbox, layers and snapshots, the large ones on a repository of 50,000 files."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.measure import medians, milliseconds, more_milliseconds, report, timed
from trueup.contract import Check, Contract, evaluate
from trueup.core.process import Command, run
from trueup.testing import EventLog
from trueup.workspace import Backend, Layers, Mirror, Repository, Scratch, Stack, StackPlan, Workspace, find_backend

FILES = 50_000
ENTER_LIMITS_SECS = {"bubblewrap": 0.012, "unshare": 0.060}


@asynccontextmanager
async def small_stack(backend: Backend) -> AsyncIterator[Stack]:
    """A stack on one empty layer."""
    with tempfile.TemporaryDirectory(prefix="trueup-bench-") as name:
        folder = Path(name)
        (folder / "layer").mkdir()
        scratch = Scratch.create(folder)
        try:
            async with Stack(StackPlan(repo=Path("/bench"), layers=(folder / "layer",)), backend, scratch) as stack:
                yield stack
        finally:
            scratch.discard()


async def entering() -> bool:
    """A command inside a stack against the same command outside, for every backend that is installed."""
    held = []
    for name, limit in ENTER_LIMITS_SECS.items():
        if subprocess.run(["which", name.replace("bubblewrap", "bwrap")], check=False, capture_output=True).returncode:
            continue
        async with small_stack(Backend(name)) as stack:

            async def outside() -> None:
                await run(Command(argv=("sh", "-c", "true")))

            async def inside(stack: Stack = stack) -> None:
                await stack.run_argv(("sh", "-c", "true"))

            await inside()
            reference, measured = await medians(100, outside, inside)
        added = measured - reference
        held.append(
            report(
                f"entering a stack, {name}",
                more_milliseconds(added),
                f"+{limit * 1000:.0f} ms",
                added <= limit,
                reference=f"{milliseconds(reference)} outside",
                ratio=measured / reference,
            )
        )
    return all(held)


async def side_by_side() -> bool:
    """Ten checks of one second each that say they are independent."""
    checks = [Check(name=f"nap_{number}", command="sleep 1", parallel=True) for number in range(10)]
    contract = Contract(description="naps", checks=checks)
    async with small_stack(await find_backend()) as stack:
        took = await timed(lambda: evaluate(contract, stack, EventLog(), jobs=10))
    return report(
        "ten 1 s checks with --jobs 10", f"{took:.2f} s", "1.3 s", took <= 1.3, reference="1 s for one", ratio=took
    )


def make_large_repository(root: Path, files: int = FILES) -> None:
    """Many small files in many folders, committed."""
    root.mkdir()
    for number in range(files):
        folder = root / f"folder{number // 250}"
        folder.mkdir(exist_ok=True)
        (folder / f"file{number}.txt").write_text(f"{number}\n")
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), (*identity, "commit", "-qm", "large")):
        subprocess.run(["git", *arguments], cwd=root, check=True)


async def large_repository() -> bool:
    """The second evaluation of a base, and the snapshot of a small change, with 50,000 files."""
    with tempfile.TemporaryDirectory(prefix="trueup-bench-") as name:
        make_large_repository(Path(name) / "repo")
        repo = await Repository.open(Path(name) / "repo")
        mirror = await Mirror.open(repo, Path(name) / "store" / "mirror")
        layers = Layers(repo, mirror, Path(name) / "store", await find_backend())
        base = (await repo.head()).commit

        async def ready() -> None:
            async with layers.pristine(base):
                pass

        first, again = await timed(ready), min([await timed(ready) for _ in range(5)])
        held = report(
            "second evaluation of a base, 50,000 files",
            milliseconds(again),
            "100 ms",
            again <= 0.100,
            reference=f"{first:.1f} s for the first",
            ratio=again / first,
        )
        workspace = await Workspace.create(layers, base)
        async with workspace.open() as shell:
            await shell.stack.run_argv(("bash", "-c", "echo changed > folder7/file1800.txt; echo new > new.txt"))
        cold, warm = await timed(workspace.snapshot), await timed(workspace.snapshot)
        await workspace.discard()
        small = report(
            "snapshot of a small change, 50,000 files",
            f"{warm:.2f} s",
            "1 s",
            min(cold, warm) <= 1,
            reference=f"{cold:.2f} s for the first",
            ratio=warm / cold,
        )
        return small and held


BENCHES = (entering, side_by_side, large_repository)
