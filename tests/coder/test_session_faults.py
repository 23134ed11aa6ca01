"""A session that is cut off, wherever that is, and gone on with by another process."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import msgspec
import pytest

import session_that_dies
from command_line import fork
from session_play import Play
from trueup.coder import Absent, State
from trueup.core.process import Command, Process
from trueup.runs import RunStore

TESTS = str(Path(__file__).parents[1])
MEND = "sed -i \"s/'_')/'-')/\" slug.py"
DASH = "grep -q \"'-'\" slug.py"

# In the order in which they happen; `plan_text` is said by the engine in the middle of its work.
MOMENTS = """
contract_proposed check_started contract_baseline state_changed:contract_proposed contract_confirmed
state_changed:contract_confirmed engine_selected state_changed:running iteration_started plan_text engine_ended
diff_ready budget state_changed:verifying verdict_reached state_changed:needs_approval approved merge_prepared
merge_completed
""".split()
# A killed process has no last word, so it is killed at every event; Ctrl-C is let through the states.
STATES = [moment for moment in MOMENTS if moment.startswith("state_changed") or moment in ("plan_text", "approved")]
DEATHS = [(signal.SIGKILL, moment) for moment in MOMENTS] + [(signal.SIGINT, moment) for moment in STATES]


@pytest.fixture
async def play(project):
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Play(project, store)


async def die(play: Play, at: str, how: signal.Signals, script: str) -> None:
    plan = {"request": msgspec.to_builtins(play.request(script, DASH)), "at": at, "signal": int(how)}
    died = await fork(session_that_dies.work, plan, cwd=play.project.root, env=os.environ)
    expected = (None, signal.SIGKILL) if how is signal.SIGKILL else (130, None)
    assert (died.exit_code, died.signal) == expected, died.stderr.text


async def nothing_runs_with(mark: str) -> None:
    """Whoever was killed cannot wait until its commands have ended; they do, on their own."""
    async with asyncio.timeout(20):
        while processes_with(mark):
            await asyncio.sleep(0.02)


def processes_with(mark: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in line and str(os.getpid()) != folder.name:
            found.append(line)
    return found


@pytest.mark.parametrize(("how", "moment"), DEATHS, ids=[f"{how.name}-{moment}" for how, moment in DEATHS])
async def test_a_session_cut_off_anywhere_loses_nothing_and_arrives(play, how, moment):
    before = await play.head()
    mark = f"77777.{os.getpid()}{MOMENTS.index(moment)}"
    script = f'echo \'{{"trueup": "plan", "text": "now"}}\'; (sleep {mark} &) ; {MEND}; sleep 0.3'
    await die(play, moment, how, script)

    delivered = moment == "merge_completed"
    assert await play.git("rev-parse", "HEAD~1" if delivered else "HEAD") == before
    assert await play.git("status", "--porcelain") == "", "the user's files are as they were, or as they were merged"
    await nothing_runs_with(f"sleep {mark}")

    (session,) = await play.sessions.list()
    assert session.owner is None
    assert not session.state.is_final
    story = await play.sessions.resume(session.id, Absent(yes=True), play.watching)
    assert story.state is State.MERGED, story.message
    assert await play.git("rev-parse", "HEAD~1") == before
    assert "'-'" in (play.project.root / "slug.py").read_text()
    assert await play.git("status", "--porcelain") == ""
    assert (await play.store.verify(session.id)).ok
    assert await play.git("stash", "list") == ""


async def test_a_workspace_whose_process_died_is_taken_over_with_its_files(play):
    script = f'echo \'{{"trueup": "plan", "text": "now"}}\'; test -f half || {{ touch half; sleep 5; }}; {MEND}'
    await die(play, "plan_text", signal.SIGINT, script)
    (session,) = await play.sessions.list()
    story = await play.sessions.resume(session.id, Absent(yes=True), play.watching)
    assert story.state is State.MERGED
    assert (play.project.root / "half").exists()


async def test_a_session_whose_workspace_was_cleaned_away_begins_anew(play, tmp_path):
    await die(play, "plan_text", signal.SIGKILL, f'echo \'{{"trueup": "plan", "text": "now"}}\'; {MEND}; sleep 0.5')
    shutil.rmtree(tmp_path / "cache")
    (session,) = await play.sessions.list()
    story = await play.sessions.resume(session.id, Absent(yes=True), play.watching)
    assert story.state is State.MERGED


async def test_no_workspace_is_left_behind_by_a_session_that_has_ended(play, tmp_path):
    await die(play, "verdict_reached", signal.SIGKILL, MEND)
    (session,) = await play.sessions.list()
    await play.sessions.abandon(session.id, "enough")
    assert list((tmp_path / "cache").glob("**/workspaces/top-*")) == []


async def test_what_a_cut_off_iteration_used_is_not_forgotten(play):
    script = (
        'echo \'{"trueup": "usage", "cost_usd": 0.5}\'; echo \'{"trueup": "plan", "text": "now"}\'; '
        + f"{MEND}; sleep 0.2"
    )
    await die(play, "plan_text", signal.SIGKILL, script)
    (session,) = await play.sessions.list()
    assert (await play.sessions.story(session.id)).used.cost_usd == 0.5
    story = await play.sessions.resume(session.id, Absent(yes=True), play.watching)
    assert (story.used.cost_usd, story.turns) == (1.0, 2)


async def test_a_session_whose_process_was_stopped_can_be_cancelled(play):
    plan = {"request": msgspec.to_builtins(play.request("sleep 600", DASH)), "at": "never", "signal": 9}
    program = f"import session_that_dies; session_that_dies.work({plan!r})"
    command = Command(argv=(sys.executable, "-c", program), env={**os.environ, "PYTHONPATH": TESTS}, timeout_secs=120)
    async with Process(command) as process:
        while not (found := await play.sessions.list()) or found[0].state is not State.RUNNING:
            await asyncio.sleep(0.05)
        os.kill(process.pid, signal.SIGSTOP)
        assert (await play.sessions.abandon(found[0].id, "enough")).state is State.ABANDONED


async def test_a_session_whose_repository_is_gone_can_be_ended(play):
    story = await play.code(MEND, DASH, person=Absent())
    assert story.state is State.NEEDS_APPROVAL
    shutil.rmtree(play.project.root)
    assert (await play.sessions.abandon(story.id, "it is gone")).state is State.ABANDONED
