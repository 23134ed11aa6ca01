"""The command line as a user has it: a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import command_line
from coded import TRUEUP, User
from trueup.core.process import Command, Finished, run


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
        if any(name.startswith("PYTHON") for name in environ):
            # Those are for an interpreter that starts.
            return await run(Command(argv=(TRUEUP, *arguments), stdin=stdin, cwd=cwd, env=env, timeout_secs=60))
        return await command_line.call(*arguments, stdin=stdin, cwd=cwd, env=env)

    return call


@pytest.fixture
def user_of_code(tmp_path, plain_path, monkeypatch) -> User:
    """A cache and a store of its own, and a repository with a bug."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return User(tmp_path)
