"""The reapers that stand ready. They belong to the process and not to an event loop."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

MOST_IDLE = 16

_keeper: socket.socket | None = None
_idle: list[socket.socket] = []


def acquire() -> socket.socket:
    """The control socket of a reaper that runs nothing, non-blocking."""
    while _idle:
        control = _idle.pop()
        if _is_alive(control):
            return control
        control.close()
    return _fork_reaper()


def release(control: socket.socket) -> None:
    """Take a reaper back whose command and all its descendants are gone."""
    if len(_idle) < MOST_IDLE:
        _idle.append(control)
    else:
        control.close()


def _is_alive(control: socket.socket) -> bool:
    try:
        return bool(control.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except OSError:
        return False


def _fork_reaper() -> socket.socket:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs:
        try:
            socket.send_fds(_start_keeper(), [b"."], [theirs.fileno()])
        except (BrokenPipeError, ConnectionResetError):
            # Somebody killed the keeper; the reapers that it forked go on without it.
            _forget_keeper()
            socket.send_fds(_start_keeper(), [b"."], [theirs.fileno()])
    return ours


def _start_keeper() -> socket.socket:
    global _keeper  # noqa: PLW0603 - one keeper per process is the point
    if _keeper is None:
        ours, theirs = socket.socketpair()
        program = str(Path(__file__).with_name("_reaper.py"))
        with theirs:
            keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", program, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        # It ends by itself when its socket closes; nobody waits for it, and that is no reason for a warning.
        keeper.returncode = 0
        # After the keeper, so that commands keep the limit that the user gave trueup.
        _allow_many_descriptors()
        _keeper = ours
    return _keeper


def _forget_keeper() -> None:
    global _keeper  # noqa: PLW0603
    if _keeper is not None:
        _keeper.close()
    _keeper = None


def _allow_many_descriptors() -> None:
    """Raise our own soft limit: a running command costs four descriptors, and many run at once."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _forget_all() -> None:
    """A forked copy of trueup must not share its reapers with the original."""
    _forget_keeper()
    while _idle:
        _idle.pop().close()


os.register_at_fork(after_in_child=_forget_all)
