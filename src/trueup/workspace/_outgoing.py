"""Trees as files: what a tree has beyond its base, kept where cleaning a cache does not reach."""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path

from trueup.core.errors import InfrastructureError

from ._git import Git


async def is_whole(git: Git, tree: str, base: str | None) -> bool:
    """Whether nothing of a tree is missing, beyond what a base has."""
    known = [f"^{base}^{{tree}}"] if base else []
    return await git.ok("rev-list", "--objects", "--quiet", "--end-of-options", f"{tree}^{{tree}}", *known)


async def write_pack(git: Git, tree: str, base: str, path: Path) -> None:
    """Write a pack in one step. It leans on nothing but the base: no object in it is a difference to one outside."""
    wanted = f"{tree}^{{tree}}\n^{base}^{{tree}}\n"
    content = await git.output("pack-objects", "--revs", "--stdout", "-q", stdin=wanted.encode())
    try:
        await asyncio.to_thread(_write_whole, path, content)
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written: {error.strerror}; nothing was changed") from None


def _write_whole(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with scratch.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
