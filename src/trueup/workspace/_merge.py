"""Bringing a verified tree into a branch of the user's, in two steps, so that what is merged can be verified first.

`prepare_merge` touches nothing of theirs. `complete_merge` moves the branch from the very commit that was prepared
for, or not at all, and never writes over a file that the user has changed.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from msgspec import Struct

from trueup.core.errors import InputError, Kind, TrueupError

from ._git import Git, GitError, as_bytes, as_text, join_nul, last_words, split_nul
from ._mirror import Mirror
from ._repository import Identity, Repository
from ._trees import read_changes


class MergeConflictError(TrueupError):
    """Both sides changed the same lines."""

    kind = Kind.REFUSED

    def __init__(self, branch: str, paths: list[str]) -> None:
        super().__init__(f"the change does not merge into {branch}; both changed: {_listed(paths)}")
        self.paths = paths


class DirtyFilesError(TrueupError):
    """Files of the user's stand in the way."""

    kind = Kind.REFUSED

    def __init__(self, paths: list[str]) -> None:
        super().__init__(f"you have changes of your own in {_listed(paths)}; commit or stash them, then merge again")
        self.paths = paths


class BranchMovedError(InputError):
    """A branch is no longer where a merge was prepared for; it was left alone."""


class PreparedMerge(Struct, frozen=True, kw_only=True):
    """A commit that a branch can be moved to.

    `tree` is what the branch will hold. Where the branch has moved since the base it is not the tree that was
    verified, and must be verified itself. `old` is None for a branch that is yet to be made, `branch` for a
    detached HEAD.
    """

    tree: str
    commit: str
    needs_verification: bool
    branch: str | None
    old: str | None


class Merged(Struct, frozen=True, kw_only=True):
    """A branch that holds the change, and whether the user's files were brought up to it."""

    commit: str
    tree: str
    branch: str | None
    fast_forwarded_checkout: bool


async def prepare_merge(
    repo: Repository,
    mirror: Mirror,
    tree: str,
    base: str,
    *,
    into: str | None = None,
    message: str,
    identity: Identity | None = None,
) -> PreparedMerge:
    """Make the commit that brings a tree into a branch: the one that is checked out, unless another is named."""
    branch = into if into is not None else (await repo.head()).branch
    old = await _tip(repo, branch)
    await _is_here(repo, branch)
    merged = await _merged_tree(mirror, tree, base, old or base, branch or "HEAD")
    if old is not None and merged == await mirror.tree_of(old):
        commit = old
    else:
        author = identity or await repo.identity()
        commit = await _commit(repo, mirror, merged, old or base, message, author)
    return PreparedMerge(tree=merged, commit=commit, needs_verification=merged != tree, branch=branch, old=old)


async def complete_merge(repo: Repository, mirror: Mirror, prepared: PreparedMerge) -> Merged:
    """Move the branch to the prepared commit, and the user's files with it where that branch is checked out."""
    here = await _is_here(repo, prepared.branch)
    if prepared.commit != prepared.old:
        await _bring_objects(repo, mirror, prepared)
        if here:
            await _advance_checkout(repo, prepared)
        else:
            await _move_ref(repo, prepared.branch, prepared.old, prepared.commit)
    return Merged(commit=prepared.commit, tree=prepared.tree, branch=prepared.branch, fast_forwarded_checkout=here)


async def resume_merge(repo: Repository, prepared: PreparedMerge) -> Merged | None:
    """Where a merge was cut off: None if the branch was never moved, else the merge, with the user's files brought up.

    Whether the files were reached is not known, so that is done again: it changes nothing where they were.
    """
    tip = await _tip(repo, prepared.branch)
    if tip is None or not await repo.git.ok("merge-base", "--is-ancestor", prepared.commit, tip):
        return None
    here = await _is_here(repo, prepared.branch)
    if here and tip == prepared.commit and prepared.old not in {None, prepared.commit}:
        await _refresh(repo)
        again = await _as_user(repo).attempt("read-tree", "-m", "-u", str(prepared.old), prepared.commit)
        if again.exit_code != 0:
            raise InputError(f"your files could not be brought up to the change: {last_words(again)}")
    return Merged(commit=prepared.commit, tree=prepared.tree, branch=prepared.branch, fast_forwarded_checkout=here)


async def _tip(repo: Repository, branch: str | None) -> str | None:
    if branch is None:
        return await repo.resolve("HEAD")
    if not await repo.git.ok("check-ref-format", f"refs/heads/{branch}") or branch.startswith("-"):
        raise InputError(f"{branch!r} cannot be the name of a branch")
    found = await repo.git.attempt("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
    return found.stdout.data.decode().strip() if found.exit_code == 0 else None


async def _is_here(repo: Repository, branch: str | None) -> bool:
    """Whether a branch is the one that the user has checked out; one under another folder must not move at all."""
    if branch == (await repo.head()).branch:
        if any((repo.git_dir / name).exists() for name in ("rebase-merge", "rebase-apply", "MERGE_HEAD")):
            raise InputError(f"{repo.root} is in the middle of a merge or rebase; finish or abort it, then merge again")
        return True
    if branch is None:
        raise InputError("HEAD was detached and no longer is; prepare the merge again")
    for record in (await repo.git.output("worktree", "list", "--porcelain", "-z")).split(b"\0\0"):
        lines = [as_text(line) for line in record.split(b"\0")]
        if f"branch refs/heads/{branch}" in lines:
            folder = lines[0].removeprefix("worktree ")
            raise InputError(f"{branch} is checked out in {folder}; merge there, or name another branch")
    return False


async def _merged_tree(mirror: Mirror, tree: str, base: str, old: str, branch: str) -> str:
    if old == base:
        return tree
    change = await mirror.commit(tree, base, "The change to merge")
    merged = await mirror.git.attempt("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", old, change)
    found, *conflicts = split_nul(merged.stdout.data) or [b""]
    if merged.exit_code == 1:
        raise MergeConflictError(branch, [as_text(path) for path in conflicts])
    if merged.exit_code != 0:
        raise GitError(f"the change cannot be merged into {branch}: {last_words(merged)}")
    return found.decode().strip()


async def _commit(repo: Repository, mirror: Mirror, tree: str, parent: str, message: str, identity: Identity) -> str:
    """Write a commit by the user into the mirror, signed where they sign theirs, by the program that they chose."""
    sign = ["-S"] if repo.wants("commit.gpgsign") else []
    git = Git(
        repo.git_dir,
        objects=mirror.objects,
        as_user=True,
        settings={"i18n.commitEncoding": "UTF-8"},
        variables={
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", identity.name), ("EMAIL", identity.email))
        },
    )
    made = await git.attempt("commit-tree", *sign, "-p", parent, "-F", "-", tree, stdin=message.encode())
    if made.exit_code != 0 and sign:
        raise InputError(f"commit.gpgsign asks for a signature, and none could be made: {last_words(made)}")
    if made.exit_code != 0:
        raise GitError(f"the commit could not be made: {last_words(made)}")
    return made.stdout.data.decode().strip()


async def _bring_objects(repo: Repository, mirror: Mirror, prepared: PreparedMerge) -> None:
    known = f"^{prepared.old}\n" if prepared.old else f"^{prepared.commit}^\n"
    wanted = f"{prepared.commit}\n{known}".encode()
    pack = await mirror.git.output("pack-objects", "--revs", "--stdout", "-q", stdin=wanted)
    await repo.git.output("unpack-objects", "-q", "--strict", stdin=pack)


async def _move_ref(repo: Repository, branch: str | None, old: str | None, new: str) -> None:
    """Move a branch if it still is where it was, or make it if there still is none."""
    ref = "HEAD" if branch is None else f"refs/heads/{branch}"
    expected = old or "0" * len(new)
    moved = await _as_user(repo).attempt("update-ref", "--no-deref", "-m", "merge by trueup", ref, new, expected)
    if moved.exit_code != 0:
        raise BranchMovedError(f"{branch or 'HEAD'} has moved meanwhile, and was left alone: {last_words(moved)}")


async def _advance_checkout(repo: Repository, prepared: PreparedMerge) -> None:
    """Move the branch and the files together. What would refuse is asked first, so that nothing has moved by then."""
    old = await repo.resolve("HEAD")
    if old != prepared.old:
        raise BranchMovedError(
            f"{prepared.branch or 'HEAD'} has moved meanwhile, and was left alone; prepare the merge again"
        )
    if overlapping := await _dirty_among_changes(repo, old, prepared.commit):
        raise DirtyFilesError(overlapping)
    await _refresh(repo)
    git = _as_user(repo)
    update = ("read-tree", "-m", "-u", old, prepared.commit)
    trial = await git.attempt("read-tree", "-n", *update[1:])
    if trial.exit_code != 0:
        raise InputError(f"your files cannot be brought up to the change, and nothing was moved: {last_words(trial)}")
    await _move_ref(repo, prepared.branch, prepared.old, prepared.commit)
    updated = await git.attempt(*update)
    if updated.exit_code != 0:
        await _move_ref(repo, prepared.branch, prepared.commit, old)
        await _put_back(repo, old, prepared.commit)
        raise InputError(f"your files could not be brought up to the change; it was taken back: {last_words(updated)}")


async def _refresh(repo: Repository) -> None:
    """Let git look at files that were touched and not changed; else it takes them for the user's own changes."""
    await _as_user(repo).attempt("update-index", "-q", "--refresh")


async def _put_back(repo: Repository, old: str, new: str) -> None:
    """Undo what an update wrote before it failed: none of these files was changed by the user, or there at all."""
    changes = await read_changes(repo.git, old, new)
    for change in changes:
        if change.status == "added":
            with suppress(OSError):
                await asyncio.to_thread((repo.root / change.path).unlink)
    there = [as_bytes(change.path) for change in changes if change.status != "added"]
    await _as_user(repo).attempt("checkout-index", "-f", "-q", "-z", "--stdin", stdin=join_nul(there))
    await _refresh(repo)


async def _dirty_among_changes(repo: Repository, old: str, new: str) -> list[str]:
    changed = {change.path: change.status for change in await read_changes(repo.git, old, new)}
    status = await _as_user(repo).output(
        *("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
    )
    dirty = {as_text(line[3:]) for line in split_nul(status)}
    added = [path for path, kind in changed.items() if kind == "added"]
    in_the_way = await asyncio.to_thread(lambda: {path for path in added if os.path.lexists(repo.root / path)})
    return sorted((dirty | in_the_way) & changed.keys())


def _as_user(repo: Repository) -> Git:
    """The user's git with their filters and line ends, which their files need; still without hooks."""
    return Git(repo.git_dir, work_tree=repo.root, as_user=True)


def _listed(paths: list[str]) -> str:
    shown = ", ".join(path.encode("utf-8", "backslashreplace").decode() for path in paths[:10])
    return shown if len(paths) <= 10 else f"{shown} and {len(paths) - 10} more"
