"""Speed, as ratios and differences against a reference measured in the same run: `make bench`."""

from __future__ import annotations

import asyncio
import sys

from bench import daemon, harness, process, proxy, runs, session, workspace


async def main() -> int:
    """Run every bench; a word on the command line picks those whose name has it in it."""
    wanted = sys.argv[1:] or [""]
    every = (
        *process.BENCHES,
        *workspace.BENCHES,
        *runs.BENCHES,
        *session.BENCHES,
        *harness.BENCHES,
        *proxy.BENCHES,
        *daemon.BENCHES,
    )
    benches = [each for each in every if any(word in each.__name__ for word in wanted)]
    held = [await bench() for bench in benches]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
