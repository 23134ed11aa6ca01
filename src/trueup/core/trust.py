"""What a person has agreed to: files of a repository that may widen what trueup does, by their digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from .files import user_folder, write_whole


def data_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where trueup keeps what must not be lost, by the XDG rules."""
    environ = os.environ if environ is None else environ
    return user_folder("XDG_DATA_HOME", ".local/share", environ) / "trueup"


def is_trusted(content: bytes, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a person agreed to exactly this content."""
    return _digest(content) in _read(data_folder(environ) / "trusted")


def trust(content: bytes, where: str, environ: Mapping[str, str] | None = None) -> None:
    """Remember that a person agreed to this content; `where` only helps whoever reads the list."""
    file = data_folder(environ) / "trusted"
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    agreed = {**_read(file), _digest(content): " ".join(where.split())}
    write_whole(file, "".join(f"{digest} {place}\n" for digest, place in agreed.items()))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {digest: place for digest, _, place in (line.partition(" ") for line in lines)}
