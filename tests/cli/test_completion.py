"""Completion as shells do it: real ones, asked for real words."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from coded import TRUEUP
from terminals import Terminal
from trueup.runs import RunStore, Started, newest_runs

SHELLS = ("bash", "zsh", "fish")
START = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
READY = {
    "bash": "PS1='$ '; eval \"$(trueup completion bash)\"; echo rea''dy\n",
    "zsh": "PS1='$ '; autoload -U compinit; compinit -D -u; eval \"$(trueup completion zsh)\"; echo rea''dy\n",
    "fish": "trueup completion fish | source; echo rea''dy\n",
}


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    # Where fish keeps a file of its own.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("TRUEUP_DATABASE_URL", raising=False)
    monkeypatch.setenv("PATH", f"{Path(TRUEUP).parent}:/usr/local/bin:/usr/bin:/bin")


@pytest.fixture
def completed(trueup):
    """What is offered for the last of some words, as bash asks for it."""

    async def ask(*words: str) -> list[str]:
        asked = {"COMP_WORDS": " ".join(["trueup", *words]), "COMP_CWORD": str(len(words))}
        finished = await trueup(**asked, _TRUEUP_COMPLETE="bash_complete")
        assert (finished.exit_code, finished.stderr.text) == (0, "")
        return [line.partition(",")[2] for line in finished.stdout.text.split()]

    return ask


@pytest.fixture
async def session_id() -> str:
    async with await RunStore.open() as store:
        await store.start(Started("not a session"), kind="run")
        return (await store.start(Started("mend add()"), kind="session")).run_id


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_shell_completes_commands_options_agents_and_ids_as_they_are_typed(tmp_path, session_id, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    async with Terminal((shutil.which(shell), *START[shell][1:]), tmp_path, os.environ) as terminal:
        terminal.type(READY[shell])
        seen = await terminal.see("ready\n")
        for typed, finished in (
            ("trueup harn", "trueup harness "),
            ("trueup harness pro", "trueup harness probe "),
            ("trueup code --engine claude", "trueup code --engine claude-code "),
            ("trueup code --max-it", "trueup code --max-iterations "),
            ("trueup code show ", f"trueup code show {session_id} "),
        ):
            terminal.type(f"{typed}\t")
            # Shells draw only what has changed, so the word is printed once it is whole.
            terminal.type("\x01echo \x05| tr a-z A-Z\n")
            seen = await terminal.see(finished.upper().strip(), after=seen)


async def test_what_is_offered_is_what_the_commands_take(completed, session_id):
    assert {"code", "serve", "test", "completion"} <= set(await completed(""))
    assert await completed("co") == ["code", "contract", "config", "completion"]
    assert await completed("code", "res") == ["resume", "respond"]
    assert await completed("code", "--eng") == ["--engine"]
    assert await completed("code", "intent", "--deliver", "") == ["merge", "branch", "patch", "none"]
    assert await completed("harness", "probe", "cl") == ["claude-code", "cline"]
    assert await completed("code", "show", "") == [session_id]
    assert session_id in (offered := await completed("runs", "show", ""))
    assert len(offered) == 2
    assert await completed("runs", "export", session_id, "--format", "h") == ["html"]
    assert await completed("nonsense", "x") == []


async def test_the_commands_are_kept_for_the_next_word_and_made_again_for_another_trueup(completed, tmp_path):
    kept = tmp_path / "cache" / "trueup" / "completion.json"
    assert await completed("sch") == ["schema"]
    tree = json.loads(kept.read_text())
    # What is kept is what is read.
    tree["tree"]["commands"]["school"] = tree["tree"]["commands"]["schema"]
    kept.write_text(json.dumps(tree))
    assert await completed("sch") == ["schema", "school"]
    kept.write_text(json.dumps({**tree, "stamp": "another"}))
    assert await completed("sch") == ["schema"]
    for broken in ("{", "[]", '{"stamp": 1}'):
        kept.write_text(broken)
        assert await completed("sch") == ["schema"]


async def test_a_word_is_completed_where_nothing_can_be_kept(completed, tmp_path):
    (tmp_path / "cache").write_text("no folder")
    assert await completed("sch") == ["schema"]


async def test_a_database_that_is_elsewhere_broken_or_not_there_yet_offers_nothing_and_is_left_alone(
    tmp_path, monkeypatch
):
    file = tmp_path / "data" / "trueup" / "trueup.db"
    assert newest_runs(5) == []
    assert not file.exists()
    file.parent.mkdir(parents=True)
    file.write_text("no database")
    assert newest_runs(5) == []
    sqlite3.connect(tmp_path / "empty.db").close()
    for url in (f"sqlite:///{tmp_path}/empty.db", "postgresql://127.0.0.1:1/x", "nonsense"):
        monkeypatch.setenv("TRUEUP_DATABASE_URL", url)
        assert newest_runs(5) == []


async def test_the_newest_runs_come_first_and_not_all_of_them(tmp_path):
    async with await RunStore.open() as store:
        made = [(await store.start(Started(f"intent {number}"), kind="session")).run_id for number in range(5)]
        other = (await store.start(Started("other"), kind="race")).run_id
        assert newest_runs(3, kind="session") == [(made[number], f"intent {number}") for number in (4, 3, 2)]
    assert newest_runs(9)[0] == (other, "other")


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_script_is_printed_for_each_shell(trueup, shell):
    finished = await trueup("completion", shell)
    assert (finished.exit_code, finished.stderr.text) == (0, "")
    assert f"_TRUEUP_COMPLETE={shell}_complete" in finished.stdout.text


async def test_another_shell_is_bad_input(trueup):
    finished = await trueup("completion", "tcsh")
    assert finished.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in finished.stderr.text
