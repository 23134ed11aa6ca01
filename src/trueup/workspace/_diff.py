"""How two trees differ: as a patch, and in numbers. No attribute and no program has a say in it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ._git import Git, as_text, split_nul

# Renames are found, since a person reads it; they cost nothing where a file was only moved.
OPTIONS = ("-r", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color")


class FileStat(Struct, frozen=True, kw_only=True):
    """How much changed in one file. Lines are None where it has none; `old_path` is where it was moved from."""

    path: str
    old_path: str | None = None
    insertions: int | None
    deletions: int | None


class DiffStat(Struct, frozen=True):
    """How much differs between two trees, file by file."""

    per_file: list[FileStat]

    @property
    def files(self) -> int:
        return len(self.per_file)

    @property
    def insertions(self) -> int:
        """Lines that are new; files that have no lines do not count."""
        return sum(file.insertions or 0 for file in self.per_file)

    @property
    def deletions(self) -> int:
        """Lines that are gone; files that have no lines do not count."""
        return sum(file.deletions or 0 for file in self.per_file)


async def read_patch(git: Git, old: str, new: str) -> bytes:
    """A patch as git writes it, binary files included."""
    return await git.output(
        *("diff-tree", "-p", "--binary", "--full-index", *OPTIONS, "--end-of-options"), _tree(old), _tree(new)
    )


async def read_diff_stat(git: Git, old: str, new: str) -> DiffStat:
    """The numbers of a patch."""
    printed = await git.output(*("diff-tree", "--numstat", "-z", *OPTIONS, "--end-of-options"), _tree(old), _tree(new))
    return DiffStat(list(_file_stats(iter(split_nul(printed)))))


def _file_stats(items: Iterator[bytes]) -> Iterator[FileStat]:
    for item in items:
        insertions, deletions, path = item.split(b"\t", 2)
        # A moved file has no name here, but its two names behind.
        old = None if path else as_text(next(items))
        yield FileStat(
            path=as_text(path or next(items)),
            old_path=old,
            insertions=_count(insertions),
            deletions=_count(deletions),
        )


def _tree(name: str) -> str:
    return f"{name}^{{tree}}"


def _count(number: bytes) -> int | None:
    return None if number == b"-" else int(number)
