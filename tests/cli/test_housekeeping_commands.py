"""`trueup doctor`, `init`, `trust` and `cache` as a user calls them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil

import pytest

from checkouts import Checkout
from trueup.workspace import store_of


@pytest.fixture(autouse=True)
def machine(tmp_path, plain_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def user(tmp_path) -> Checkout:
    checkout = Checkout(tmp_path / "user")
    checkout.write("calc.py", "def add(a, b):\n    return a - b\n")
    checkout.write("Makefile", "test:\n\tpython3 -m unittest\n\nlint:\n\truff check .\n")
    checkout.write("tests/test_calc.py", "import unittest\n")
    checkout.commit("the base")
    return checkout


async def test_the_doctor_says_what_works(trueup):
    finished = await trueup("doctor", "--json")
    assert finished.exit_code == 0, finished.stdout.text
    told = {each["name"]: each for each in json.loads(finished.stdout.text)}
    assert told["git"]["ok"]
    assert told["python"]["ok"]
    assert any(name.startswith("sandbox ") and each["ok"] for name, each in told.items())


async def test_what_is_missing_is_told_with_a_fix_and_exits_one(trueup, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\necho git version 2.20.1\n")
    (programs / "git").chmod(0o755)
    finished = await trueup("doctor", PATH=str(programs))
    assert finished.exit_code == 1
    assert "MISS  git: git version 2.20.1\n      fix: install git 2.38 or newer" in finished.stdout.text
    assert "MISS  sandbox: no program for it is installed" in finished.stdout.text
    (programs / "git").unlink()
    finished = await trueup("doctor", PATH=str(programs))
    assert "MISS  git: could not start 'git'" in finished.stdout.text


async def test_init_proposes_what_validates_and_never_overwrites(trueup, user):
    finished = await trueup("init", cwd=user.root)
    assert finished.exit_code == 0, finished.stderr.text
    written = user.read("trueup.yaml")
    assert "command: python3 -m unittest discover -s tests" in written
    valid = await trueup("contract", "validate", "trueup.yaml", cwd=user.root)
    assert valid.exit_code == 0, valid.stdout.text
    again = await trueup("init", cwd=user.root)
    assert again.exit_code == 2
    assert "is already there and stays as it is" in again.stderr.text
    assert user.read("trueup.yaml") == written


async def test_init_does_not_write_through_a_link_that_leads_nowhere(trueup, user, tmp_path):
    (user.root / "trueup.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    assert (await trueup("init", cwd=user.root)).exit_code == 2
    assert not (tmp_path / "elsewhere.yaml").exists()


async def test_init_where_nothing_is_known_says_so_and_writes_nothing(trueup, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    finished = await trueup("init", cwd=empty)
    assert finished.exit_code == 2
    assert list(empty.iterdir()) == []


async def test_strange_names_in_the_repository_stay_inside_their_comment(trueup, user):
    script = "echo \u2028evil: true\x85more: true\x07"
    user.write("package.json", json.dumps({"scripts": {"test": script, "lint": "eslint ."}}))
    user.commit()
    assert (await trueup("init", cwd=user.root)).exit_code == 0
    valid = await trueup("contract", "validate", "trueup.yaml", cwd=user.root)
    assert valid.exit_code == 0, valid.stdout.text + valid.stderr.text


async def test_trust_shows_what_it_grants(trueup, user):
    user.write(
        "trueup.yaml",
        "contract:\n  description: x\n  setup: [make deps]\n  setup_env: [TOKEN]\n"
        "  checks:\n  - name: online\n    command: make test\n    network: true\n",
    )
    finished = await trueup("trust", cwd=user.root)
    assert finished.exit_code == 0, finished.stderr.text
    shown = finished.stdout.text.splitlines()
    assert shown[:3] == ["setup: make deps", "setup_env: TOKEN", "network: online"]
    assert shown[-1].endswith("trueup.yaml: trusted")
    assert (await trueup("trust", cwd=user.root)).stdout.text.endswith("was already trusted\n")


async def test_trust_without_a_file_or_with_a_broken_one_grants_nothing(trueup, user, tmp_path):
    assert (await trueup("trust", cwd=user.root)).exit_code == 2
    user.write("trueup.yaml", "contract:\n  checks: 5\n")
    assert (await trueup("trust", cwd=user.root)).exit_code == 2
    assert not (tmp_path / "data" / "trueup" / "trusted").exists()


@pytest.fixture
async def kept(trueup, user):
    """A repository that was checked once, so that something is kept of it."""
    (user.root.parent / "mine.yaml").write_text(
        "description: x\nsetup: [mkdir .deps]\nchecks:\n- name: exists\n  command: python3 -m compileall -q calc.py\n"
    )
    line = ("check", "--guards-only", "--contract", "../mine.yaml")
    checked = await trueup(*line, cwd=user.root)
    assert checked.exit_code == 0, checked.stderr.text
    return store_of(user.root)


async def test_what_is_kept_is_listed_and_cleaned(trueup, user, kept):
    listed = json.loads((await trueup("cache", "list", "--json")).stdout.text)
    assert {each["kind"] for each in listed} == {"base", "dependencies", "mirror"}
    assert {each["repository"] for each in listed} == {str(user.root)}
    assert (await trueup("cache", "clean", "--days", "1")).stdout.text == "nothing to remove\n"
    assert "dependencies" in (await trueup("cache", "clean")).stdout.text
    left = json.loads((await trueup("cache", "list", "--json")).stdout.text)
    assert [each["kind"] for each in left] == ["mirror"]


async def test_cleaning_takes_abandoned_tops_and_leaves_those_that_are_held(trueup, kept):
    for name in ("top-held", "top-left"):
        (kept / "tops" / name / "upper").mkdir(parents=True)
        (kept / "tops" / name / "owner").touch()
    held = os.open(kept / "tops" / "top-held" / "owner", os.O_RDWR)
    in_use = os.open(kept / "in-use", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    fcntl.flock(in_use, fcntl.LOCK_SH)
    try:
        cleaned = await trueup("cache", "clean", "--json")
    finally:
        os.close(held)
        os.close(in_use)
    assert [each["path"] for each in json.loads(cleaned.stdout.text)] == [str(kept / "tops" / "top-left")]
    assert (kept / "tops" / "top-held").exists()
    assert list((kept / "bases").iterdir())


async def test_an_empty_cache_is_no_error(trueup):
    assert (await trueup("cache", "list")).stdout.text == "nothing is kept\n"
    assert (await trueup("cache", "clean", "--json")).stdout.text == "[]\n"


async def test_what_a_gone_repository_left_is_cleaned(trueup, user, kept):
    shutil.rmtree(user.root)
    cleaned = json.loads((await trueup("cache", "clean", "--json")).stdout.text)
    assert {each["kind"] for each in cleaned} == {"base", "dependencies", "mirror"}
