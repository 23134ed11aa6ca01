"""Attestations of merged commits: what they say, who can check them, and every way to tamper with one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import stat
import sys
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from checkouts import Checkout
from trueup.coder import CheckVerdict, Finding, Outcome, Severity, Verdict
from trueup.coder._attestation import (
    EngineUsed,
    SigningKey,
    attest_merge,
    find_own_key,
    key_file,
    own_key,
    read_public_key,
    sign,
    statement,
    verify_attestation,
)
from trueup.coder._attestation._dsse import pae, seal
from trueup.contract import Check, CheckClass, CheckResult, Contract, load_contract
from trueup.core.errors import InputError
from trueup.core.process import Command, run
from trueup.workspace import Identity, Repository, append_to_note

ADA = Identity("Ada", "ada@example.org")
NOON = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
CONTRACT = Contract(
    description="add() adds",
    checks=[Check(name="suite", command="make test"), Check(name="lint", command="make lint")],
)


def result(name: str, *, passed: bool, tail: str = "") -> CheckResult:
    code = 0 if passed else 1
    return CheckResult(name=name, passed=passed, exit_code=code, output_tail=tail, duration_ms=40)


def verdict_on(tree: str, base: str, contract: Contract = CONTRACT, **changes) -> Verdict:
    checks = [
        CheckVerdict(
            name="suite",
            check_class=CheckClass.GOAL,
            baseline=result("suite", passed=False),
            result=result("suite", passed=True, tail="2 passed"),
            as_it_is=result("suite", passed=True, tail="3 passed"),
        ),
        CheckVerdict(
            name="lint",
            check_class=CheckClass.FLAKY,
            baseline=result("lint", passed=True),
        ),
    ]
    found = {
        "outcome": Outcome.VERIFIED,
        "reasons": [],
        "base": base,
        "tree": tree,
        "contract_digest": contract.digest,
        "dependencies": "d" * 64,
        "sandbox": "bwrap",
        "checks": checks,
        "restored": ["tests/test_calc.py", "caf\udce9.py"],
        "findings": [Finding(severity=Severity.INFO, kind="protected_path", message="touched", path="tests/x.py")],
    }
    return Verdict(**{**found, **changes})


class Scene:
    """A repository with a merged commit, and the ways to attest it and to tamper with its note."""

    def __init__(self, user: Checkout) -> None:
        self.user = user
        user.commit("the base", calc="wrong")
        self.base = user.head
        self.commit = user.commit("the merge", calc="right")
        self.tree = user.git("rev-parse", "HEAD^{tree}")

    @property
    def verdict(self) -> Verdict:
        return verdict_on(self.tree, self.base)

    async def attest(self, verdict: Verdict | None = None, **changes):
        wanted = {
            "commit": self.commit,
            "contract": CONTRACT,
            "engine": EngineUsed("command:fix", "1.2"),
            "session": "s-1",
            "approved_by": ADA,
            "at": NOON,
            "identity": ADA,
        }
        return await attest_merge(
            await Repository.open(self.user.root), verdict or self.verdict, **{**wanted, **changes}
        )

    async def check(self, commit: str | None = None, keys=None):
        known = [own_key().public] if keys is None else keys
        return await verify_attestation(await Repository.open(self.user.root), commit or self.commit, known)

    def said(self, **changes) -> dict:
        facts = {
            "commit": self.commit,
            "contract": CONTRACT,
            "engine": EngineUsed("native"),
            "session": "s-1",
            "approved_by": "--yes",
            "at": NOON,
        }
        return statement(self.verdict, **{**facts, **changes})

    def write_note(self, content: bytes, commit: str | None = None) -> None:
        blob = self.user.git("hash-object", "-w", "--stdin", stdin=content)
        self.user.git("notes", "--ref=outcomes", "add", "-f", "-C", blob, commit or self.commit)

    def note(self) -> dict:
        return json.loads(self.user.git("notes", "--ref=outcomes", "show", self.commit))

    def alter(self, **changes) -> None:
        """Change fields of the envelope that is there."""
        self.write_note(json.dumps({**self.note(), **changes}).encode())


@pytest.fixture(autouse=True)
def data_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def scene(tmp_path) -> Scene:
    return Scene(Checkout(tmp_path / "user"))


@pytest.fixture
def stranger() -> SigningKey:
    return SigningKey(Ed25519PrivateKey.generate())


# What an attestation says


async def test_an_attested_merge_verifies_and_stays_the_commit_it_was(scene):
    made = await scene.attest()
    checked = await scene.check()
    assert (checked.holds, checked.reason, checked.others) == (True, "", [])
    assert checked.attestation.statement == made.statement
    assert checked.attestation.key_id == made.key_id == own_key().public.id
    assert (scene.user.head, scene.user.status()) == (scene.commit, "")


async def test_it_is_an_in_toto_test_result_about_the_commit_and_its_tree(scene):
    said = (await scene.attest()).statement
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["subject"] == [
        {"name": "commit", "digest": {"gitCommit": scene.commit}},
        {"name": "tree", "digest": {"gitTree": scene.tree}},
    ]
    assert said["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    predicate = said["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["configuration"] == [{"name": "contract", "digest": {"sha256": CONTRACT.digest}}]
    assert (predicate["passedTests"], predicate["warnedTests"], predicate["failedTests"]) == (["suite"], ["lint"], [])


async def test_it_says_what_the_verdict_rests_on(scene):
    account = (await scene.attest(intent="make add() correct")).statement["predicate"]["trueup"]
    assert account["checks"][0] == {
        "name": "suite",
        "class": "goal",
        "baseline": {"passed": False, "exit_code": 1},
        "result": {
            "passed": True,
            "exit_code": 0,
            "duration_ms": 40,
            "output_tail_sha256": hashlib.sha256(b"2 passed").hexdigest(),
        },
        "as_it_is": {
            "passed": True,
            "exit_code": 0,
            "duration_ms": 40,
            "output_tail_sha256": hashlib.sha256(b"3 passed").hexdigest(),
        },
    }
    rest = {key: value for key, value in account.items() if key not in {"checks", "findings", "not_shown", "version"}}
    assert rest == {
        "outcome": "verified",
        "session": "s-1",
        "intent": "make add() correct",
        "base": scene.base,
        "tree": scene.tree,
        "contract_digest": CONTRACT.digest,
        "contract": CONTRACT.as_data(),
        "restored": ["tests/test_calc.py", "caf\\udce9.py"],
        "engine": {"name": "command:fix", "version": "1.2"},
        "sandbox": "bwrap",
        "dependencies": "d" * 64,
        "approved_by": {"how": "person", "name": "Ada", "email": "ada@example.org"},
        "time": "2024-05-01T12:00:00Z",
    }
    assert account["findings"][0]["kind"] == "protected_path"
    assert "visible checks only" in account["not_shown"][0]


def test_the_contract_in_it_is_the_one_of_the_digest(scene):
    account = scene.said()["predicate"]["trueup"]
    encoded = msgspec.json.encode(account["contract"], order="deterministic")
    assert hashlib.sha256(encoded).hexdigest() == account["contract_digest"]


def test_a_contract_with_hidden_checks_is_there_by_its_digest_only(scene):
    hiding = Contract(description="x", checks=[Check(name="suite", command="secret --thing", hidden=True)])
    verdict = verdict_on(scene.tree, scene.base, hiding)
    said = statement(
        verdict,
        commit=scene.commit,
        contract=hiding,
        engine=EngineUsed("native"),
        session="s-1",
        approved_by="--yes",
        at=NOON,
    )
    assert said["predicate"]["trueup"]["contract"] is None
    assert said["predicate"]["trueup"]["contract_digest"] == hiding.digest
    assert "secret" not in json.dumps(said)


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.UNPROVEN])
async def test_only_what_was_verified_is_attested(scene, outcome):
    with pytest.raises(InputError, match=f"is {outcome}; only what was verified is attested"):
        await scene.attest(verdict_on(scene.tree, scene.base, outcome=outcome))
    assert (await scene.check()).reason == "it has no attestation"


async def test_a_verdict_on_another_tree_or_by_another_contract_is_not_attested(scene):
    other_tree = scene.user.git("rev-parse", f"{scene.base}^{{tree}}")
    with pytest.raises(InputError, match="and what was verified is"):
        await scene.attest(verdict_on(other_tree, scene.base))
    with pytest.raises(InputError, match="by another contract"):
        await scene.attest(verdict_on(scene.tree, scene.base, contract_digest="0" * 64))


async def test_a_repository_with_long_ids_is_attested_too(tmp_path):
    scene = Scene(Checkout(tmp_path / "long", "--object-format=sha256"))
    said = (await scene.attest()).statement
    assert len(said["subject"][0]["digest"]["gitCommit"]) == 64
    assert (await scene.check()).holds


# Others can check it


def test_the_bytes_that_are_signed_are_those_of_the_specification():
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pae("http://example.com/HelloWorld", b"hello world") == expected
    assert pae("é", "é".encode()) == "DSSEv1 2 é 2 é".encode()


def foreign_key() -> SSlibKey:
    """The user's key as another implementation reads it from what `trueup attest key` prints."""
    public = own_key().public
    return SSlibKey.from_crypto(load_pem_public_key(public.pem.encode()), keyid=public.id)


async def test_another_implementation_verifies_our_envelope(scene):
    await scene.attest()
    envelope = Envelope.from_dict(scene.note())
    assert list(envelope.verify([foreign_key()], 1)) == [own_key().public.id]
    assert json.loads(envelope.payload)["subject"][0]["digest"] == {"gitCommit": scene.commit}


async def test_another_implementation_refuses_what_we_refuse(scene):
    await scene.attest()
    envelope = Envelope.from_dict(scene.note())
    envelope.payload = envelope.payload.replace(b"Ada", b"Eve")
    with pytest.raises(VerificationError):
        envelope.verify([foreign_key()], 1)


async def test_base64_for_urls_is_read_as_the_specification_asks(scene):
    await scene.attest()
    there = scene.note()
    signature = there["signatures"][0]
    scene.alter(
        payload=base64.urlsafe_b64encode(base64.b64decode(there["payload"])).decode(),
        signatures=[{**signature, "sig": base64.urlsafe_b64encode(base64.b64decode(signature["sig"])).decode()}],
    )
    assert (await scene.check()).holds


def test_the_id_of_a_key_is_the_digest_of_its_public_half():
    public = load_pem_public_key(own_key().public.pem.encode())
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert own_key().public.id == hashlib.sha256(der).hexdigest()


async def test_a_key_that_was_given_as_a_file_verifies_what_its_owner_signed(scene, stranger, tmp_path):
    await scene.attest(key=stranger)
    pem = tmp_path / "ada.pem"
    pem.write_text(f"key {stranger.public.id}\n{stranger.public.pem}")
    key = load_pem_public_key(stranger.public.pem.encode())
    ssh = tmp_path / "ada.pub"
    ssh.write_bytes(key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b" ada@laptop\n")
    for file in (pem, ssh):
        checked = await scene.check(keys=[read_public_key(file)])
        assert (checked.holds, checked.attestation.key_id) == (True, stranger.public.id)


# Tampering


async def test_an_unknown_key_shows_nothing(scene, stranger):
    await scene.attest(key=stranger)
    checked = await scene.check()
    assert (checked.holds, checked.reason) == (
        False,
        f"signed by an unknown key {stranger.public.id}, so it shows nothing",
    )
    assert "unknown key" in (await scene.check(keys=[])).reason


async def test_a_stranger_who_takes_the_name_of_a_known_key_is_caught(scene, stranger):
    await scene.attest(key=stranger)
    forged = {**scene.note()["signatures"][0], "keyid": own_key().public.id}
    scene.alter(signatures=[forged])
    checked = await scene.check()
    assert not checked.holds
    assert "is not valid: something was altered" in checked.reason


async def test_a_swapped_payload_is_caught(scene):
    await scene.attest()
    payload = base64.b64decode(scene.note()["payload"]).replace(b'"s-1"', b'"s-2"')
    scene.alter(payload=base64.b64encode(payload).decode())
    checked = await scene.check()
    assert (checked.holds, "not valid" in checked.reason) == (False, True)


async def test_a_payload_of_another_attestation_is_caught(scene):
    first = await scene.attest()
    second = sign(scene.said(session="s-2"), own_key())
    scene.alter(payload=json.loads(second)["payload"])
    assert not (await scene.check()).holds
    scene.write_note(first.envelope)
    assert (await scene.check()).holds


async def test_a_swapped_type_is_caught_by_the_signature(scene):
    await scene.attest()
    scene.alter(payloadType="application/json")
    assert "not valid" in (await scene.check()).reason


@pytest.mark.parametrize("signatures", [[], [{"sig": "", "keyid": "00"}], [{"sig": "AAAA"}]])
async def test_a_stripped_signature_is_caught(scene, signatures):
    await scene.attest()
    scene.alter(signatures=signatures)
    checked = await scene.check()
    assert not checked.holds
    assert "so it shows nothing" in checked.reason


async def test_of_two_signatures_a_bad_one_spoils_the_good_one(scene):
    await scene.attest()
    good = scene.note()["signatures"][0]
    bad = {**good, "sig": base64.b64encode(bytes(64)).decode()}
    for signatures in ([good, bad], [bad, good], [good, {"sig": bad["sig"]}]):
        scene.alter(signatures=signatures)
        assert not (await scene.check()).holds
    scene.alter(signatures=[good, {**bad, "keyid": "of a stranger"}])
    assert (await scene.check()).holds


@pytest.mark.parametrize("field", ["payload", "signatures"])
async def test_what_is_no_base64_is_caught(scene, field):
    await scene.attest()
    there = scene.note()
    broken = {"payload": there["payload"] + "!", "signatures": [{**there["signatures"][0], "sig": "?"}]}
    scene.alter(**{field: broken[field]})
    assert "no base64" in (await scene.check()).reason


async def test_a_note_that_was_copied_to_another_commit_is_caught(scene):
    await scene.attest()
    later = scene.user.commit("later", calc="broken again")
    scene.user.git("notes", "--ref=outcomes", "copy", scene.commit, later)
    checked = await scene.check(later)
    assert not checked.holds
    assert checked.reason == f"it is about commit {scene.commit}: the note was moved here, or copied"


async def test_a_copy_to_a_commit_with_the_same_tree_is_caught_too(scene):
    await scene.attest()
    same = scene.user.commit("empty")
    scene.user.git("notes", "--ref=outcomes", "copy", scene.commit, same)
    assert "the note was moved here" in (await scene.check(same)).reason


def replaced(said: dict, **changes) -> dict:
    account = {**said["predicate"]["trueup"], **changes.pop("trueup", {})}
    predicate = {**said["predicate"], **changes.pop("predicate", {}), "trueup": account}
    return {**said, "predicate": predicate, **changes}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"_type": "https://in-toto.io/Statement/v0.1"}, "and not 'https://in-toto.io/Statement/v1'"),
        ({"predicateType": "https://slsa.dev/provenance/v1"}, "of an unknown kind"),
        ({"subject": []}, "about commit none"),
        ({"subject": [{"digest": {"gitCommit": "0" * 40}}]}, f"about commit {'0' * 40}"),
        ({"trueup": {"tree": "0" * 40}}, f"what was verified is tree {'0' * 40}"),
        ({"trueup": {"outcome": "refused"}}, "the verdict in it is 'refused'"),
        ({"predicate": {"result": "FAILED"}}, "the verdict in it is 'verified' (FAILED)"),
        ({"trueup": {"time": "yesterday"}}, "no test result of trueup's"),
        ({"predicate": {"result": 1}}, "no test result of trueup's"),
        ({"subject": "everything"}, "no in-toto Statement"),
    ],
)
async def test_a_signed_statement_must_say_the_right_thing(scene, changes, reason):
    scene.write_note(sign(replaced(scene.said(), **changes), own_key()))
    checked = await scene.check()
    assert not checked.holds
    assert reason in checked.reason


async def test_a_signed_statement_about_another_tree_is_caught(scene):
    said = scene.said()
    subject = [said["subject"][0], {"name": "tree", "digest": {"gitTree": "0" * 40}}]
    scene.write_note(sign({**said, "subject": subject}, own_key()))
    reason = f"it is about tree {'0' * 40}, and the commit has tree {scene.tree}"
    assert (await scene.check()).reason == reason


async def test_two_commits_as_subject_are_one_too_many(scene):
    said = scene.said()
    subject = [*said["subject"], {"name": "commit", "digest": {"gitCommit": "0" * 40}}]
    scene.write_note(sign({**said, "subject": subject}, own_key()))
    assert not (await scene.check()).holds


async def test_something_else_that_the_key_signed_is_no_attestation(scene):
    payload = json.dumps(scene.said()).encode()
    scene.write_note(seal("application/json", payload, own_key()))
    assert "what is signed is 'application/json'" in (await scene.check()).reason
    for junk in (b"[]", b"\xff", b""):
        scene.write_note(seal("application/vnd.in-toto+json", junk, own_key()))
        assert "no in-toto Statement" in (await scene.check()).reason


async def test_a_replaced_commit_does_not_pass_for_the_attested_one(scene):
    await scene.attest()
    other = scene.user.commit("evil", calc="evil")
    scene.user.git("replace", scene.commit, other)
    checked = await scene.check()
    assert (checked.holds, checked.tree) == (True, scene.tree)


# Several lines, other lines, none


async def test_no_note_is_said_to_be_none(scene):
    checked = await scene.check()
    assert (checked.holds, checked.reason, checked.attestation) == (False, "it has no attestation", None)


async def test_words_of_others_are_kept_and_are_no_attestation(scene):
    scene.write_note(b"reviewed by Grace\n{}\n\xff\n")
    checked = await scene.check()
    assert (checked.holds, checked.other_lines) == (False, 3)
    assert "holds no attestation (3 lines that are none)" in checked.reason
    await scene.attest()
    checked = await scene.check()
    assert (checked.holds, checked.other_lines) == (True, 3)
    assert scene.user.git("notes", "--ref=outcomes", "show").startswith("reviewed by Grace\n{}\n")


async def test_of_several_the_newest_that_holds_counts_and_the_others_are_told(scene, stranger):
    await scene.attest(session="new", at=NOON + timedelta(hours=1))
    await scene.attest(session="old")
    await scene.attest(session="strange", key=stranger, at=NOON + timedelta(hours=2))
    checked = await scene.check()
    assert checked.holds
    assert checked.attestation.statement["predicate"]["trueup"]["session"] == "new"
    assert [each.holds for each in checked.others] == [True, False]
    assert "unknown key" in checked.others[1].reason


async def test_notes_that_git_merged_still_verify(scene, tmp_path):
    await scene.attest(session="here")
    scene.user.git("update-ref", "refs/notes/here", "refs/notes/outcomes")
    scene.user.git("update-ref", "-d", "refs/notes/outcomes")
    await scene.attest(session="there", at=NOON + timedelta(hours=1))
    scene.user.git("notes", "--ref=outcomes", "merge", "-s", "cat_sort_uniq", "refs/notes/here")
    checked = await scene.check()
    assert checked.attestation.statement["predicate"]["trueup"]["session"] == "there"
    assert [each.holds for each in checked.others] == [True]


async def test_attestations_made_at_once_are_all_kept(scene):
    await asyncio.gather(*(scene.attest(session=f"s-{number}") for number in range(4)))
    checked = await scene.check()
    assert (checked.holds, len(checked.others)) == (True, 3)


async def test_a_rebased_commit_is_not_attested_and_its_twin_is_named(scene):
    await scene.attest()
    twin = scene.user.commit("the same tree, another commit")
    checked = await scene.check(twin)
    assert (checked.holds, checked.same_tree) == (False, scene.commit)


async def test_a_twin_whose_attestation_does_not_hold_is_not_named(scene, stranger):
    await scene.attest(key=stranger)
    repo = await Repository.open(scene.user.root)
    await append_to_note(repo, scene.base, sign(scene.said(), own_key()), identity=ADA)
    twin = scene.user.commit("the same tree, another commit")
    assert (await scene.check(twin)).same_tree is None


# Keys


def test_a_key_is_made_at_first_use_and_only_for_its_owner(data_home):
    assert find_own_key() is None
    made = own_key()
    file = data_home / "trueup" / "attest.key"
    assert file == key_file()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert own_key().public.id == made.public.id
    assert [each.name for each in file.parent.iterdir()] == ["attest.key"]


async def test_processes_that_make_a_key_at_once_get_the_same(data_home):
    script = "from trueup.coder._attestation import own_key; print(own_key().public.id)"
    command = Command(argv=(sys.executable, "-c", script), env=dict(os.environ))
    finished = await asyncio.gather(*(run(command) for _ in range(4)))
    assert {each.stdout.text.strip() for each in finished} == {own_key().public.id}
    assert len(list(key_file().parent.iterdir())) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620])
async def test_a_key_that_others_can_read_is_refused_with_the_fix(scene, mode):
    own_key()
    key_file().chmod(mode)
    with pytest.raises(InputError, match=f"others can read this key .* run `chmod 600 {key_file()}`"):
        await scene.attest()
    key_file().chmod(0o600)
    assert await scene.attest()


def test_a_folder_in_which_others_can_put_a_key_is_refused(data_home):
    own_key()
    key_file().parent.chmod(0o777)
    with pytest.raises(InputError, match="run `chmod 700"):
        own_key()


def private(key, form=PrivateFormat.PKCS8, lock=None) -> bytes:
    return key.private_bytes(Encoding.PEM, form, lock or NoEncryption())


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.OpenSSH])
def test_a_key_of_ones_own_can_be_put_there(form):
    key_file().parent.mkdir(parents=True, mode=0o700)
    mine = Ed25519PrivateKey.generate()
    key_file().write_bytes(private(mine, form))
    key_file().chmod(0o600)
    assert own_key().public.id == SigningKey(mine).public.id


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"junk",
        private(Ed25519PrivateKey.generate(), lock=BestAvailableEncryption(b"secret")),
        private(generate_private_key(SECP256R1())),
    ],
    ids=["empty", "junk", "locked", "another kind"],
)
def test_a_file_without_a_usable_key_is_told_and_left_alone(content):
    key_file().parent.mkdir(parents=True, mode=0o700)
    key_file().write_bytes(content)
    key_file().chmod(0o600)
    with pytest.raises(InputError, match="holds no ed25519 private key"):
        own_key()
    assert key_file().read_bytes() == content


def test_what_stands_in_the_place_of_the_key_is_told(tmp_path):
    key_file().parent.mkdir(parents=True, mode=0o700)
    key_file().symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="leads nowhere"):
        own_key()
    key_file().unlink()
    os.mkfifo(key_file(), 0o600)
    with pytest.raises(InputError, match="is no regular file"):
        own_key()


def test_a_file_that_is_no_public_key_is_told(tmp_path):
    file = tmp_path / "key"
    with pytest.raises(InputError, match="cannot be read"):
        read_public_key(file)
    for content in (b"junk", b"ssh-ed25519 AAAA"):
        file.write_bytes(content)
        with pytest.raises(InputError, match="holds no ed25519 public key"):
            read_public_key(file)
    file.write_bytes(private(Ed25519PrivateKey.generate()))
    with pytest.raises(InputError, match="is a private key"):
        read_public_key(file)


async def test_a_real_verdict_is_attested(project):
    await project.bash("sed -i \"s/'_')/'-')/\" slug.py")
    verdict = await project.check("python3 -m unittest discover -s tests -t . -q")
    assert verdict.outcome is Outcome.VERIFIED, verdict.reasons
    commit = await project.bash("git commit -qam mend && git rev-parse HEAD")
    repo = await Repository.open(project.root)
    await attest_merge(
        repo,
        verdict,
        commit=commit,
        contract=load_contract(project.outside / "contract.json"),
        engine=EngineUsed("command:sed"),
        session="s-1",
        approved_by="--yes",
        identity=ADA,
    )
    checked = await verify_attestation(repo, commit, [own_key().public])
    assert (checked.holds, checked.reason) == (True, "")
