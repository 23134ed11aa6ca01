"""Coder sessions through the typed client: a real daemon, a real repository, an engine that is a real program."""

from __future__ import annotations

import asyncio

import pytest

from documented import run_example
from session_play import Play
from small_project import project
from trueup.coder import State
from trueup.contract import Check, Contract
from trueup.daemon import CoderStart, RpcError, connect

__all__ = ["project"]

SUITE = "python3 -m unittest discover -s tests -t . -q"
MEND = "sed -i \"s/'_')/'-')/\" slug.py"
PATIENCE_SECS = 90


@pytest.fixture
async def play(project, store, database, monkeypatch):
    monkeypatch.setenv("TRUEUP_DATABASE_URL", database)
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    return Play(project, store)


async def test_the_documented_session_is_begun_agreed_to_watched_and_approved(play, front, monkeypatch, capsys):
    monkeypatch.setenv("TRUEUP_DAEMON_URL", front.url)
    async with asyncio.timeout(PATIENCE_SECS):
        await run_example("client.md", "Sessions", repository=str(play.project.root), engine=play.engine(MEND))
    said = capsys.readouterr().out
    assert "+++ b/slug.py" in said

    async with connect(front.url) as client, asyncio.timeout(PATIENCE_SECS):
        (row,) = await client.sessions.list()
        over = await client.sessions.get(row.session_id)
        whole = [event async for event in client.sessions.events(row.session_id[:8])]
        half = whole[len(whole) // 2]["seq"]
        rest = [event async for event in client.sessions.events(row.session_id, from_seq=half)]
        nothing = [event async for event in client.sessions.events(row.session_id, from_seq=whole[-1]["seq"] + 1)]
    assert (row.state, over.state, over.commit) == (State.MERGED, State.MERGED, await play.head())
    assert [f"{event['seq']} {event['type']}" in said for event in whole] == [True] * len(whole)
    assert (whole[-1]["state"], rest, nothing) == ("merged", whole[len(whole) // 2 :], [])


async def test_a_session_is_given_up_with_a_reason(play, front):
    wanted = Contract(description="slugs", checks=[Check(name="suite", command=SUITE)])
    asked = CoderStart(repo=str(play.project.root), intent="x", engine=play.engine(MEND), contract=wanted)
    async with connect(front.url, human=True) as client, asyncio.timeout(PATIENCE_SECS):
        started = await client.sessions.start(asked)
        ended = await client.sessions.cancel(started.session_id, "changed my mind")
        again = await client.sessions.cancel(started.session_id)
        with pytest.raises(RpcError, match="abandoned"):
            await client.sessions.confirm(started.session_id)
    assert (ended.state, ended.already_terminal, ended.message) == (
        State.ABANDONED,
        False,
        "cancelled: changed my mind",
    )
    assert again.already_terminal
