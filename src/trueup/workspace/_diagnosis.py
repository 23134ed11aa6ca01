"""What works on this machine, found out by trying, each with what would mend it."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from trueup.core.errors import TrueupError
from trueup.core.process import Command, run

from ._sandbox import Backend, installed_backends, prove
from ._store import cache_folder

OLDEST_GIT = (2, 38)
LEAST_FREE_BYTES = 5 << 30
TOOLCHAINS = "python3 uv node npm cargo go java mvn gradle make cmake ruby".split()


class Diagnosis(Struct, frozen=True, kw_only=True):
    """One thing that was looked at. Without `required` things trueup does not do its work."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = True


async def diagnose() -> list[Diagnosis]:
    """Look at everything that trueup stands on."""
    return [
        _python(),
        await _git(),
        *_namespaces(),
        *await _sandbox(),
        await asyncio.to_thread(_disk),
        _toolchains(),
    ]


def _python() -> Diagnosis:
    return Diagnosis(
        name="python",
        ok=sys.version_info >= (3, 11),
        detail=platform.python_version(),
        fix="install Python 3.11 or newer",
    )


async def _git() -> Diagnosis:
    fix = "install git 2.38 or newer"
    try:
        told = (await run(Command(argv=("git", "--version"), timeout_secs=10))).stdout.text.strip()
    except TrueupError as error:
        return Diagnosis(name="git", ok=False, detail=str(error), fix=fix)
    version = tuple(int(number) for number in re.findall(r"\d+", told)[:2])
    return Diagnosis(name="git", ok=version >= OLDEST_GIT, detail=told, fix=fix)


def _namespaces() -> Iterator[Diagnosis]:
    if sys.platform != "linux":
        yield Diagnosis(name="platform", ok=False, detail=sys.platform, fix="use Linux, or run with --sandbox none")
        return
    settings = {
        "/proc/sys/user/max_user_namespaces": ("0", "sysctl -w user.max_user_namespaces=10000"),
        "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or install bubblewrap with its AppArmor profile",
        ),
    }
    for file, (bad, fix) in settings.items():
        value = _first_line(Path(file))
        if value == bad and os.geteuid() != 0:
            yield Diagnosis(name="user namespaces", ok=False, detail=f"{file} is {value}", fix=fix, required=False)


async def _sandbox() -> list[Diagnosis]:
    installed = installed_backends()
    if not installed:
        what = "install bubblewrap, or util-linux with nsenter, unshare and setpriv"
        return [Diagnosis(name="sandbox", ok=False, detail="no program for it is installed", fix=what)]
    proven = {backend: await prove(backend) for backend in installed}
    holding = [backend for backend, escapes in proven.items() if not escapes]
    copying = [] if holding else [each for each in installed if not await prove(Backend(each.name, copies=True))]
    lines = [
        Diagnosis(
            name=f"sandbox {backend}",
            ok=not escapes,
            detail="; ".join(escape.what for escape in escapes) or "every escape that was tried failed",
            fix="enable user namespaces (see above), or say --sandbox none",
            required=not holding and not copying,
        )
        for backend, escapes in proven.items()
    ]
    if shutil.which("bwrap") is None:
        lines.append(
            Diagnosis(
                name="bubblewrap", ok=False, detail="not installed", fix="install it: it confines more", required=False
            )
        )
    return [*lines, _overlay(mounts=bool(holding), copies=bool(copying))]


def _overlay(*, mounts: bool, copies: bool) -> Diagnosis:
    if mounts:
        return Diagnosis(name="overlay", ok=True, detail="layers are mounted")
    return Diagnosis(
        name="overlay",
        ok=False,
        detail="layers are copied instead" if copies else "no sandbox works",
        fix="use Linux 5.11 or newer and a cache folder (XDG_CACHE_HOME) on a disk of its own",
        required=False,
    )


def _disk() -> Diagnosis:
    folder = cache_folder()
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(place).free
    return Diagnosis(
        name="disk",
        ok=free >= LEAST_FREE_BYTES,
        detail=f"{free / (1 << 30):.1f} GiB free at {place}",
        fix="make room (`trueup cache clean`), or set XDG_CACHE_HOME to a larger disk",
        required=False,
    )


def _toolchains() -> Diagnosis:
    found = [tool for tool in TOOLCHAINS if shutil.which(tool)]
    return Diagnosis(
        name="toolchains",
        ok=bool(found),
        detail=" ".join(found) or "none",
        fix="install what your checks call",
        required=False,
    )


def _first_line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
