"""Writing files so that a failure half-way loses nothing."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import InfrastructureError


def write_whole(path: Path, text: str) -> None:
    """Put a text in place of a file, all of it or nothing: what stood there survives a full disk or a crash."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # Opened exclusively and by the plain call, so that the user's umask decides about its mode.
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written: {error.strerror}; nothing was changed") from None
    finally:
        scratch.unlink(missing_ok=True)
