"""The reapers that stand ready. They belong to the process and not to an event loop."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

MOST_IDLE = 16

_lock = threading.Lock()
_keeper: socket.socket | None = None
_idle: list[Line] = []
_busy: set[Line] = set()


class Line:
    """The line to one reaper: its control socket, non-blocking, and its pid once it has said so."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.pid: int | None = None

    @property
    def is_alive(self) -> bool:
        try:
            return bool(self.control.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False


def acquire() -> Line:
    """The line to a reaper that runs nothing."""
    with _lock:
        line = _take_idle() or Line(_fork_reaper())
        _busy.add(line)
        return line


def release(line: Line) -> None:
    """Take a reaper back whose command and all its descendants are gone."""
    with _lock:
        _busy.discard(line)
        if len(_idle) < MOST_IDLE:
            _idle.append(line)
        else:
            line.control.close()


def discard(line: Line) -> None:
    """Give a reaper up: its socket closes, and it ends whatever it still runs."""
    with _lock:
        _busy.discard(line)
        line.control.close()


def _take_idle() -> Line | None:
    while _idle:
        line = _idle.pop()
        if line.is_alive:
            return line
        line.control.close()
    return None


def _fork_reaper() -> socket.socket:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    try:
        with theirs:
            _hand_to_keeper(theirs)
    except BaseException:
        ours.close()
        raise
    return ours


def _hand_to_keeper(control: socket.socket) -> None:
    try:
        socket.send_fds(_start_keeper(), [b"."], [control.fileno()])
    except (BrokenPipeError, ConnectionResetError):
        # Somebody killed the keeper; the reapers that it forked go on without it.
        _forget_keeper()
        socket.send_fds(_start_keeper(), [b"."], [control.fileno()])


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
    """A forked copy of trueup must not share its reapers with the original, nor keep their commands alive."""
    global _lock  # noqa: PLW0603 - the original's may have been held by a thread that the copy does not have
    _lock = threading.Lock()
    _forget_keeper()
    for line in (*_idle, *_busy):
        line.control.close()
    _idle.clear()
    _busy.clear()


os.register_at_fork(after_in_child=_forget_all)
