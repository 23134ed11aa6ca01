"""Real agents that are Node packages, installed once into a cache, with the Node that they want."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from trueup.core.process import Command, run
from trueup.workspace._locks import locked

# Some of the agents run on no older Node, and with one npm picks older parts of them without a word.
NODE = "node@22"
PACKAGES = {
    "opencode": "opencode-ai@1.18.33",
    "gemini": "@google/gemini-cli@0.61.0",
    "goose": "@aaif/goose-binary-linux-x64@1.52.0",
    "pi": "@earendil-works/pi-coding-agent@0.87.1",
    "claude-agent-acp": "@agentclientprotocol/claude-agent-acp@0.99.1",
    "codex-acp": "@agentclientprotocol/codex-acp@2.6.0",
}
# What lies below node_modules, by the name under which it is called.
_PLACES = {
    "node": ".bin/node",
    "opencode": ".bin/opencode",
    "gemini": ".bin/gemini",
    "goose": ".bin/goose-binary-linux-x64",
    "pi": ".bin/pi",
    "claude-agent-acp": ".bin/claude-agent-acp",
    "codex-acp": ".bin/codex-acp",
}
_QUIET = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--fetch-retries=1")
INSTALL_SECS = 300


class InstallError(Exception):
    """Why there are no agents to be had here."""


async def agents_from_npm(cache: Path, environ: Mapping[str, str]) -> Path:
    """A folder with nothing but the agents and their Node in it, to be put on PATH."""
    folder = cache / "npm"
    async with locked(cache / "npm.lock"):
        stamp = folder / "complete"
        wanted = json.dumps([NODE, *PACKAGES.values()])
        if await asyncio.to_thread(_said_by, stamp) != wanted:
            await _install(folder, environ)
            await asyncio.to_thread(stamp.write_text, wanted)
    return folder / "bin"


def _said_by(stamp: Path) -> str | None:
    return stamp.read_text() if stamp.exists() else None


async def _install(folder: Path, environ: Mapping[str, str]) -> None:
    npm = shutil.which("npm", path=environ.get("PATH", os.defpath))
    if npm is None:
        raise InstallError("there is no npm on PATH")
    # What the packages leave in a temporary folder is not to be left in that of the suite.
    scratch = folder / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    path = f"{folder}/node_modules/.bin:{environ.get('PATH', os.defpath)}"
    env = {**environ, "PATH": path, "TMPDIR": str(scratch)}
    await _add(folder, npm, env, NODE)
    await _add(folder, npm, env, *PACKAGES.values())
    await asyncio.to_thread(_link, folder)


async def _add(folder: Path, npm: str, env: Mapping[str, str], *packages: str) -> None:
    argv = (npm, "install", *_QUIET, f"--prefix={folder}", *packages)
    finished = await run(Command(argv=argv, cwd=folder, env=env, timeout_secs=INSTALL_SECS, merge_stderr=True))
    if finished.exit_code != 0:
        said = " ".join(finished.stdout.text.split())
        raise InstallError(f"npm could not install {', '.join(packages)}: {said[:300]}")


def _link(folder: Path) -> None:
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, place in _PLACES.items():
        target = folder / "node_modules" / place
        if not target.exists():
            raise InstallError(f"npm installed no {name}")
        (programs / name).unlink(missing_ok=True)
        (programs / name).symlink_to(target)
