"""A user's repository, opened for work and judgement: with its mirror, its layers, and a sandbox that holds."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from trueup.workspace import NO_SANDBOX, Layers, Mirror, Repository, find_backend, store_of


class Site(Struct, frozen=True):
    """What is needed of one repository."""

    repo: Repository
    mirror: Mirror
    layers: Layers


async def open_site(folder: Path, *, sandboxed: bool) -> Site:
    """Open the repository that a folder is in. Without a sandbox only where a person says so."""
    repo = await Repository.open(folder)
    store = store_of(repo.root)
    mirror = await Mirror.open(repo, store / "mirror")
    backend = await find_backend() if sandboxed else NO_SANDBOX
    return Site(repo, mirror, Layers(repo, mirror, store, backend))
