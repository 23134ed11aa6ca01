"""Notes on commits of the user's repository: beside its history, read, and added to without losing anybody's words.

`git notes` itself moves its ref without looking whether somebody else did meanwhile. Here the ref moves from the very
commit that was read, or what was read is read again. No commit that a note is about ever changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time

from msgspec import Struct

from trueup.core.errors import Kind, TrueupError

from ._git import Git, GitError, as_text, last_words, split_nul
from ._repository import Identity, Repository
from ._trees import Entry, put_entries, read_blobs, read_sizes, scratch_index, write_blobs

OUTCOMES = "refs/notes/outcomes"
MOST_NOTE_BYTES = 8 << 20
PATIENCE_SECS = 30.0

# How often a ref that nobody moved may refuse to be moved: somebody may hold its lock for a moment.
_MOST_REFUSALS = 8
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Note(Struct, frozen=True):
    """What somebody wrote about a commit."""

    commit: str
    content: bytes


class SomeNotes(Struct, frozen=True):
    """Notes of a ref, and how many it has in all."""

    notes: list[Note]
    in_all: int


async def tree_of(repo: Repository, commit: str) -> str:
    """The tree of a commit, from the bytes that its id vouches for and not from any cache beside them."""
    content = await repo.git.output("cat-file", "commit", commit)
    counted = hashlib.new(repo.hash_name, b"commit %d\0" % len(content) + content, usedforsecurity=False)
    if counted.hexdigest() != commit:
        raise GitError(f"commit {commit[:12]} of {repo.root} is not what its id says; see `git fsck`")
    return content.partition(b"\n")[0].removeprefix(b"tree ").decode()


async def read_note(repo: Repository, commit: str, *, ref: str = OUTCOMES) -> bytes | None:
    """The note on a commit; None where there is none."""
    tip = await _tip(repo, ref)
    if tip is None:
        return None
    places = await _places(repo.git, tip, commit)
    return await _joined(repo.git, commit, list(places.values())) if places else None


async def read_notes(repo: Repository, *, most: int, ref: str = OUTCOMES) -> SomeNotes:
    """As many notes as are asked for, less those that are too large to be read for their own sake."""
    tip = await _tip(repo, ref)
    if tip is None:
        return SomeNotes([], 0)
    listed = await _listed(repo.git, tip)
    chosen = dict(listed[:most])
    sizes = await read_sizes(repo.git, chosen.values())
    small = {commit: blob for commit, blob in chosen.items() if sizes.get(blob, MOST_NOTE_BYTES) < MOST_NOTE_BYTES >> 5}
    contents = await read_blobs(repo.git, small.values())
    return SomeNotes([Note(commit, contents[blob]) for commit, blob in small.items()], len(listed))


async def append_to_note(
    repo: Repository, commit: str, line: bytes, *, identity: Identity | None = None, ref: str = OUTCOMES
) -> str:
    """Add a line to the note on a commit, and return the commit of the notes that holds it.

    Whatever the note said before stays, and so does what others write at the same time.
    """
    git = _git_by(repo, identity or await repo.identity())
    started, refusals = time.monotonic(), 0
    while True:
        old = await _tip(repo, ref)
        new = await _with_line(repo, git, old, commit, line)
        expected = old or "0" * len(commit)
        moved = await git.attempt("update-ref", "--no-deref", "-m", "notes: added by trueup", ref, new, expected)
        if moved.exit_code == 0:
            return new
        refusals += await _tip(repo, ref) == old
        if refusals > _MOST_REFUSALS or time.monotonic() - started > PATIENCE_SECS:
            raise GitError(f"the note on {commit[:12]} could not be written to {ref}: {last_words(moved)}")
        # Writers that met once must not meet again.
        await asyncio.sleep(0.01 + secrets.randbelow(100) / 1000)


async def _tip(repo: Repository, ref: str) -> str | None:
    found = await repo.git.attempt("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return found.stdout.data.decode().strip() if found.exit_code == 0 else None


async def _with_line(repo: Repository, git: Git, old: str | None, commit: str, line: bytes) -> str:
    places = {} if old is None else await _places(git, old, commit)
    before = await _joined(git, commit, list(places.values()))
    (blob,) = await write_blobs(git, [_ended(before) + _ended(line)])
    # One level of folders keeps every tree small from the first note to the hundred thousandth; git reads any.
    place = next(iter(places), f"{commit[:2]}/{commit[2:]}")
    entries = {**dict.fromkeys(places), place: Entry("100644", blob)}
    async with scratch_index(old or _empty_tree(repo), repo.git_dir) as index:
        await put_entries(index, entries, len(commit))
        tree = await index.text("write-tree")
    parent = () if old is None else ("-p", old)
    return await git.text("commit-tree", *parent, "-m", "Notes added by trueup", tree)


async def _places(git: Git, tip: str, commit: str) -> dict[str, str]:
    """Where the notes of a ref have something on a commit: git allows for folders to any depth. Paths to blobs."""
    depths = range(len(commit) // 2)
    paths = ["/".join([*(commit[at * 2 : at * 2 + 2] for at in range(deep)), commit[deep * 2 :]]) for deep in depths]
    lines = split_nul(await git.output("ls-tree", "-z", "--full-tree", tip, "--", *paths))
    found = [as_text(line).partition("\t") for line in lines]
    return {path: facts.split(" ")[2] for facts, _, path in found if facts.split(" ")[1] == "blob"}


async def _listed(git: Git, tip: str) -> list[tuple[str, str]]:
    """Every note of a ref as the commit and the blob; what else its tree holds is none of ours."""
    lines = split_nul(await git.output("ls-tree", "-r", "-z", "--full-tree", tip))
    found = [as_text(line).partition("\t") for line in lines]
    named = [(path.replace("/", ""), facts.split(" ")[2]) for facts, _, path in found]
    return [(commit, blob) for commit, blob in named if _OBJECT_ID.fullmatch(commit)]


async def _joined(git: Git, commit: str, blobs: list[str]) -> bytes:
    size = sum((await read_sizes(git, blobs)).values()) if blobs else 0
    if size > MOST_NOTE_BYTES:
        raise TrueupError(
            f"the note on {commit[:12]} has {size >> 20} MiB, which is more than attestations come to; "
            "look at it with `git notes --ref=outcomes show`, and remove what does not belong there",
            kind=Kind.REFUSED,
        )
    contents = await read_blobs(git, blobs)
    return b"".join(_ended(contents[blob]) for blob in blobs)


def _ended(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


def _empty_tree(repo: Repository) -> str:
    return hashlib.new(repo.hash_name, b"tree 0\0", usedforsecurity=False).hexdigest()


def _git_by(repo: Repository, identity: Identity) -> Git:
    return Git(
        repo.git_dir,
        settings={"i18n.commitEncoding": "UTF-8"},
        variables={
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", identity.name), ("EMAIL", identity.email))
        },
    )
