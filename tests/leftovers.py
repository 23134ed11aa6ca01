"""A pytest plugin: the suite must leave no process running and nothing in the temporary folder.

The controlling process becomes a child subreaper, so that whatever a test, or a worker, left running ends up as its
child; and the suite gets a temporary folder of its own, which must be empty in the end.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from trueup.core.process import _pool
from trueup.core.process._reaper import adopt_orphans, children, parent_of

SETTLING_SECS = 5


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    adopt_orphans()
    config.stash[SCRATCH] = Path(tempfile.mkdtemp(prefix="trueup-suite-"))
    config.stash[FORMER_TMPDIR] = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(config.stash[SCRATCH])
    tempfile.tempdir = None


SCRATCH: pytest.StashKey[Path] = pytest.StashKey()
LEFT: pytest.StashKey[list[str]] = pytest.StashKey()
FORMER_TMPDIR: pytest.StashKey[str | None] = pytest.StashKey()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    scratch = session.config.stash.get(SCRATCH, None)
    if scratch is None:
        return
    left = [*_processes_left(), *_files_left(scratch)]
    # Hundreds of thousands of files, over which Python would be several times as long while nothing else runs.
    subprocess.run(["rm", "-rf", str(scratch)], stderr=subprocess.DEVNULL, check=False)
    former = session.config.stash[FORMER_TMPDIR]
    os.environ.pop("TMPDIR") if former is None else os.environ.update(TMPDIR=former)
    tempfile.tempdir = None
    session.config.stash[LEFT] = left
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(LEFT, []):
        terminalreporter.write_line(f"the suite left behind: {line}", red=True)


def _processes_left() -> list[str]:
    """Processes that lost their parent, a reaper that still runs something among them."""
    # Ours end with their sockets; one that does not is a finding.
    _pool._forget_all()
    deadline = time.monotonic() + SETTLING_SECS
    while (left := _strays()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"process {pid}: {_command_line(pid)}" for pid in left]


def _strays() -> list[int]:
    ours = set(children())
    return [pid for pid in ours if _is_running(pid)]


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state != b"Z" and parent_of(pid) is not None


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _files_left(scratch: Path) -> list[str]:
    """pytest's own folder holds what tests were given; anything beside it was made by trueup."""
    return [f"file {entry}" for entry in scratch.iterdir() if not entry.name.startswith("pytest-of-")]
