"""Where trueup keeps what can be made again: mirrors, layers, tops. One folder per repository, in the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from trueup.core.files import remove_tree, user_folder

from ._sandbox._scratch import abandoned, disk_use

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
    return user_folder("XDG_CACHE_HOME", ".cache", os.environ if environ is None else environ) / "trueup"


def store_of(repository: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The folder of one repository; its name is readable, its digest keeps two of the same name apart."""
    digest = hashlib.sha256(os.fsencode(repository)).hexdigest()[:16]
    folder = cache_folder(environ) / "repositories" / f"{repository.name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "repository").write_bytes(os.fsencode(repository))
    return folder


def share(store: Path) -> int | None:
    """Say that a store is in use, until the descriptor is closed; None while somebody cleans it."""
    return _hold(store, fcntl.LOCK_SH)


def list_cache(environ: Mapping[str, str] | None = None) -> list[Kept]:
    """Everything that is kept, largest first."""
    found = [kept for store in _stores(environ) for kept in _kept_in(store)]
    return sorted(found, key=lambda kept: -kept.size_bytes)


def clean_cache(environ: Mapping[str, str] | None = None, *, older_than_secs: float = 0, now: float = 0) -> list[Kept]:
    """Remove layers that were not used lately and tops whose owner is gone; what is in use stays. Return what went."""
    gone = [kept for store in _stores(environ) for kept in _clean_store(store, unused_since=now - older_than_secs)]
    return sorted(gone, key=lambda kept: -kept.size_bytes)


def _stores(environ: Mapping[str, str] | None) -> list[Path]:
    return sorted(store for store in (cache_folder(environ) / "repositories").glob("*") if store.is_dir())


def _clean_store(store: Path, unused_since: float) -> Iterator[Kept]:
    # Nobody can begin to use the store while it is held alone.
    alone = _hold(store, fcntl.LOCK_EX)
    try:
        owners_gone = set(abandoned(store / "tops"))
        for kept in _kept_in(store):
            if kept.path in owners_gone or (alone is not None and _is_stale(kept, unused_since)):
                _remove(kept)
                yield kept
    finally:
        if alone is not None:
            os.close(alone)


def _is_stale(kept: Kept, unused_since: float) -> bool:
    if kept.kind == "mirror":
        return not Path(kept.repository).exists()
    return kept.kind in ("base", "dependencies") and kept.used <= unused_since


def _remove(kept: Kept) -> None:
    # Somebody else may clean at the same time.
    with suppress(FileNotFoundError):
        remove_tree(kept.path)
    if kept.kind == "dependencies":
        kept.path.with_name(f"{kept.path.name}.lock").unlink(missing_ok=True)


def _kept_in(store: Path) -> Iterator[Kept]:
    repository = os.fsdecode(_read(store / "repository"))
    for kind, pattern in KINDS.items():
        for path in sorted(store.glob(pattern)):
            # What a running check throws away may go while we look.
            with suppress(FileNotFoundError):
                if path.is_dir():
                    yield Kept(kind, repository, path, disk_use(path), path.stat().st_mtime)


def _hold(store: Path, how: int) -> int | None:
    descriptor = os.open(store / "in-use", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
