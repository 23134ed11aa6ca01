"""Merging a verified tree into the user's branches."""

from __future__ import annotations

import subprocess

import pytest

from checkouts import Checkout
from trueup.core.errors import InputError
from trueup.workspace._merge import (
    DirtyFilesError,
    MergeConflictError,
    complete_merge,
    prepare_merge,
    resume_merge,
)
from trueup.workspace._repository import Identity, Repository

ADA = Identity("Ada", "ada@example.org")


class Scene:
    """A change to the base, made in the mirror, and the way to merge it."""

    def __init__(self, user, mirror, base, tree) -> None:
        self.user, self.mirror, self.base, self.tree = user, mirror, base, tree

    async def prepare(self, into=None, folder=None, identity=ADA, message="Fix add"):
        self.repo = await Repository.open(folder or self.user.root)
        return await prepare_merge(
            self.repo, self.mirror, self.tree, self.base, into=into, message=message, identity=identity
        )

    async def complete(self, prepared):
        return await complete_merge(self.repo, self.mirror, prepared)

    async def merge(self, into=None, **options):
        return await self.complete(await self.prepare(into, **options))


@pytest.fixture
def change(user, mirror):
    """A change that mends calc.py and adds a file."""

    async def made(**files: str) -> Scene:
        opened = await mirror()
        contents = {path.replace("__", "/"): ("100644", text.encode()) for path, text in files.items()}
        mended = contents or {"calc.py": ("100644", b"fixed\n"), "new.py": ("100644", b"new\n")}
        return Scene(user, opened, user.head, await opened.with_files(user.head, mended))

    return made


async def test_a_change_becomes_a_commit_of_the_user_on_the_checked_out_branch(user, change):
    scene = await change()
    merged = await scene.merge()
    assert (merged.branch, merged.fast_forwarded_checkout, merged.commit) == ("main", True, user.head)
    assert (user.read("calc.py"), user.read("new.py"), user.status()) == ("fixed\n", "new\n", "")
    assert user.git("log", "-1", "--format=%an <%ae> %cn %s") == "Ada <ada@example.org> Ada Fix add"
    assert user.git("rev-parse", "HEAD^") == scene.base
    user.git("fsck", "--strict")


async def test_preparing_touches_nothing_of_the_user(user, change):
    scene = await change()
    before = {file: file.read_bytes() for file in user.root.rglob("*") if file.is_file()}
    await scene.prepare()
    assert {file: file.read_bytes() for file in user.root.rglob("*") if file.is_file()} == before


async def test_a_branch_that_is_not_checked_out_moves_without_touching_files(user, change):
    user.git("branch", "side")
    scene = await change()
    merged = await scene.merge("side")
    assert (user.git("rev-parse", "side"), merged.fast_forwarded_checkout) == (merged.commit, False)
    assert (user.head, user.status()) == (scene.base, "")


async def test_a_branch_that_is_not_there_is_made(user, change):
    scene = await change()
    merged = await scene.merge("trueup/fix-add")
    assert user.git("rev-parse", "trueup/fix-add") == merged.commit


async def test_a_detached_head_moves_and_no_branch_does(user, change):
    user.git("checkout", "-q", "--detach")
    scene = await change()
    merged = await scene.merge()
    assert (user.head, merged.branch, user.branch) == (merged.commit, None, "HEAD")
    assert (user.git("rev-parse", "main"), user.status()) == (scene.base, "")


async def test_it_works_from_a_linked_worktree(user, change, tmp_path):
    scene = await change()
    user.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    merged = await scene.merge(folder=tmp_path / "linked")
    linked = Checkout(tmp_path / "linked")
    assert (linked.head, linked.status(), merged.branch) == (merged.commit, "", "side")


async def test_a_branch_that_moved_is_merged_and_must_be_verified_again(user, change):
    scene = await change()
    moved = user.commit("meanwhile", **{"other.py": "other\n"})
    prepared = await scene.prepare()
    assert prepared.needs_verification
    assert set(await scene.mirror.paths(prepared.tree)) == {"calc.py", "new.py", "other.py", "tests/test_calc.py"}
    merged = await scene.complete(prepared)
    assert (user.git("rev-parse", "HEAD^"), merged.tree) == (moved, prepared.tree)
    assert (user.read("calc.py"), user.read("other.py"), user.status()) == ("fixed\n", "other\n", "")


async def test_a_branch_that_did_not_move_needs_no_second_verification(change):
    scene = await change()
    prepared = await scene.prepare()
    assert (prepared.needs_verification, prepared.tree) == (False, scene.tree)


async def test_conflicts_are_listed_by_file_and_nothing_moves(user, change):
    scene = await change()
    moved = user.commit("meanwhile", **{"calc.py": "another fix\n"})
    with pytest.raises(MergeConflictError) as raised:
        await scene.prepare()
    assert raised.value.paths == ["calc.py"]
    assert (user.head, user.status()) == (moved, "")


async def test_a_branch_that_moves_between_the_steps_is_left_alone(user, change):
    scene = await change()
    prepared = await scene.prepare()
    moved = user.commit("meanwhile", **{"other.py": "other\n"})
    with pytest.raises(InputError, match="moved meanwhile"):
        await scene.complete(prepared)
    assert (user.head, user.status()) == (moved, "")


async def test_a_side_branch_that_moves_between_the_steps_is_left_alone(user, change):
    user.git("branch", "side")
    scene = await change()
    prepared = await scene.prepare("side")
    moved = user.commit("meanwhile")
    user.git("branch", "-f", "side", moved)
    with pytest.raises(InputError, match="moved meanwhile"):
        await scene.complete(prepared)
    assert user.git("rev-parse", "side") == moved


async def test_a_head_that_was_attached_between_the_steps_is_left_alone(user, change):
    user.git("checkout", "-q", "--detach")
    scene = await change()
    prepared = await scene.prepare()
    user.git("checkout", "-q", "main")
    with pytest.raises(InputError, match="no longer is"):
        await scene.complete(prepared)
    assert (user.head, user.branch) == (scene.base, "main")


async def test_unrelated_dirty_files_stay_as_they_are(user, change):
    scene = await change()
    user.write("tests/test_calc.py", "mine\n")
    user.write("staged.py", "mine\n")
    user.git("add", "staged.py")
    user.write("untracked.py", "mine\n")
    await scene.merge()
    assert user.status().split("\n") == ["A  staged.py", " M tests/test_calc.py", "?? untracked.py"]
    assert user.read("calc.py") == "fixed\n"


@pytest.mark.parametrize("scene_name", ["modified", "staged", "deleted", "untracked", "ignored"])
async def test_a_dirty_file_in_the_way_refuses_before_anything_moves(user, change, scene_name):
    scene = await change()
    path = "new.py" if scene_name in {"untracked", "ignored"} else "calc.py"
    user.write(path, "mine\n")
    if scene_name == "staged":
        user.git("add", path)
    if scene_name == "deleted":
        (user.root / path).unlink()
    if scene_name == "ignored":
        user.write(".git/info/exclude", "new.py\n")
    before = user.status()
    with pytest.raises(DirtyFilesError) as raised:
        await scene.merge()
    assert raised.value.paths == [path]
    assert (user.head, user.status()) == (scene.base, before)


async def test_an_untracked_file_where_a_folder_must_be_refuses_too(user, change):
    scene = await change(pkg__mod="x\n")
    user.write("pkg", "mine\n")
    with pytest.raises(InputError, match="nothing was moved"):
        await scene.merge()
    assert (user.head, user.read("pkg")) == (scene.base, "mine\n")


async def test_a_branch_under_another_worktree_is_refused_with_its_path(user, change, tmp_path):
    user.git("worktree", "add", "-q", str(tmp_path / "else where"), "-b", "side")
    scene = await change()
    with pytest.raises(InputError, match=r"side is checked out in .*else where"):
        await scene.prepare("side")


async def test_in_the_middle_of_a_merge_it_refuses(user, change):
    scene = await change()
    user.write(".git/MERGE_HEAD", scene.base + "\n")
    with pytest.raises(InputError, match="in the middle of a merge"):
        await scene.prepare()


@pytest.mark.parametrize("name", ["-d", "a b", "x..y", "", "refs/../x"])
async def test_a_name_that_is_no_branch_is_refused(change, name):
    scene = await change()
    with pytest.raises(InputError, match="cannot be the name of a branch"):
        await scene.prepare(name)


async def test_a_change_that_the_branch_already_has_moves_nothing(user, change):
    scene = await change()
    moved = user.commit("the same", **{"calc.py": "fixed\n", "new.py": "new\n"})
    merged = await scene.merge()
    assert (merged.commit, user.head) == (moved, moved)


async def test_hooks_of_the_user_and_of_the_change_do_not_run(user, change, canary):
    for name in ("post-merge", "post-checkout", "reference-transaction", "post-index-change", "pre-merge-commit"):
        user.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch {canary}\n").chmod(0o755)
    user.git("config", "core.fsmonitor", f"touch {canary}")
    canary.unlink(missing_ok=True)
    scene = await change()
    canary.unlink(missing_ok=True)
    await scene.merge()
    assert not canary.exists()


async def test_files_arrive_with_the_line_ends_that_the_user_has(user, change):
    user.git("config", "core.autocrlf", "true")
    scene = await change()
    await scene.merge()
    assert (user.root / "calc.py").read_bytes() == b"fixed\r\n"


async def test_without_an_identity_the_merge_says_what_to_set(user, change):
    scene = await change()
    with pytest.raises(InputError, match=r"user\.name"):
        await scene.prepare(identity=None)


async def test_a_commit_is_signed_where_the_user_signs_theirs(user, change, tmp_path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "signers").write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    user.git("config", "commit.gpgsign", "true")
    user.git("config", "gpg.format", "ssh")
    user.git("config", "user.signingkey", str(key))
    user.git("config", "gpg.ssh.allowedSignersFile", str(tmp_path / "signers"))
    scene = await change()
    merged = await scene.merge()
    user.git("verify-commit", merged.commit)


async def test_a_signature_that_cannot_be_made_stops_the_merge(user, change, tmp_path):
    user.git("config", "commit.gpgsign", "true")
    user.git("config", "gpg.format", "ssh")
    user.git("config", "user.signingkey", str(tmp_path / "absent"))
    scene = await change()
    with pytest.raises(InputError, match=r"commit\.gpgsign asks for a signature"):
        await scene.prepare()
    assert user.head == scene.base


async def test_a_message_of_any_letters_survives(user, change):
    scene = await change()
    await scene.merge(message="Fix “add”\n\nBecause − was not +.\n")
    assert user.git("log", "-1", "--format=%B").strip() == "Fix “add”\n\nBecause − was not +."


async def test_a_merge_that_was_cut_off_between_branch_and_files_is_finished(user, mirror):
    base = user.head
    tree = await (await mirror()).with_files(base, {"new.txt": ("100644", b"new\n")})
    repo, here = await Repository.open(user.root), await mirror()
    prepared = await prepare_merge(repo, here, tree, base, message="m", identity=ADA)
    assert await resume_merge(repo, prepared) is None, "nothing was begun"
    await complete_merge(repo, here, prepared)
    user.git("read-tree", "-m", "-u", prepared.commit, base)
    assert user.status() != "", "the branch was moved, and the files were not"
    merged = await resume_merge(repo, prepared)
    assert merged.commit == prepared.commit
    assert user.status() == ""
    assert user.read("new.txt") == "new\n"
    assert (await resume_merge(repo, prepared)).commit == prepared.commit


async def test_an_update_of_files_that_fails_half_way_is_undone(user, mirror):
    here, repo = await mirror(), await Repository.open(user.root)
    user.commit("a folder", closed__a="a\n", first="1\n")
    base = user.head
    files = {
        "first": ("100644", b"2\n"),
        "closed/a": ("100644", b"b\n"),
        "closed/z": ("100644", b"z\n"),
        "q": ("100644", b"q\n"),
    }
    tree = await here.with_files(base, files)
    prepared = await prepare_merge(repo, here, tree, base, message="m", identity=ADA)
    # Full: what does not fit is refused by the kernel, for root too.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2", "tmpfs", user.root / "closed"], check=False)
    try:
        if subprocess.run(["mountpoint", "-q", user.root / "closed"], check=False).returncode:
            pytest.skip("a file system of its own cannot be mounted here")
        user.write("closed/a", "a\n")
        with pytest.raises(InputError, match="taken back|nothing was moved"):
            await complete_merge(repo, here, prepared)
        assert user.head == base
        assert user.read("first") == "1\n"
        assert not (user.root / "q").exists()
    finally:
        subprocess.run(["umount", user.root / "closed"], check=False, capture_output=True)
