"""`trueup attest` as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from checkouts import Checkout
from trueup.coder import CheckVerdict, Outcome, Verdict, key_file, own_key
from trueup.coder._attestation import EngineUsed, attest_merge
from trueup.contract import Check, CheckClass, CheckResult, Contract
from trueup.workspace import Identity, Repository

ADA = Identity("Ada", "ada@example.org")
CONTRACT = Contract(description="calc is right", checks=[Check(name="suite", command="make test")])


@pytest.fixture(autouse=True)
def data_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def user(tmp_path) -> Checkout:
    checkout = Checkout(tmp_path / "user")
    checkout.commit("the base", calc="wrong")
    checkout.commit("the merge", calc="right")
    return checkout


@pytest.fixture
async def attested(user) -> Checkout:
    """A repository whose HEAD was merged by trueup."""
    outcome = {"name": "suite", "output_tail": "", "duration_ms": 5}
    check = CheckVerdict(
        name="suite",
        check_class=CheckClass.GOAL,
        baseline=CheckResult(passed=False, exit_code=1, **outcome),
        result=CheckResult(passed=True, exit_code=0, **outcome),
    )
    verdict = Verdict(
        outcome=Outcome.VERIFIED,
        reasons=[],
        base=user.git("rev-parse", "HEAD^"),
        tree=user.git("rev-parse", "HEAD^{tree}"),
        contract_digest=CONTRACT.digest,
        dependencies=None,
        sandbox="bwrap",
        checks=[check],
    )
    await attest_merge(
        await Repository.open(user.root),
        verdict,
        commit=user.head,
        contract=CONTRACT,
        engine=EngineUsed("command:fix"),
        session="s-1",
        approved_by=ADA,
        at=datetime(2024, 5, 1, 12, 0, tzinfo=UTC),
        identity=ADA,
    )
    return user


async def test_an_attestation_that_holds_is_told_with_what_it_says(trueup, attested):
    finished = await trueup("attest", "verify", "HEAD", cwd=attested.root)
    assert finished.exit_code == 0, finished.stderr.text
    lines = finished.stdout.text.splitlines()
    assert lines[0] == f"{attested.head[:12]}: the attestation holds, signed by key {own_key().public.id}"
    assert "  passed: suite" in lines
    assert "  work by command:fix, approved by Ada <ada@example.org>" in lines
    assert any(line.startswith("  not shown: visible checks only") for line in lines)


async def test_programs_get_the_whole_statement(trueup, attested, tmp_path):
    finished = await trueup("attest", "verify", "main", "--repo", str(attested.root), "--json")
    told = json.loads(finished.stdout.text)
    assert (finished.exit_code, told["holds"], told["commit"]) == (0, True, attested.head)
    assert told["attestation"]["statement"]["predicate"]["result"] == "PASSED"


async def test_no_attestation_and_one_that_does_not_hold_are_told_apart(trueup, attested):
    none = await trueup("attest", "verify", "HEAD^", cwd=attested.root)
    assert (none.exit_code, none.stdout.text) == (
        1,
        f"{attested.git('rev-parse', 'HEAD^')[:12]}: it has no attestation\n",
    )
    attested.git("notes", "--ref=outcomes", "copy", "HEAD", "HEAD^")
    moved = await trueup("attest", "verify", "HEAD^", cwd=attested.root)
    assert moved.exit_code == 1
    assert "the attestation does not hold: it is about commit" in moved.stdout.text


async def test_a_commit_that_is_not_there_is_bad_input(trueup, attested):
    for name in ("nonsense", "0" * 40, "--all"):
        finished = await trueup("attest", "verify", "--", name, cwd=attested.root)
        assert (finished.exit_code, "names no commit" in finished.stderr.text) == (2, True)


async def test_a_squashed_commit_is_told_which_commit_is_attested(trueup, attested):
    merged = attested.head
    attested.git("reset", "-q", "--soft", "HEAD~1")
    attested.commit("squashed")
    finished = await trueup("attest", "verify", "HEAD", cwd=attested.root)
    assert finished.exit_code == 1
    assert f"the very same tree is attested for commit {merged}" in finished.stdout.text


async def test_somebody_else_verifies_with_the_printed_key(trueup, attested, tmp_path):
    printed = await trueup("attest", "key")
    assert printed.exit_code == 0, printed.stderr.text
    (tmp_path / "ada.pem").write_text(printed.stdout.text)
    elsewhere = {"XDG_DATA_HOME": str(tmp_path / "another user")}
    without = await trueup("attest", "verify", "HEAD", cwd=attested.root, **elsewhere)
    assert without.exit_code == 1
    assert f"signed by an unknown key {own_key().public.id}, so it shows nothing" in without.stdout.text
    given = await trueup("attest", "verify", "HEAD", "--key", "../ada.pem", cwd=attested.root, **elsewhere)
    assert given.exit_code == 0, given.stdout.text
    assert not (tmp_path / "another user").exists()


async def test_a_key_that_is_given_is_believed_instead_of_ones_own(trueup, attested, tmp_path):
    printed = await trueup("attest", "key", XDG_DATA_HOME=str(tmp_path / "another user"))
    (tmp_path / "eve.pem").write_text(printed.stdout.text)
    finished = await trueup("attest", "verify", "HEAD", "--key", "../eve.pem", cwd=attested.root)
    assert (finished.exit_code, "unknown key" in finished.stdout.text) == (1, True)


async def test_the_key_is_printed_for_programs_too(trueup):
    told = json.loads((await trueup("attest", "key", "--json")).stdout.text)
    assert told == {"key_id": own_key().public.id, "public_key": own_key().public.pem, "file": str(key_file())}


async def test_a_key_that_others_can_read_is_refused(trueup, attested):
    key_file().chmod(0o644)
    for line in (("attest", "key"), ("attest", "verify", "HEAD")):
        finished = await trueup(*line, cwd=attested.root)
        assert finished.exit_code == 2
        assert f"run `chmod 600 {key_file()}`" in finished.stderr.text


async def test_all_is_shown_and_what_does_not_hold_is_marked(trueup, attested):
    finished = await trueup("attest", "show", "HEAD", cwd=attested.root)
    assert finished.exit_code == 0, finished.stderr.text
    standing, _, said = finished.stdout.text.partition("\n")
    assert standing == f"holds, signed by key {own_key().public.id}"
    assert json.loads(said)["predicate"]["trueup"]["session"] == "s-1"
    attested.git("notes", "--ref=outcomes", "copy", "HEAD", "HEAD^")
    moved = await trueup("attest", "show", "HEAD^", cwd=attested.root)
    assert moved.stdout.text.startswith("DOES NOT HOLD: it is about commit")
    attested.git("notes", "--ref=outcomes", "remove", "HEAD^")
    none = await trueup("attest", "show", "HEAD^", "--json", cwd=attested.root)
    assert (none.exit_code, json.loads(none.stdout.text)) == (1, [])


async def test_what_a_stranger_wrote_cannot_act_on_the_terminal(trueup, attested):
    note = json.loads(attested.git("notes", "--ref=outcomes", "show"))
    note["signatures"][0]["keyid"] = "\x1b[2Jholds"
    blob = attested.git("hash-object", "-w", "--stdin", stdin=json.dumps(note).encode())
    attested.git("notes", "--ref=outcomes", "add", "-f", "-C", blob, "HEAD^")
    finished = await trueup("attest", "verify", "HEAD^", cwd=attested.root)
    assert finished.exit_code == 1
    assert "\x1b" not in finished.stdout.text


def test_the_library_for_signing_is_loaded_only_when_it_is_used():
    script = "import sys, trueup.cli.attest; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


async def test_a_real_push_and_fetch_carries_it_as_the_documents_say(trueup, attested, tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "origin"], check=True)
    attested.git("remote", "add", "origin", str(tmp_path / "origin"))
    attested.git("push", "-q", "origin", "main", "refs/notes/outcomes")
    clone = Checkout(tmp_path / "clone")
    clone.git("remote", "add", "origin", str(tmp_path / "origin"))
    clone.git("pull", "-q", "origin", "main")
    before = await trueup("attest", "verify", "HEAD", cwd=clone.root)
    assert before.exit_code == 1
    clone.git("fetch", "-q", "origin", "refs/notes/outcomes:refs/notes/outcomes")
    assert (await trueup("attest", "verify", "HEAD", cwd=clone.root)).exit_code == 0
