"""A session goes on in the folder in which it began, and in no other."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest

from trueup.core.errors import Kind
from trueup.core.process import Command, Process
from trueup.harness import HarnessRequest, Status, find_harness
from trueup.testing import EventLog

SESSION = "01a1df51-d6a3-7c61-9908-6f62a15dd9b0"
FILES = {
    "claude-code": (
        f".claude/projects/-somewhere/{SESSION}.jsonl",
        lambda folder: [
            {"type": "queue-operation", "content": "p" * 100_000},
            {"type": "user", "message": {}, "cwd": folder},
        ],
    ),
    "codex": (
        f".codex/sessions/2026/11/15/rollout-2026-11-15T13-07-24-{SESSION}.jsonl",
        lambda folder: [{"type": "session_meta", "payload": {"cwd": folder}}],
    ),
}


class Here:
    """A `Launcher` that starts programs where the test runs."""

    @asynccontextmanager
    async def launch(self, command: Command):
        async with Process(command) as process:
            yield process


@pytest.fixture(params=list(FILES))
def agent(request, tmp_path):
    """An agent that does nothing, with a session of its own that began in the folder `old`."""
    for name in ("old", "new", "bin"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / {"claude-code": "claude"}.get(request.param, request.param)
    program.write_text("#!/bin/sh\necho begun >&2\n")
    program.chmod(0o755)
    place, lines = FILES[request.param]
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines(str(tmp_path / "old"))))
    environ = {"HOME": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}

    async def resume(folder, session=SESSION):
        asked = HarnessRequest(prompt="go on", cwd=str(folder), resume=session, env=environ)
        return await find_harness(request.param, environ).run(asked, Here(), EventLog())

    return resume


async def test_from_another_folder_it_is_refused_and_told_where_it_began(agent, tmp_path):
    result = await agent(tmp_path / "new")
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.SESSION_NOT_FOUND)
    assert f"began in {tmp_path / 'old'}, and cannot go on in {tmp_path / 'new'}" in result.error
    assert "begun" not in result.stderr


async def test_by_whatever_name_the_same_folder_is_the_same(agent, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "old")
    assert "begun" in (await agent(tmp_path / "link")).stderr


@pytest.mark.parametrize("session", ["99999999-2222-4333-8444-555555555555", "*", "../../../x", ""])
async def test_of_a_session_that_is_not_known_here_the_agent_itself_says_so(agent, tmp_path, session):
    assert "begun" in (await agent(tmp_path / "new", session)).stderr
