"""The program that runs one command at a time and leaves nothing of it behind. Started by path, standard library only.

Control messages, from trueup: `R` + length + marshalled (argv, env, cwd) with stdin, stdout and stderr attached; `T`
asks the command to end; `K` ends its tree. To trueup: one byte and an integer, in the order in which they happen:
`r` its own pid, once; `s` started (the command's pid), or `c`/`e` folder or program could not be used (errno), or `p`
there is no /proc in which descendants could be seen; `x` ended (its wait status); `g` nothing is left.
"""

import ctypes
import errno
import gc
import marshal
import os
import select
import signal
import socket
import struct
import sys
from contextlib import suppress

FRAME = struct.Struct("<ci")
HEADER = struct.Struct("<cI")
PR_SET_CHILD_SUBREAPER = 36
DISPOSITIONS_TO_RESET = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD]


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own. Linux only; elsewhere process groups have to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wake_on_child_death() -> int:
    """Return a descriptor that becomes readable when a child has died."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return readable


def drain(descriptor: int) -> None:
    with suppress(BlockingIOError):
        while os.read(descriptor, 4096):
            pass


def children() -> list[int]:
    """The processes whose parent is this one."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listing:
            return [int(pid) for pid in listing.read().split()]
    except OSError:
        return [pid for pid in all_processes() if parent_of(pid) == os.getpid()]


def sees_processes() -> bool:
    """Whether /proc is there and shows this process's own namespace, so that descendants can be found in it."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return sys.platform != "linux"


def all_processes() -> list[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return []


def parent_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])
    except OSError:
        return None


def kill_groups_of(pids: list[int]) -> None:
    """Kill processes by their groups, each group once: no fork can slip through a group signal, and a bomb has
    many thousand members."""
    groups = set()
    for pid in pids:
        with suppress(ProcessLookupError):
            groups.add(os.getpgid(pid))
    for group in groups - {os.getpgrp()}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def reap(*, wait: bool) -> list[tuple[int, int]]:
    """Collect the dead: (pid, wait status). With `wait`, block for the first. ChildProcessError: nobody is left."""
    dead: list[tuple[int, int]] = []
    options = 0 if wait else os.WNOHANG
    while True:
        try:
            pid, status = os.waitpid(-1, options)
        except ChildProcessError:
            if dead:
                return dead
            raise
        if pid == 0:
            return dead
        dead.append((pid, status))
        options = os.WNOHANG


def has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def end_children(spare: frozenset[int] = frozenset()) -> list[tuple[int, int]]:
    """Kill level after level, since orphans come to us, until nobody is left; return who died and how."""
    dead: list[tuple[int, int]] = []
    while True:
        doomed = [pid for pid in children() if pid not in spare]
        kill_groups_of(doomed)
        if spare and not doomed:
            return dead
        try:
            dead += reap(wait=True)
        except ChildProcessError:
            return dead


def receive(source: socket.socket, size: int, most_descriptors: int) -> tuple[bytes, list[int]]:
    """Read from a socket, with descriptors that no command will inherit by accident."""
    data, descriptors, _, _ = socket.recv_fds(source, size, most_descriptors)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return data, descriptors


class Reaper:
    """Runs commands for one control socket, one at a time."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.child: int | None = None
        self.inbox = bytearray()
        self.descriptors: list[int] = []

    def serve(self) -> None:
        """Take commands until trueup closes the socket; then end what still runs."""
        adopt_orphans()
        # Before any command can stop us, so that trueup knows whom to wake.
        self.send(FRAME.pack(b"r", os.getpid()))
        deaths = wake_on_child_death()
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(deaths, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == deaths:
                    drain(deaths)
                    self.on_death()
                elif not self.on_message():
                    end_children()
                    return

    def on_death(self) -> None:
        with suppress(ChildProcessError):
            for pid, status in reap(wait=False):
                if pid == self.child:
                    self.finish(status)
                    return

    def on_message(self) -> bool:
        try:
            data, descriptors = receive(self.control, 65536, 3)
        except ConnectionResetError:
            return False
        self.inbox += data
        self.descriptors += descriptors
        while self.inbox:
            if self.inbox[:1] == b"R":
                if len(self.inbox) < HEADER.size:
                    break
                end = HEADER.size + HEADER.unpack_from(self.inbox)[1]
                if len(self.inbox) < end:
                    break
                self.start(*marshal.loads(bytes(self.inbox[HEADER.size : end])))  # noqa: S302 - from trueup itself
                del self.inbox[:end]
            else:
                self.obey(bytes(self.inbox[:1]))
                del self.inbox[:1]
        return bool(data)

    def obey(self, order: bytes) -> None:
        # An order that crossed with the end of its command finds none and means nothing.
        if self.child is None:
            return
        if order == b"T":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child, signal.SIGTERM)
        elif order == b"K":
            self.finish(dict(end_children())[self.child])

    def start(self, argv: list[bytes], env: dict[bytes, bytes], cwd: bytes) -> None:
        stdio, self.descriptors = self.descriptors, []
        failure = b"c"
        try:
            if not sees_processes():
                failure = b"p"
                raise OSError(errno.ENOSYS, "no usable /proc")
            os.chdir(cwd)
            failure = b"e"
            self.child = os.posix_spawn(
                argv[0],
                argv,
                env,
                file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate(stdio)],
                setsid=True,
                setsigmask=[],
                setsigdef=DISPOSITIONS_TO_RESET,
            )
        except OSError as error:
            os.chdir("/")
            self.send(FRAME.pack(failure, error.errno or 0))
        else:
            self.send(FRAME.pack(b"s", self.child))
        finally:
            for descriptor in stdio:
                os.close(descriptor)

    def finish(self, status: int) -> None:
        self.child = None
        ended = FRAME.pack(b"x", status)
        if has_children():
            self.send(ended)
            ended = b""
            end_children()
        # A folder that stays somebody's working folder cannot be unmounted.
        os.chdir("/")
        # In one message where nothing was left behind: every message wakes trueup up.
        self.send(ended + FRAME.pack(b"g", 0))

    def send(self, frames: bytes) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.control.sendall(frames)


def keep(orders: socket.socket) -> None:
    """Fork a reaper for every control socket that arrives, and end what a killed reaper left behind."""
    adopt_orphans()
    deaths = wake_on_child_death()
    poll = select.poll()
    poll.register(orders, select.POLLIN)
    poll.register(deaths, select.POLLIN)
    reapers: set[int] = set()
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == deaths:
                drain(deaths)
                with suppress(ChildProcessError):
                    reapers -= {pid for pid, _ in reap(wait=False)}
                reapers -= {pid for pid, _ in end_children(spare=frozenset(reapers))}
                continue
            message, controls = receive(orders, 1, 1)
            if not message:
                return
            reapers.add(fork_reaper(orders, controls[0], deaths))


def fork_reaper(orders: socket.socket, control: int, deaths: int) -> int:
    try:
        pid = os.fork()
    except OSError as error:
        # Told in the reaper's stead, before its socket closes.
        with socket.socket(fileno=control) as line, suppress(OSError):
            line.sendall(FRAME.pack(b"e", error.errno or 0))
        return 0
    if pid:
        os.close(control)
        return pid
    try:
        orders.close()
        os.close(deaths)
        Reaper(socket.socket(fileno=control)).serve()
    finally:
        os._exit(0)


def main() -> None:
    # These end trueup; a reaper ends when trueup has, and not before it could clean up.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    os.chdir("/")
    gc.disable()
    gc.freeze()
    orders = socket.socket(fileno=int(sys.argv[1]))
    orders.set_inheritable(False)
    keep(orders)


if __name__ == "__main__":
    main()
