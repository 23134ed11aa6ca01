"""What changes when something outside of git does."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

TOOLS = "python3 node npm pnpm yarn bun uv poetry pdm pipenv cargo rustc go java mvn gradle gcc make cmake ruby".split()


def tool_stamps(path: str) -> list[str]:
    """What changes when a program on PATH that checks may call does."""
    found = (shutil.which(tool, path=path) for tool in TOOLS)
    return [_stamp(Path(program)) for program in found if program]


def _stamp(path: Path) -> str:
    """What changes when a program does."""
    try:
        real = path.resolve()
        status = real.stat()
    except OSError:
        return f"{path} -"
    return f"{real} {status.st_size} {status.st_mtime_ns}"


def stamp_of_folder(folder: Path) -> str:
    """What changes when anything in a folder does."""
    digest = hashlib.sha256()
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                status = entry.stat(follow_symlinks=False)
                digest.update(os.fsencode(f"{entry.path}\0{status.st_mode} {status.st_size} {status.st_mtime_ns}\0"))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return digest.hexdigest()
