"""The command line in processes of their own that begin with everything imported, for tests of any room.

A process that the shell starts spends most of its time on imports. Here a server has done them once, and each call is
a fork of it: its own process, environment, folder, streams and exit code. What depends on how an interpreter starts
(signals on the way, a terminal, closed streams, what is missing to import) is shown with the program itself.
"""

from __future__ import annotations

import asyncio
import atexit
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from multiprocessing import forkserver, resource_tracker, util
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from trueup.cli import main
from trueup.cli._main import COMMANDS
from trueup.core.process import Finished, Output

# What commands load late.
_LATE = ("trueup.runs._database", "sqlalchemy.dialects.sqlite")
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload([*(f"trueup.cli.{name}" for name in COMMANDS), *_LATE])


async def call(
    *arguments: str, cwd: Path, env: Mapping[str, str], stdin: bytes = b"", timeout_secs: float = 60
) -> Finished:
    """`trueup ARGUMENTS`, until its process has ended."""
    return await fork(_trueup, *arguments, cwd=cwd, env=env, stdin=stdin, timeout_secs=timeout_secs)


async def fork(
    act: Callable[..., None],
    *arguments: Any,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    timeout_secs: float = 60,
) -> Finished:
    """A process that calls a function of a module, until it has ended."""
    started = time.monotonic()
    # Named so that it is taken for pytest's own by whoever looks for what trueup left.
    with tempfile.TemporaryDirectory(prefix="pytest-of-a-fork-") as folder:
        streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        for stream, content in zip(streams, (stdin, b"", b""), strict=True):
            stream.write_bytes(content)
        process = _SERVER.Process(target=_begin, args=(str(cwd), dict(env), streams, act, arguments))
        process.start()
        try:
            async with asyncio.timeout(timeout_secs):
                await _end_of(process)
        except BaseException:
            process.kill()
            raise
        finally:
            process.join()
        stdout, stderr = (stream.read_bytes() for stream in streams[1:])
    code = process.exitcode
    assert code is not None
    return Finished(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        duration_secs=time.monotonic() - started,
        stdout=Output(stdout, len(stdout)),
        stderr=Output(stderr, len(stderr)),
    )


def end_server() -> None:
    """Once no more calls come. It would end with whoever started it, which is too late for those who look for leftovers."""
    forkserver._forkserver._stop()
    resource_tracker._resource_tracker._stop()
    util._run_finalizers()


async def _end_of(process: ForkServerProcess) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)


def _begin(
    cwd: str, env: dict[str, str], streams: list[Path], act: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    """What happens to a process before and after its program."""
    os.setsid()
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None
    os.chdir(cwd)
    for number, stream in enumerate(streams):
        descriptor = os.open(stream, os.O_WRONLY if number else os.O_RDONLY)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    try:
        act(*arguments)
    finally:
        atexit._run_exitfuncs()


def _trueup(*arguments: str) -> None:
    sys.argv = ["trueup", *arguments]
    main()
