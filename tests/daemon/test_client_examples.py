"""Every example of docs/client.md runs. That of sessions is in test_client_sessions."""

from __future__ import annotations

import asyncio

import pytest

from documented import examples, run_example
from trueup.daemon import Daemon, keep_tokens, listen, token_folder

DOCUMENT = "client.md"
SESSIONS = "Sessions"
TITLES = [title for title in examples(DOCUMENT) if title != SESSIONS]


@pytest.fixture
async def served(store, monkeypatch):
    """A daemon where a program finds it by itself."""
    tokens = keep_tokens(token_folder())
    async with Daemon(store, tokens=tokens, token_folder=token_folder()) as daemon, listen(daemon) as front:
        monkeypatch.setenv("TRUEUP_DAEMON_URL", front.url)
        yield front


@pytest.mark.parametrize("title", TITLES)
async def test_an_example_runs_as_it_is_written(title, served, store, capsys):
    async with asyncio.timeout(60):
        await run_example(DOCUMENT, title)
    said = capsys.readouterr().out
    runs = await store.list()
    assert all(run.status == "completed" for run in runs)
    match title:
        case "Programs that talk to trueup":
            assert said == "['bought milk', 'sold milk']\n"
            assert (runs[0].summary, runs[0].agent_id) == ("2 lines", "ada")
        case "Runs":
            assert [line.split()[-1] for line in said.splitlines()] == ["Started", "ModelTurn", "Turn", "Ended"]
        case "When the connection is lost":
            assert "was lost" in said
        case "Errors and everything else":
            assert said.startswith("there is no run nope")


def test_there_are_examples_to_run():
    assert len(TITLES) == 6
