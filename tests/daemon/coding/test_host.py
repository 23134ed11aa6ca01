from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from session_play import Play
from trueup.coder import Absent, Accept, Approve, CodeRequest, Edit, SendBack, State
from trueup.contract import Check, Contract
from trueup.core.errors import InputError, TrueupError
from trueup.daemon.coding import Coding, session_row, session_view
from trueup.daemon.coding._host import MOST_AT_WORK
from trueup.runs import RunStore
from trueup.workspace import Identity

SUITE = "python3 -m unittest discover -s tests -t . -q"
MEND = "sed -i \"s/'_')/'-')/\" slug.py"
ADA = Identity("Ada", "ada@example.org")
SECS = 60


@pytest.fixture
async def play(project):
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Play(project, store)


@pytest.fixture
async def coding(play):
    async with Coding(play.store) as coding:
        yield coding


def asked(play, script=MEND, *checks: str) -> CodeRequest:
    wanted = Contract(description="slugs", checks=[Check(name="suite", command=each) for each in checks or (SUITE,)])
    return CodeRequest(
        intent="Make slugs join by dashes", folder=str(play.project.root), engine=play.engine(script), contract=wanted
    )


async def test_a_session_is_agreed_to_worked_on_and_delivered_by_one_process_after_the_other(play, coding):
    session_id = await coding.start(asked(play), secs=SECS)
    proposed = await coding.sessions.story(session_id)
    assert proposed.state is State.CONTRACT_PROPOSED
    assert session_view(proposed, live=False).needs_you == "contract"
    await coding.answer(proposed, Accept("Ada"), secs=SECS)
    verified = await until(coding, session_id, State.NEEDS_APPROVAL)
    assert verified.verdict.outcome == "verified"
    await coding.answer(verified, Approve(ADA), secs=SECS)
    merged = await until(coding, session_id, State.MERGED)
    assert merged.delivered.commit == await play.head()
    (row,) = [session_row(each) for each in await coding.sessions.list()]
    assert (row.session_id, row.state, row.live, row.needs_you) == (session_id, State.MERGED, False, None)


async def test_a_contract_that_gates_nothing_waits_for_another_one(play, coding):
    session_id = await coding.start(asked(play, MEND, "python3 -c 'import slug; slug.words'"), secs=SECS)
    useless = await coding.sessions.story(session_id)
    view = session_view(useless, live=False)
    assert (view.state, view.baseline_gates_nothing) == (State.CONTRACT_PROPOSED, True)
    better = Contract(description="slugs", checks=[Check(name="suite", command=SUITE)])
    await coding.answer(useless, Edit(better), Accept("Ada"), secs=SECS)
    verified = await until(coding, session_id, State.NEEDS_APPROVAL)
    assert [check.name for check in verified.verdict.checks] == ["suite"]


async def test_a_change_that_is_sent_back_is_worked_on_with_the_words(play, coding):
    script = f"cat > prompt.txt; {MEND}; grep -q louder prompt.txt && echo loud > loud.txt || true; rm prompt.txt"
    session_id = await coding.start(asked(play, script), secs=SECS)
    await coding.answer(await coding.sessions.story(session_id), Accept("Ada"), secs=SECS)
    first = await until(coding, session_id, State.NEEDS_APPROVAL)
    await coding.answer(first, SendBack("louder"), secs=SECS)
    second = await until(coding, session_id, State.NEEDS_APPROVAL, attempts=2)
    assert (first.diff.files, second.diff.files) == (1, 2)


async def test_what_is_wrong_with_a_request_is_told_and_leaves_no_session(play, coding):
    with pytest.raises(TrueupError, match="no such program"):
        await coding.start(
            CodeRequest(intent="x", folder=str(play.project.root), engine="command:nope-nope"), secs=SECS
        )
    assert await coding.sessions.list() == []


async def test_a_session_that_is_cancelled_twice_at_once_leaves_no_process_and_whoever_cancels_goes_on(play, coding):
    session_id = await coding.start(asked(play, "touch begun; sleep 600"), secs=SECS)
    await coding.answer(await coding.sessions.story(session_id), Accept("Ada"), secs=SECS)
    await until(coding, session_id, State.RUNNING)
    cancels = (coding.cancel(session_id, "cancelled: changed my mind") for _ in range(3))
    all_of_them = await asyncio.gather(*cancels, return_exceptions=True)
    assert [type(each) for each in all_of_them if isinstance(each, BaseException)] in ([InputError, InputError], [])
    assert (await coding.sessions.story(session_id)).state is State.ABANDONED
    assert await coding.sessions.owner(session_id) is None


async def test_who_asks_and_leaves_at_once_leaves_nobody_at_work(play):
    """Before there is a session, only the daemon knows of the process that is to begin it."""
    async with Coding(play.store) as coding:
        asking = asyncio.create_task(coding.start(asked(play, MEND, "sleep 60"), secs=SECS))
        async with asyncio.timeout(SECS):
            while not workers():
                await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])
    assert workers() == []


async def test_of_two_who_agree_at_once_one_is_told_that_it_is_done(play, coding):
    session_id = await coding.start(asked(play, "sleep 600"), secs=SECS)
    proposed = await coding.sessions.story(session_id)
    both = [coding.answer(proposed, Accept(name), secs=5) for name in ("Ada", "Grace")]
    results = await asyncio.gather(*both, return_exceptions=True)
    assert len(workers()) == 1
    assert [type(each) for each in results if each is not None] == [InputError]
    await coding.cancel(session_id, "enough")


async def test_no_more_work_is_begun_than_the_machine_can_take(play, coding):
    several = [asyncio.create_task(coding.start(asked(play, MEND, "sleep 60"), secs=SECS)) for _ in range(MOST_AT_WORK)]
    await asyncio.sleep(0)
    with pytest.raises(InputError, match="32 sessions are being worked on already; wait for one of them"):
        await coding.start(asked(play), secs=SECS)
    for each in several:
        each.cancel()
    await asyncio.wait(several)


def workers() -> list[int]:
    """The processes under this one that work on sessions."""
    parents, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if b"trueup.daemon.coding._worker" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return [each for each in found if os.getpid() in above(each, parents)]


def above(process: int, parents: dict[int, int]) -> list[int]:
    way = [process]
    while way[-1] in parents:
        way.append(parents[way[-1]])
    return way


async def test_sessions_are_left_when_the_daemon_ends_and_can_be_gone_on_with_from_a_terminal(play):
    async with Coding(play.store) as coding:
        session_id = await coding.start(asked(play, f"{MEND}; test -e {play.project.outside} || sleep 600"), secs=SECS)
        await coding.answer(await coding.sessions.story(session_id), Accept("Ada"), secs=SECS)
        await until(coding, session_id, State.RUNNING)
    left = await play.sessions.story(session_id)
    assert left.state is State.RUNNING
    assert await play.sessions.owner(session_id) is None
    await play.sessions.abandon(session_id, "enough")


async def test_a_session_of_a_terminal_is_approved_from_here(play, coding):
    story = await play.code(MEND, SUITE, person=Absent())
    assert story.state is State.NEEDS_APPROVAL
    await coding.answer(story, Approve(ADA), secs=SECS)
    assert (await until(coding, story.id, State.MERGED)).delivered.commit == await play.head()


async def until(coding: Coding, session_id: str, state: State, attempts: int = 0):
    async with asyncio.timeout(SECS):
        while True:
            story = await coding.sessions.story(session_id)
            if story.state is state and len(story.attempts) >= attempts:
                return story
            assert not story.state.is_final, (story.state, story.message)
            await asyncio.sleep(0.1)
