"""Workspaces on disk: what is written beside them, and finding those that were left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.files import write_whole

from ._sandbox import NO_SANDBOX, Backend, Scratch, abandoned, inhabitants

RECORD = "workspace.json"
READY = "ready"
SUSPENDED = "suspended"


class WorkspaceRecord(Struct, frozen=True):
    """What is written beside a workspace, for whoever finds it later."""

    repository: str
    base: str
    created: float
    backend: Backend = Backend("bubblewrap")

    def can_be_opened_by(self, backend: Backend) -> bool:
        """A top that was mounted holds only what was changed, one that was copied holds everything."""
        return self.backend.copies == backend.copies and (self.backend == NO_SANDBOX) == (backend == NO_SANDBOX)


class KeptWorkspace(Struct, frozen=True):
    """A workspace on disk: whether its owner let go of it, to come back, or is gone."""

    path: Path
    repository: str
    base: str
    created: float
    abandoned: bool
    suspended: bool = False


def write_record(folder: Path, record: WorkspaceRecord) -> None:
    """Put the record beside a workspace."""
    write_whole(folder / RECORD, msgspec.json.encode(record).decode())


def read_record(folder: Path) -> WorkspaceRecord:
    """The record beside a workspace; an `InputError` where it cannot be read."""
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=WorkspaceRecord)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{folder.name} is no workspace that can be read: {error}") from None


def list_workspaces(stores: Path) -> list[KeptWorkspace]:
    """Every workspace of every repository, oldest first."""
    return sorted(_kept(stores), key=lambda kept: kept.created)


def clean_workspaces(stores: Path, *, suspended_too: bool = False) -> list[KeptWorkspace]:
    """Remove those whose owner is proven to be gone, and say which. Suspended ones stay unless asked for."""
    wanted = [kept for kept in list_workspaces(stores) if kept.abandoned or (suspended_too and kept.suspended)]
    return [kept for kept in wanted if _remove(kept.path)]


def _kept(stores: Path) -> Iterator[KeptWorkspace]:
    for parent in stores.glob("*/workspaces"):
        free = set(abandoned(parent))
        for record_file in parent.glob(f"top-*/{RECORD}"):
            # Its owner may throw it away while we look.
            with suppress(InputError):
                yield _seen(record_file.parent, is_free=record_file.parent in free)


def _seen(folder: Path, *, is_free: bool) -> KeptWorkspace:
    record = read_record(folder)
    is_suspended = is_free and (folder / SUSPENDED).exists()
    return KeptWorkspace(
        path=folder,
        repository=record.repository,
        base=record.base,
        created=record.created,
        abandoned=is_free and not is_suspended,
        suspended=is_suspended,
    )


def _remove(folder: Path) -> bool:
    """Whether it was removed: not if somebody adopted it meanwhile, or its last processes are about to end."""
    if inhabitants(folder):
        return False
    try:
        Scratch.adopt(folder).discard()
    except InputError:
        return False
    return True
