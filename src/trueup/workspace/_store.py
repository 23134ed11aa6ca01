"""Where trueup keeps what can be made again: mirrors, layers, tops. One folder per repository, in the user's cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ._sandbox._scratch import abandoned, disk_use, remove_tree

KINDS = {"base": "bases/*", "dependencies": "dependencies/*", "mirror": "mirror", "top": "tops/top-*"}


class Kept(Struct, frozen=True):
    """Something in the cache: what it is, of which repository, how large, when last used."""

    kind: str
    repository: str
    path: Path
    size_bytes: int
    used: float


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The root of trueup's cache, by the XDG rules."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".cache")
    return Path(base) / "trueup"


def store_of(repository: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The folder of one repository; its name is readable, its digest keeps two of the same name apart."""
    digest = hashlib.sha256(os.fsencode(repository)).hexdigest()[:16]
    folder = cache_folder(environ) / "repositories" / f"{repository.name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "repository").write_bytes(os.fsencode(repository))
    return folder


def list_cache(environ: Mapping[str, str] | None = None) -> list[Kept]:
    """Everything that is kept, largest first."""
    stores = sorted((cache_folder(environ) / "repositories").glob("*"))
    found = [kept for store in stores for kept in _kept_in(store)]
    return sorted(found, key=lambda kept: -kept.size_bytes)


def _kept_in(store: Path) -> Iterator[Kept]:
    repository = os.fsdecode(_read(store / "repository"))
    for kind, pattern in KINDS.items():
        for path in store.glob(pattern):
            if path.is_dir():
                yield Kept(kind, repository, path, disk_use(path), path.stat().st_mtime)


def clean_cache(environ: Mapping[str, str] | None = None, *, older_than_secs: float = 0, now: float = 0) -> list[Kept]:
    """Remove layers that were not used lately and tops whose owner is gone; what is in use stays. Return what went."""
    owned = {path for store in (cache_folder(environ) / "repositories").glob("*") for path in abandoned(store / "tops")}
    gone = []
    for kept in list_cache(environ):
        is_stale = kept.kind in ("base", "dependencies") and now - kept.used >= older_than_secs
        if kept.path in owned or is_stale:
            remove_tree(kept.path)
            gone.append(kept)
    return gone


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
