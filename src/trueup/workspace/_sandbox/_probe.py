"""Proof that a backend holds: escapes that are really tried, and must fail."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from pathlib import Path

from msgspec import Struct

from trueup.core.process import Command, Process

from ._backend import Backend, SandboxError
from ._scratch import Scratch
from ._stack import Stack, StackPlan
from ._view import Profile

# Each line tries one thing and says so where it worked. Variables: see `_try_to_escape`.
ATTEMPTS = r"""
says() { echo "ESCAPED $1"; }
cat "$OUTSIDE/secret" >/dev/null 2>&1 && says "reads files outside"
touch "$OUTSIDE/written" 2>/dev/null && says "writes files outside"
touch /usr/.trueup-probe 2>/dev/null && says "writes into the system"
touch /etc/.trueup-probe 2>/dev/null && says "writes into the system's configuration"
grep -qsa "$MARK_A$MARK_B" /proc/[0-9]*/cmdline && says "sees processes outside"
grep -qsa "$MARK_A$MARK_B" /proc/[0-9]*/environ && says "reads the environment of trueup"
(exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null && says "reaches servers of this machine"
[ -e /var/run/docker.sock ] || [ -e /run/docker.sock ] || [ -e /run/dbus ] && says "sees sockets of the system"
[ -n "$SSH_AUTH_SOCK$DBUS_SESSION_BUS_ADDRESS" ] && says "knows the user's agents"
[ -e "$HOME/.ssh" ] || [ -e "$HOME/.config" ] && says "sees the user's HOME"
grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && says "has capabilities"
mount -o remount,rw,bind /usr 2>/dev/null && says "mounts"
ls /dev | grep -qE '^(sd|vd|nvme|mem|kmsg|kvm|fuse)' && says "sees devices"
echo changed > tracked 2>/dev/null || says "CANNOT write in its own folder"
[ "$(cat tracked)" = changed ] || says "CANNOT write in its own folder"
(setsid sleep "$NAP" >/dev/null 2>&1 </dev/null &) ; sleep 0.05
true
"""


class Escape(Struct, frozen=True):
    """Something that a sandbox should have stopped."""

    what: str


_proven: dict[Backend, list[Escape]] = {}


async def prove(backend: Backend) -> list[Escape]:
    """Try to escape, once per process and backend; none succeeded where the list is empty."""
    if backend not in _proven:
        _proven[backend] = [Escape(what) for what in await _try_to_escape(backend)]
    return _proven[backend]


async def _try_to_escape(backend: Backend) -> list[str]:
    mark, nap = secrets.token_hex(8), f"9{secrets.randbelow(10**9):09}"
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    with tempfile.TemporaryDirectory(prefix="trueup-probe-") as name:
        outside = Path(name)
        (outside / "secret").write_text("secret")
        (outside / "layer").mkdir()
        (outside / "layer" / "tracked").write_text("base")
        scratch = Scratch.create(outside)
        bystander = Command(
            argv=("sleep", nap.replace("9", "8", 1)), env={"PATH": os.environ.get("PATH", ""), "PROBE": mark}
        )
        try:
            async with server, Process(bystander, lines=False):
                plan = StackPlan(repo=Path("/trueup-probe"), layers=(outside / "layer",), profile=Profile())
                environ = {**os.environ, "SSH_AUTH_SOCK": "/nowhere", "TRUEUP_PROBE": mark}
                variables = {
                    "OUTSIDE": str(outside),
                    "MARK_A": mark[:8],
                    "MARK_B": mark[8:],
                    "NAP": nap,
                    "PORT": str(server.sockets[0].getsockname()[1]),
                }
                async with Stack(plan, backend, scratch, environ) as stack:
                    told = await stack.run_argv(("bash", "-c", ATTEMPTS), env=variables, timeout_secs=20)
            return await _verdict(told.exit_code, told.stdout.text, told.stderr.text, outside, nap)
        except SandboxError as error:
            return [str(error)]
        finally:
            scratch.discard()


async def _verdict(exit_code: int | None, said: str, complaints: str, outside: Path, nap: str) -> list[str]:
    if exit_code != 0:
        return [f"it does not start: {complaints.strip()[-300:] or f'exit {exit_code}'}"]
    escapes = [line.removeprefix("ESCAPED ") for line in said.splitlines() if line.startswith("ESCAPED ")]
    if (outside / "layer" / "tracked").read_text() != "base":
        escapes.append("changes the layers below")
    if (outside / "written").exists():
        escapes.append("writes files outside")
    if await asyncio.to_thread(_is_running, nap):
        escapes.append("leaves processes behind")
    return escapes


def _is_running(argument: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if argument.encode() in entry.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False
