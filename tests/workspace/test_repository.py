"""Opening the user's repository and finding out where they are in it."""

from __future__ import annotations

import os

import pytest

from checkouts import Checkout
from trueup.core.errors import InputError
from trueup.workspace._repository import Identity, Repository


async def test_a_repository_is_found_from_a_subfolder(user):
    repo = await Repository.open(user.root / "tests")
    assert (repo.root, repo.git_dir) == (user.root, user.root / ".git")


async def test_a_linked_worktree_has_its_own_root_and_shares_the_rest(user, tmp_path):
    user.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    repo = await Repository.open(tmp_path / "linked")
    assert repo.root == tmp_path / "linked"
    assert repo.git_dir == user.root / ".git/worktrees/linked"
    assert repo.common_dir == user.root / ".git"
    assert (await repo.head()).branch == "side"


async def test_a_path_with_a_newline_is_no_trouble(tmp_path):
    odd = Checkout(tmp_path / 'a\nb "c"')
    odd.commit()
    assert (await Repository.open(odd.root)).root == odd.root


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        ("absent", "no such folder"),
        ("plain", "not in a git repository"),
        ("bare", "bare"),
        ("empty", "no commit yet"),
        ("user/.git", r"its \.git folder"),
    ],
)
async def test_what_cannot_be_opened_says_why(user, tmp_path, scene, words):
    (tmp_path / "plain").mkdir()
    user.git("init", "-q", "--bare", str(tmp_path / "bare"))
    user.git("init", "-q", str(tmp_path / "empty"))
    with pytest.raises(InputError, match=words):
        await Repository.open(tmp_path / scene)


async def test_a_machine_without_git_is_told_to_install_it(user, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="git is not on PATH: install it"):
        await Repository.open(user.root)


async def test_variables_that_point_git_elsewhere_are_not_followed(user, monkeypatch, tmp_path):
    with monkeypatch.context() as inside_a_hook:
        inside_a_hook.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
        inside_a_hook.setenv("GIT_INDEX_FILE", str(tmp_path / "other-index"))
        repo = await Repository.open(user.root)
        assert not await repo.is_dirty()


async def test_a_name_becomes_a_commit(user):
    user.git("tag", "-a", "-m", "t", "v1")
    repo = await Repository.open(user.root)
    assert await repo.resolve("v1") == await repo.resolve("main") == user.head


@pytest.mark.parametrize("rev", ["nowhere", "--all", "", "HEAD:calc.py", "-q"])
async def test_a_name_of_nothing_is_named_in_the_error(user, rev):
    repo = await Repository.open(user.root)
    with pytest.raises(InputError, match="names no commit"):
        await repo.resolve(rev)


async def test_in_a_shallow_clone_the_error_says_how_to_deepen_it(user, tmp_path):
    first = user.head
    user.commit("second")
    user.git("clone", "-q", "--depth", "1", f"file://{user.root}", str(tmp_path / "shallow"))
    repo = await Repository.open(tmp_path / "shallow")
    with pytest.raises(InputError, match=r"git fetch --unshallow.*fetch-depth: 0"):
        await repo.resolve(first)


async def test_a_detached_head_has_no_branch(user):
    user.git("checkout", "-q", "--detach")
    head = await (await Repository.open(user.root)).head()
    assert (head.commit, head.branch) == (user.head, None)


async def test_the_base_is_where_the_branch_left_the_default_one(user):
    fork = user.head
    user.git("checkout", "-q", "-b", "feature/x")
    user.commit("mine")
    user.git("checkout", "-q", "main")
    user.commit("theirs")
    user.git("checkout", "-q", "feature/x")
    assert await (await Repository.open(user.root)).default_base() == fork


async def test_on_the_default_branch_the_base_is_head(user):
    user.commit("second")
    assert await (await Repository.open(user.root)).default_base() == user.head


async def test_the_remote_says_which_branch_is_the_default(user, tmp_path):
    user.git("branch", "-m", "main", "trunk")
    fork = user.head
    user.git("clone", "-q", str(user.root), str(tmp_path / "clone"))
    clone = Checkout(tmp_path / "clone")
    clone.git("checkout", "-q", "-b", "work")
    clone.commit("mine")
    assert await (await Repository.open(clone.root)).default_base() == fork


async def test_a_configured_default_branch_counts(user):
    user.git("branch", "-m", "main", "trunk")
    user.git("config", "init.defaultBranch", "trunk")
    fork = user.head
    user.git("checkout", "-q", "-b", "work")
    user.commit("mine")
    assert await (await Repository.open(user.root)).default_base() == fork


async def test_a_shallow_checkout_of_a_pull_request_has_no_base_and_says_so(user, tmp_path):
    user.git("checkout", "-q", "-b", "feature")
    user.commit("mine")
    user.git("clone", "-q", "--depth", "1", "-b", "feature", f"file://{user.root}", str(tmp_path / "ci"))
    runner = Checkout(tmp_path / "ci")
    runner.git("checkout", "-q", "--detach")
    runner.git("remote", "remove", "origin")
    runner.git("branch", "-D", "feature")
    with pytest.raises(InputError, match="fetch-depth: 0"):
        await (await Repository.open(runner.root)).default_base()


@pytest.mark.parametrize("scene", ["modified", "staged", "untracked", "deleted"])
async def test_a_dirty_tree_is_dirty(user, scene):
    repo = await Repository.open(user.root)
    assert not await repo.is_dirty()
    if scene == "deleted":
        (user.root / "calc.py").unlink()
    else:
        user.write("new.py" if scene == "untracked" else "calc.py", "x\n")
    if scene == "staged":
        user.git("add", "-A")
    assert await repo.is_dirty()


async def test_asking_about_dirt_runs_nothing_that_the_configuration_names(user, canary):
    user.write(".gitattributes", "*.py filter=ev=il\n")
    user.commit()
    user.git("config", "core.fsmonitor", f"touch {canary}")
    for name in ("clean", "smudge", "process"):
        user.git("config", f"filter.ev=il.{name}", f"touch {canary}; cat")
    user.git("config", "filter.ev=il.required", "true")
    os.utime(user.root / "calc.py", (1, 1))
    assert not await (await Repository.open(user.root)).is_dirty()
    assert not canary.exists()


async def test_the_identity_is_the_one_that_git_would_use(user):
    user.git("config", "user.name", "Grace Hopper")
    user.git("config", "user.email", "grace@example.org")
    assert await (await Repository.open(user.root)).identity() == Identity("Grace Hopper", "grace@example.org")


async def test_without_an_identity_the_error_says_what_to_set(user):
    with pytest.raises(InputError, match=r"user\.name"):
        await (await Repository.open(user.root)).identity()


async def test_commits_that_were_not_pushed_are_work_and_not_the_base(user, tmp_path):
    origin = tmp_path / "origin.git"
    user.git("clone", "-q", "--bare", ".", str(origin))
    user.git("remote", "add", "origin", str(origin))
    user.git("fetch", "-q", "origin")
    pushed = user.head
    user.commit("not pushed", **{"more.txt": "x"})
    assert await (await Repository.open(user.root)).default_base() == pushed
