"""Notes on the user's commits: nobody's words are lost, and no commit changes."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest

from checkouts import Checkout
from trueup.core.errors import InputError, TrueupError
from trueup.workspace import OUTCOMES, Identity, Note, Repository, append_to_note, read_note, read_notes, tree_of
from trueup.workspace._git import GitError

ADA = Identity("Ada", "ada@example.org")


async def test_what_is_noted_can_be_read_by_us_and_by_git(user):
    repo = await Repository.open(user.root)
    await append_to_note(repo, user.head, b"one", identity=ADA)
    await append_to_note(repo, user.head, b"two\n", identity=ADA)
    assert await read_note(repo, user.head) == b"one\ntwo\n"
    assert user.git("notes", "--ref=outcomes", "show") == "one\ntwo"


async def test_the_commit_and_the_checkout_stay_as_they_are(user):
    before = (user.head, user.status(), user.git("for-each-ref", "refs/heads"), (user.root / ".git/index").read_bytes())
    await append_to_note(await Repository.open(user.root), user.head, b"one", identity=ADA)
    after = (user.head, user.status(), user.git("for-each-ref", "refs/heads"), (user.root / ".git/index").read_bytes())
    assert after == before
    user.git("fsck", "--strict")


async def test_notes_are_by_the_user_and_have_a_history(user, monkeypatch):
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "grace@example.org")
    repo = await Repository.open(user.root)
    await append_to_note(repo, user.head, b"one")
    newest = await append_to_note(repo, user.head, b"two")
    assert user.git("rev-parse", OUTCOMES) == newest
    assert user.git("log", "--format=%an <%ae> %cn", OUTCOMES) == "\n".join(["Grace <grace@example.org> Grace"] * 2)


async def test_nobody_known_is_told_how_to_be_known(user, private_home):
    with pytest.raises(InputError, match="git does not know who you are"):
        await append_to_note(await Repository.open(user.root), user.head, b"one")
    assert await read_note(await Repository.open(user.root), user.head) is None


async def test_a_note_of_somebody_elses_is_kept_wherever_git_put_it(user):
    user.git("notes", "--ref=outcomes", "add", "-m", "reviewed by Grace")
    repo = await Repository.open(user.root)
    await append_to_note(repo, user.head, b"one", identity=ADA)
    assert await read_note(repo, user.head) == b"reviewed by Grace\none\n"
    assert len(user.git("ls-tree", "-r", OUTCOMES).splitlines()) == 1


def put_notes(user: Checkout, notes: dict[str, bytes]) -> None:
    """Write a tree of notes as some other program may."""
    lines = []
    for path, content in notes.items():
        blob = user.git("hash-object", "-w", "--stdin", stdin=content)
        lines.append(f"100644 {blob}\t{path}\n")
    user.git("read-tree", "--empty")
    user.git("update-index", "--add", "--index-info", stdin="".join(lines).encode())
    user.git("update-ref", OUTCOMES, user.git("commit-tree", "-m", "notes", user.git("write-tree")))
    user.git("reset", "-q")


def in_folders(commit: str, depth: int) -> str:
    return "/".join([*(commit[at * 2 : at * 2 + 2] for at in range(depth)), commit[depth * 2 :]])


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
async def test_notes_in_folders_of_any_depth_are_found_and_stay_there(user, depth):
    path = in_folders(user.head, depth)
    put_notes(user, {path: b"from git"})
    repo = await Repository.open(user.root)
    await append_to_note(repo, user.head, b"one", identity=ADA)
    assert await read_note(repo, user.head) == b"from git\none\n"
    assert user.git("ls-tree", "-r", "--name-only", OUTCOMES) == path


async def test_a_note_in_two_places_becomes_one(user):
    put_notes(user, {in_folders(user.head, 1): b"here", in_folders(user.head, 2): b"there"})
    repo = await Repository.open(user.root)
    await append_to_note(repo, user.head, b"one", identity=ADA)
    assert sorted((await read_note(repo, user.head)).splitlines()) == [b"here", b"one", b"there"]
    assert len(user.git("ls-tree", "-r", OUTCOMES).splitlines()) == 1


async def test_notes_on_other_commits_are_kept(user):
    first = user.head
    user.git("notes", "--ref=outcomes", "add", "-m", "on the first")
    second = user.commit("another", other="x")
    repo = await Repository.open(user.root)
    await append_to_note(repo, second, b"on the second", identity=ADA)
    assert user.git("notes", "--ref=outcomes", "show", first) == "on the first"
    some = await read_notes(repo, most=10)
    assert some.in_all == 2
    assert {note.commit: note for note in some.notes} == {
        first: Note(first, b"on the first\n"),
        second: Note(second, b"on the second\n"),
    }


async def test_only_as_many_notes_are_read_as_are_asked_for(user):
    repo = await Repository.open(user.root)
    for number in range(3):
        await append_to_note(repo, user.commit(f"commit {number}"), b"x", identity=ADA)
    some = await read_notes(repo, most=2)
    assert (len(some.notes), some.in_all) == (2, 3)


async def test_of_many_that_write_at_once_none_is_lost(user):
    repo = await Repository.open(user.root)
    await asyncio.gather(
        *(append_to_note(repo, user.head, b"line %d" % number, identity=ADA) for number in range(8)),
    )
    written = await read_note(repo, user.head)
    assert sorted(written.splitlines()) == [b"line %d" % number for number in range(8)]
    assert user.git("rev-list", "--count", OUTCOMES) == "8"


async def test_a_lock_that_nobody_lets_go_of_is_told_in_git_s_words(user):
    lock = user.root / ".git/refs/notes/outcomes.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    with pytest.raises(GitError, match=r"could not be written to refs/notes/outcomes: .*outcomes.lock"):
        await append_to_note(await Repository.open(user.root), user.head, b"one", identity=ADA)


async def test_no_hook_and_no_program_of_the_repository_runs(user, canary):
    hooks = user.root / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-commit", "pre-commit", "commit-msg"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {canary}\n")
        (hooks / name).chmod(0o755)
    user.git("config", "core.hooksPath", str(hooks))
    user.git("config", "commit.gpgsign", "true")
    user.git("config", "gpg.program", str(hooks / "post-commit"))
    await append_to_note(await Repository.open(user.root), user.head, b"one", identity=ADA)
    assert not canary.exists()


async def test_a_ref_that_leads_to_a_branch_does_not_move_the_branch(user):
    user.git("symbolic-ref", OUTCOMES, "refs/heads/main")
    before = user.head
    await append_to_note(await Repository.open(user.root), before, b"one", identity=ADA)
    assert user.head == before
    assert user.git("notes", "--ref=outcomes", "show", before) == "one"


async def test_notes_are_shared_by_all_worktrees(user, tmp_path):
    user.git("worktree", "add", "-q", str(tmp_path / "second"))
    await append_to_note(await Repository.open(tmp_path / "second"), user.head, b"one", identity=ADA)
    assert user.git("notes", "--ref=outcomes", "show") == "one"


async def test_a_note_that_is_too_large_is_refused_and_not_read(user):
    blob = user.git("hash-object", "-w", "--stdin", stdin=b"x" * (9 << 20))
    user.git("notes", "--ref=outcomes", "add", "-C", blob)
    repo = await Repository.open(user.root)
    with pytest.raises(TrueupError, match="has 9 MiB, which is more than attestations come to"):
        await read_note(repo, user.head)
    assert (await read_notes(repo, most=10)).notes == []


async def test_a_repository_with_long_ids_has_notes_too(tmp_path):
    user = Checkout(tmp_path / "long", "--object-format=sha256")
    user.commit("the base", file="x")
    repo = await Repository.open(user.root)
    await append_to_note(repo, user.head, b"one", identity=ADA)
    assert await read_note(repo, user.head) == b"one\n"
    assert user.git("notes", "--ref=outcomes", "show") == "one"
    assert await tree_of(repo, user.head) == user.git("rev-parse", "HEAD^{tree}")


async def test_the_tree_of_a_commit_is_what_its_own_bytes_say_and_no_replacement_s(user):
    first = user.head
    second = user.commit("another", other="x")
    user.git("replace", first, second)
    repo = await Repository.open(user.root)
    real = subprocess.run(
        ["git", "--no-replace-objects", "rev-parse", f"{first}^{{tree}}"],
        cwd=user.root,
        env={**os.environ},
        capture_output=True,
        check=True,
    )
    assert await tree_of(repo, first) == real.stdout.decode().strip()


async def test_a_commit_whose_bytes_were_swapped_is_not_believed(user):
    first = user.head
    second = user.commit("another", other="x")
    objects = user.root / ".git/objects"
    forged = objects / first[:2] / first[2:]
    forged.chmod(0o644)
    forged.write_bytes((objects / second[:2] / second[2:]).read_bytes())
    with pytest.raises(GitError):
        await tree_of(await Repository.open(user.root), first)
