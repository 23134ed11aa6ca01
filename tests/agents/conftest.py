"""Real agent programs, installed once into a cache outside of the repository."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from pathlib import Path

import pytest

from small_project import project
from trueup.core.process import Command, run
from trueup.workspace._locks import locked

# Before any test changes HOME.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trueup-test-agents"
PACKAGES = ("claude-agent-sdk>=0.1,<1", "openai-codex>=0.1,<1")


@pytest.fixture(scope="session")
def agent_programs() -> dict[str, Path]:
    """The programs by name; where they cannot be installed, the tests are skipped with a loud line."""
    asyncio.run(_install())
    found = {
        "claude": CACHE / "claude_agent_sdk" / "_bundled" / "claude",
        "codex": CACHE / "codex_cli_bin" / "bin" / "codex",
    }
    missing = [name for name, program in found.items() if not program.exists()]
    if missing:
        pytest.skip(f"NO REAL AGENT: {', '.join(missing)} could not be installed from PyPI")
    return found


async def _install() -> None:
    async with locked(CACHE.with_suffix(".lock")):
        if (CACHE / "complete").exists():
            return
        argv = (sys.executable, "-m", "pip", "install", "--quiet", "--target", str(CACHE), "--upgrade", *PACKAGES)
        finished = await run(Command(argv=argv, timeout_secs=600, merge_stderr=True))
        if finished.exit_code == 0:
            (CACHE / "complete").touch()
        else:
            warnings.warn(f"real agents could not be installed: {finished.stdout.tail(300)}", stacklevel=1)


__all__ = ["agent_programs", "project"]
