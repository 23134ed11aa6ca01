"""What somebody meets in the first minutes: words that are nearly right, files that are not there, help to choose by."""

from __future__ import annotations

import pytest

from daemon_clients import serving
from trueup.runs import RunStore, Started

GROUPS = ["attest", "cache", "code", "config", "contract", "harness", "hook", "policy", "runs", "schema", "skill"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("chek",), "Did you mean one of: 'cache', 'check'"),
        (("code", "aprove"), "'aprove' is nearly the verb 'approve': `trueup code approve …`"),
        (("code", "--engin", "x"), "Try 'trueup code --help' for help."),
        (("test", "--platfrom", "x"), "Try 'trueup test --help' for help."),
        (("test", "comapre", "a.json", "b.json"), "'comapre' is no path, and nearly the verb 'compare'"),
        (("code", "show", "zzz"), "there is no session 'zzz'; `trueup code list --all` shows"),
        (("trust",), "write one with `trueup init`"),
    ],
)
async def test_what_is_nearly_right_is_answered_with_what_is(trueup, words, said):
    finished = await trueup(*words)
    assert (finished.exit_code, said in finished.stderr.text) == (2, True), finished.stderr.text


async def test_a_path_that_is_called_nearly_like_a_verb_is_a_path(trueup, tmp_path):
    (tmp_path / "compared").mkdir()
    finished = await trueup("test", "compared")
    assert "verb" not in finished.stderr.text


@pytest.mark.parametrize("group", [*GROUPS, "test", "workspace"])
async def test_help_says_of_every_verb_what_it_does_to_the_end(trueup, group):
    finished = await trueup(group, "--help", COLUMNS="80")
    verbs = finished.stdout.text.split("\nCommands:\n")[1]
    assert "..." not in verbs
    assert max(map(len, verbs.splitlines())) <= 80


async def test_without_an_engine_the_agents_are_named_too(user_of_code):
    finished = await user_of_code.trueup("code", "make add() add")
    assert finished.exit_code == 2
    assert "--engine claude-code" in finished.stderr.text
    assert "trueup harness list" in finished.stderr.text


@pytest.mark.parametrize("command", [("check",), ("code", "x", "--engine", "command:true")])
async def test_a_contract_that_is_nowhere_is_not_called_the_changes_own(user_of_code, command):
    finished = await user_of_code.trueup(*command, "--contract", "typo.yaml")
    assert finished.exit_code == 2
    assert "typo.yaml: no such file" in finished.stderr.text


async def test_the_link_to_the_pages_comes_from_the_daemon_that_was_named(trueup, private_home):
    async with serving() as served:
        finished = await trueup("pages", TRUEUP_DAEMON_URL=served.url)
        by_port = await trueup("pages", "--port", str(served.where["port"]))
    for each in (finished, by_port):
        assert f":{served.where['port']}/" in each.stdout.text, each.stderr.text


async def test_a_base_without_checks_is_not_called_by_its_folder_in_the_cache(user_of_code):
    finished = await user_of_code.trueup("code", "x", "--engine", "command:true")
    assert "no checks were found in the base " in finished.stdout.text
    assert "trueup contract derive" in finished.stdout.text


async def test_runs_of_every_kind_stand_in_columns(trueup, private_home):
    async with await RunStore.open() as store:
        for kind in ("run", "cell", "session"):
            first = await store.start(Started("the intent"), kind=kind)
        # As the sessions of a race are called.
        await store.start(Started("the intent"), kind="session", run_id=f"{first.run_id}-1")
    listed = (await trueup("runs", "list")).stdout.text.splitlines()
    assert len({line.index("in_progress") for line in listed}) == 1


async def test_what_the_provider_without_a_model_answers_is_not_taken_for_an_agents(trueup, tmp_path):
    await trueup("skill", "init", "mine")
    words = ("test", "cases/greets.skilltest.yaml", "--no-record")
    finished = await trueup(*words, "--platform", "claude-code", cwd=tmp_path / "mine")
    assert finished.exit_code == 0
    assert "note: no agent ran" in finished.stdout.text
    assert "provider: {kind: harness}" in finished.stdout.text
