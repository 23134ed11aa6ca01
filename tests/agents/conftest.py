"""Real agent programs, installed once into a cache outside of the repository."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agents_from_npm import InstallError, agents_from_npm
from small_project import project
from trueup.core.process import Command, run
from trueup.workspace._locks import locked

# Before any test changes HOME.
ENVIRON = dict(os.environ)
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trueup-test-agents"
PACKAGES = ("claude-agent-sdk>=0.1,<1", "openai-codex>=0.1,<1")


@pytest.fixture(scope="session")
def agent_programs() -> dict[str, Path]:
    """The programs by name; where they cannot be installed, the tests are skipped with a loud line."""
    complaint = asyncio.run(_install())
    found = {
        "claude": CACHE / "claude_agent_sdk" / "_bundled" / "claude",
        "codex": CACHE / "codex_cli_bin" / "bin" / "codex",
    }
    missing = [name for name, program in found.items() if not program.exists()]
    if missing:
        pytest.skip(f"NO REAL AGENT: {', '.join(missing)} could not be installed from PyPI: {complaint}")
    return found


@pytest.fixture(scope="session")
def npm_agents() -> Path:
    """The folder of the agents that are Node packages; skipped as loudly where they cannot be had."""
    try:
        return asyncio.run(agents_from_npm(CACHE, ENVIRON))
    except InstallError as error:
        pytest.skip(f"NO REAL AGENT: {error}")


async def _install() -> str:
    """Install them unless they are there; what pip said where it could not."""
    async with locked(CACHE.with_suffix(".lock")):
        if (CACHE / "complete").exists():
            return ""
        argv = (sys.executable, "-m", "pip", "install", "--quiet", "--target", str(CACHE), "--upgrade", *PACKAGES)
        finished = await run(Command(argv=argv, timeout_secs=600, merge_stderr=True))
        if finished.exit_code != 0:
            return finished.stdout.tail(300).strip()
        (CACHE / "complete").touch()
        return ""


__all__ = ["agent_programs", "npm_agents", "project"]
