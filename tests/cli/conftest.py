"""The command line as a user has it: a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from coded import User
from trueup.core.process import Command, Finished, run

TRUEUP = str(Path(sys.executable).with_name("trueup"))


@pytest.fixture(autouse=True)
def no_keys(monkeypatch) -> None:
    """No test calls a vendor in the name of the person who runs it."""
    for vendor in ("ANTHROPIC", "OPENAI", "CODEX"):
        monkeypatch.delenv(f"{vendor}_API_KEY", raising=False)
        monkeypatch.delenv(f"{vendor}_BASE_URL", raising=False)


@pytest.fixture
def trueup(tmp_path, private_home):
    async def call(*arguments: str, stdin: bytes = b"", cwd: Path = tmp_path, **environ: str) -> Finished:
        env = {**os.environ, **environ}
        return await run(Command(argv=(TRUEUP, *arguments), stdin=stdin, cwd=cwd, env=env, timeout_secs=60))

    return call


@pytest.fixture
def user_of_code(tmp_path, monkeypatch) -> User:
    """The Python that runs the suite, a cache and a store of its own, and a repository with a bug."""
    monkeypatch.setenv("PATH", f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return User(tmp_path)
