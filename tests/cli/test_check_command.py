"""`trueup check` as a user calls it: the table, JSON, exit codes, what is checked and by which contract."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from checkouts import Checkout
from trueup.core.process import Command, Process
from trueup.workspace import store_of

TRUEUP = str(Path(sys.executable).with_name("trueup"))
GOAL = "python3 -c 'import calc; assert calc.add(2, 3) == 5'"
CONTRACT = f"contract:\n  description: it adds\n  checks:\n  - name: adds\n    command: {GOAL}\n"
RIGHT = "def add(a, b):\n    return a + b\n"


@pytest.fixture(autouse=True)
def machine(tmp_path, plain_path, monkeypatch):
    """A cache of its own, and no CI around it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def user(tmp_path) -> Checkout:
    checkout = Checkout(tmp_path / "user")
    checkout.write("calc.py", "def add(a, b):\n    return a - b\n")
    checkout.write("trueup.yaml", CONTRACT)
    checkout.write("sub/keep", "")
    checkout.commit("the base")
    return checkout


async def test_a_change_that_is_done_exits_zero_with_a_table(trueup, user):
    user.write("calc.py", RIGHT)
    finished = await trueup("check", cwd=user.root)
    assert finished.exit_code == 0, finished.stderr.text
    lines = finished.stdout.text.splitlines()
    assert lines[0].split() == ["check", "class", "result", "time"]
    assert lines[1].split()[:3] == ["adds", "goal", "green"]
    assert lines[-1].startswith(f"VERIFIED  base {user.head[:12]}")
    assert "baseline: at most 2 runs of 1 check" in finished.stderr.text


async def test_a_change_that_is_not_done_exits_one_with_its_last_words(trueup, user):
    user.write("calc.py", "def add(a, b):\n    print('\\033[2J\\033[1mVERIFIED')\n    return a * b\n")
    finished = await trueup("check", cwd=user.root)
    assert finished.exit_code == 1
    assert "adds   goal   red: exit 1" in finished.stdout.text
    assert "  | AssertionError" in finished.stdout.text
    assert "  because goal 'adds' is still red: exit 1" in finished.stdout.text
    assert "\033" not in finished.stdout.text


async def test_json_says_what_the_table_says_and_nothing_else(trueup, user):
    user.write("calc.py", RIGHT)
    user.write(b"tests/test_\xff.py", "")
    finished = await trueup("check", "--json", cwd=user.root)
    assert (finished.exit_code, finished.stderr.text) == (0, "")
    told = json.loads(finished.stdout.text)
    assert (told["outcome"], told["base"], told["checks"][0]["check_class"]) == ("verified", user.head, "goal")
    assert told["findings"][0]["path"] == "tests/test_\\udcff.py"


async def test_a_commit_a_patch_and_the_working_tree_are_three_ways_to_name_a_change(trueup, user, tmp_path):
    base = user.head
    user.write("calc.py", RIGHT)
    (tmp_path / "change.patch").write_text(user.git("diff") + "\n")
    user.git("checkout", "-q", "-b", "work")
    user.commit("mended")
    user.git("checkout", "-q", "main")
    assert (await trueup("check", "--rev", "work", cwd=user.root)).exit_code == 0
    assert (await trueup("check", "--diff", str(tmp_path / "change.patch"), cwd=user.root)).exit_code == 0
    both = await trueup("check", "--rev", "work", "--diff", str(tmp_path / "change.patch"), cwd=user.root)
    assert (both.exit_code, both.stderr.text) == (2, "error: --rev and --diff both name a change: choose\n")
    user.git("checkout", "-q", "work")
    told = json.loads((await trueup("check", "--json", cwd=user.root / "sub")).stdout.text)
    assert (told["outcome"], told["base"]) == ("verified", base)


async def test_a_patch_that_does_not_apply_is_told(trueup, user, tmp_path):
    (tmp_path / "change.patch").write_text("--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-nothing\n+something\n")
    finished = await trueup("check", "--diff", str(tmp_path / "change.patch"), cwd=user.root)
    assert finished.exit_code == 2
    assert "the patch does not apply" in finished.stderr.text


async def test_a_dirty_tree_and_a_detached_head_are_checked_and_left_as_they_are(trueup, user):
    user.git("checkout", "-q", "--detach")
    user.write("calc.py", RIGHT)
    user.write("untracked.txt", "mine")
    before = user.status()
    finished = await trueup("check", cwd=user.root)
    assert finished.exit_code == 0, finished.stderr.text
    assert user.status() == before


async def test_the_contract_of_the_change_is_not_asked(trueup, user):
    user.write("trueup.yaml", CONTRACT.replace(GOAL, "'true'"))
    finished = await trueup("check", cwd=user.root)
    assert finished.exit_code == 1
    assert "goal 'adds' is still red" in finished.stdout.text


async def test_a_contract_outside_of_the_repository_is_read_as_it_is(trueup, user, tmp_path):
    (tmp_path / "mine.yaml").write_text(CONTRACT.replace("adds", "mine").replace("== 5", "== -1"))
    finished = await trueup("check", "--contract", str(tmp_path / "mine.yaml"), "--guards-only", cwd=user.root)
    assert finished.exit_code == 0, finished.stderr.text
    assert "mine   guard  green" in finished.stdout.text


async def test_an_untracked_contract_inside_of_the_repository_is_refused(trueup, user):
    user.write("done.yaml", CONTRACT)
    finished = await trueup("check", "--contract", "done.yaml", cwd=user.root)
    assert finished.exit_code == 2
    assert "done.yaml is inside the repository but not in the base" in finished.stderr.text


async def test_a_tracked_contract_is_read_from_the_base(trueup, user):
    user.write("done.yaml", CONTRACT)
    user.commit()
    user.write("done.yaml", CONTRACT.replace(GOAL, "'true'"))
    finished = await trueup("check", "--contract", "done.yaml", cwd=user.root)
    assert "goal 'adds' is still red" in finished.stdout.text


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ("  setup: [mkdir .deps]\n", "runs setup commands with a network"),
        ("  reuse: [sub]\n", "copies folders of yours"),
        ("    network: true\n", "lets checks use your network"),
    ],
)
async def test_what_widens_needs_trust(trueup, user, more, what):
    user.write("trueup.yaml", CONTRACT + more)
    user.commit()
    refused = await trueup("check", cwd=user.root)
    assert refused.exit_code == 2
    assert f"trueup.yaml of the repository {what}; read it, then agree once with `trueup trust`" in refused.stderr.text


async def test_trust_holds_for_exactly_what_was_read(trueup, user):
    user.write("trueup.yaml", CONTRACT + "  setup: [mkdir .deps]\n")
    user.commit()
    user.write("calc.py", RIGHT)
    assert (await trueup("trust", cwd=user.root / "sub")).exit_code == 0
    agreed = await trueup("check", cwd=user.root)
    assert agreed.exit_code == 0, agreed.stderr.text
    user.git("stash", "-q")
    user.write("trueup.yaml", CONTRACT + "  setup: [mkdir .other]\n")
    user.commit()
    user.git("stash", "pop", "-q")
    assert (await trueup("check", cwd=user.root)).exit_code == 2


async def test_no_contract_is_told_with_what_to_do(trueup, user):
    user.git("rm", "-q", "trueup.yaml")
    user.commit()
    finished = await trueup("check", cwd=user.root)
    assert finished.exit_code == 2
    assert "Write one with `trueup init` and commit it" in finished.stderr.text


async def test_a_contract_that_cannot_be_used_is_told_with_every_problem(trueup, user, tmp_path):
    (tmp_path / "bad.yaml").write_text(
        "description: x\nchecks:\n- name: a\n  command: ''\n- name: a\n  command: pytest\n"
    )
    finished = await trueup("check", "--contract", str(tmp_path / "bad.yaml"), cwd=user.root)
    assert finished.exit_code == 2
    assert "- check 'a' has an empty command\n- duplicate check name 'a'" in finished.stderr.text


async def test_outside_of_a_repository_and_in_an_empty_one_it_says_so(trueup, tmp_path):
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    finished = await trueup("check", cwd=nowhere, GIT_CEILING_DIRECTORIES=str(tmp_path))
    assert finished.exit_code == 2
    assert "not in a git repository" in finished.stderr.text
    empty = Checkout(tmp_path / "empty")
    finished = await trueup("check", "--json", cwd=empty.root)
    assert finished.exit_code == 2
    assert "has no commit yet" in json.loads(finished.stdout.text)["error"]


async def test_a_shallow_clone_without_the_base_is_told_how_to_deepen(trueup, user, tmp_path):
    user.commit("more")
    user.git("clone", "-q", "--depth", "1", f"file://{user.root}", str(tmp_path / "clone"))
    finished = await trueup("check", "--base", user.git("rev-parse", "HEAD~1"), cwd=tmp_path / "clone")
    assert finished.exit_code == 2
    assert "fetch-depth: 0" in finished.stderr.text


async def test_without_a_sandbox_the_verdict_says_so(trueup, user):
    user.write("calc.py", RIGHT)
    finished = await trueup("check", "--sandbox", "none", cwd=user.root)
    assert finished.exit_code == 0, finished.stderr.text
    assert "not shown: that nothing interfered" in finished.stdout.text
    assert "sandbox none" in finished.stdout.text.splitlines()[-1]


async def test_ci_gets_a_summary_and_annotations(trueup, user, tmp_path):
    user.write("calc.py", RIGHT)
    user.write("tests/test_a,b:c%|.py", "")
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    ci = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true"}
    finished = await trueup("check", "--json", cwd=user.root, **ci)
    assert finished.exit_code == 0
    written = summary.read_text()
    assert written.startswith("before\n## trueup: verified\n")
    assert "| adds | goal | green |" in written
    assert "test\\_a,b:c%\\|.py" in written
    assert "::notice file=tests/test_a%2Cb%3Ac%25|.py,title=trueup protected_path::" in finished.stderr.text


async def test_a_summary_that_cannot_be_written_does_not_change_the_verdict(trueup, user, tmp_path):
    user.write("calc.py", RIGHT)
    finished = await trueup("check", cwd=user.root, GITHUB_STEP_SUMMARY=str(tmp_path / "no" / "folder"))
    assert finished.exit_code == 0
    assert "note: no summary was written" in finished.stderr.text


async def test_a_check_that_is_interrupted_leaves_nothing_behind(user, tmp_path):
    contract = tmp_path / "slow.yaml"
    contract.write_text("description: x\nchecks:\n- name: slow\n  command: echo begun; sleep 4713\n")
    command = Command(argv=(TRUEUP, "check", "--contract", str(contract)), cwd=user.root, env=dict(os.environ))
    tops = store_of(user.root) / "tops"
    async with Process(command) as process:
        while not _is_running("4713"):
            await asyncio.sleep(0.05)
        os.kill(process.pid, signal.SIGTERM)
        finished = await process.wait()
    assert finished.exit_code == 130, finished.stderr.text
    assert list(tops.iterdir()) == []
    assert not _is_running("4713")


def _is_running(argument: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if argument.encode() in entry.read_bytes().split(b"\0"):
                return True
    return False
