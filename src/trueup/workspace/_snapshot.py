"""A change: what a snapshot makes of its base, and what a person should know before they trust it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from ._git import as_text
from ._mirror import Mirror
from ._snapshot_script import snapshot_script
from ._trees import GITLINK, SYMLINK, FileChange, read_sizes

__all__ = ["Change", "ChangeFinding", "FindingKind", "inspect_change", "snapshot_script"]

LARGE_BYTES = 10_000_000

FindingKind = Literal[
    "embedded_repository",
    "submodule_changed",
    "symlink",
    "symlink_outside",
    "type_changed",
    "large_file",
    "control_character_in_path",
]


class ChangeFinding(Struct, frozen=True):
    """One thing about a change that a diff would not show, or not show plainly."""

    kind: FindingKind
    path: str
    detail: str


class Change(Struct, frozen=True):
    """What was made of a base: a tree, the files that differ, and what is unusual about them.

    `ignored` are the first of the `ignored_total` paths that were left beside it: they are not part of the tree, and no
    check can have seen them. A folder has a slash at its end.
    """

    base: str
    tree: str
    files: list[FileChange]
    findings: list[ChangeFinding]
    ignored: list[str] = []
    ignored_total: int = 0


async def inspect_change(mirror: Mirror, base: str, tree: str) -> Change:
    """Compare a tree with its base."""
    files = await mirror.changes(base, tree)
    targets = await mirror.read_many(file.new_id for file in files if file.new_id and file.new_mode == SYMLINK)
    sizes = await read_sizes(mirror.git, (file.new_id for file in files if file.new_id and file.new_mode != GITLINK))
    findings = [
        ChangeFinding(kind, file.path, detail) for file in files for kind, detail in _unusual(file, targets, sizes)
    ]
    return Change(base, tree, files, findings)


def _unusual(file: FileChange, targets: dict[str, bytes], sizes: dict[str, int]) -> Iterator[tuple[FindingKind, str]]:
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in file.path):
        yield "control_character_in_path", f"the path is {file.path!r}"
    if GITLINK in {file.old_mode, file.new_mode}:
        yield _repository_finding(file)
    elif file.status == "type_changed":
        yield "type_changed", f"{_kind_of(file.old_mode)} became {_kind_of(file.new_mode)}"
    if file.new_id in targets:
        yield _link_finding(file.path, as_text(targets[file.new_id]))
    elif file.new_id and sizes.get(file.new_id, 0) > LARGE_BYTES:
        yield "large_file", f"{sizes[file.new_id] / 1_000_000:.1f} MB"


def _repository_finding(file: FileChange) -> tuple[FindingKind, str]:
    if file.old_mode != GITLINK:
        at = "without a commit" if set(file.new_id or "") == {"f"} else f"at commit {file.new_id}"
        return "embedded_repository", f"a git repository inside this one, {at}; its files are not part of the change"
    if file.new_mode != GITLINK:
        return "submodule_changed", f"the submodule at commit {file.old_id} is gone"
    return "submodule_changed", f"moved from commit {file.old_id} to {file.new_id}"


def _link_finding(path: str, target: str) -> tuple[FindingKind, str]:
    return ("symlink_outside" if _leads_outside(path, target) else "symlink"), f"points to {target!r}"


def _leads_outside(path: str, target: str) -> bool:
    """Whether a link may lead out of the tree; a `..` behind a name counts, for the name may be a link itself."""
    steps = [step for step in target.split("/") if step not in {"", "."}]
    climbs = next((number for number, step in enumerate(steps) if step != ".."), len(steps))
    return target.startswith("/") or climbs > path.count("/") or ".." in steps[climbs:]


def _kind_of(mode: str | None) -> str:
    return "a link" if mode == SYMLINK else "a file"
