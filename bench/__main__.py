"""Speed, as ratios and differences against a reference measured in the same run: `make bench`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence

from bench import daemon, harness, process, proxy, runs, session, skills, workspace
from bench.measure import ROWS, report
from bench.table import as_text, summary, write

Bench = Callable[[], Awaitable[bool]]

EVERY: tuple[Bench, ...] = (
    *process.BENCHES,
    *workspace.BENCHES,
    *runs.BENCHES,
    *session.BENCHES,
    *harness.BENCHES,
    *proxy.BENCHES,
    *daemon.BENCHES,
    *skills.BENCHES,
)


async def main(words: Sequence[str], *, to_documents: bool) -> int:
    """Run the benches whose names have one of the words in them, or all; then print one table of them."""
    for bench in EVERY:
        if any(word in bench.__name__ for word in words or [""]):
            await _run(bench)
    print(f"\n{as_text(ROWS)}\n\n{summary(ROWS)}")
    if to_documents:
        print("\n".join(f"written: {file}" for file in write(ROWS)))
    return 0 if all(row.held for row in ROWS) else 1


async def _run(bench: Bench) -> None:
    try:
        await bench()
    # One that cannot be run must not hide what the others measured.
    except Exception as error:  # noqa: BLE001
        said = " ".join(f"{type(error).__name__}: {error}".split())
        report(bench.__name__.replace("_", " "), f"not measured: {said[:200]}", "", holds=False)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only benches with this in their name")
    parser.add_argument("--write", action="store_true", help="put the table into docs/numbers.md and README.md")
    asked = parser.parse_args()
    if asked.write and asked.words:
        parser.error("--write is for all of them: leave the words away")
    return asked


if __name__ == "__main__":
    asked = _arguments()
    sys.exit(asyncio.run(main(asked.words, to_documents=asked.write)))
