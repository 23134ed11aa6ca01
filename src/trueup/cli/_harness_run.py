"""Having an agent work on a prompt in a folder of the user's, without walls."""

from __future__ import annotations

import asyncio
import os
import time

from msgspec.structs import replace

from trueup.core.errors import Kind, TrueupError
from trueup.core.protocols import Event, Recorder
from trueup.core.usage import Usage
from trueup.harness import (
    HARNESSES,
    FolderLauncher,
    Harness,
    HarnessRequest,
    HarnessResult,
    Probe,
    SessionNamed,
    Status,
    find_harness,
    told_variables,
    user_environment,
)

from ._harness_show import advice
from ._main import EXIT_ENGINE, EXIT_INTERRUPTED, EXIT_NO


async def run_here(harness: Harness, request: HarnessRequest, recorder: Recorder) -> HarnessResult:
    """Have a prompt worked on; what keeps the agent from working at all comes with what to do about it.

    Interrupted, it says by which session the agent can go on.
    """
    environ = user_environment(os.environ)
    told = told_variables(harness.name, environ)
    listener, started = _Listener(recorder), time.monotonic()
    try:
        result = await harness.run(replace(request, env=told), FolderLauncher(environ), listener)
        return await _with_advice(result, harness) if _is_unusable(result) else result
    except asyncio.CancelledError:
        # Nobody but a signal cancels it, and all there is left to do is to tell.
        return HarnessResult(
            harness=harness.name,
            status=Status.CANCELLED,
            session_id=listener.session_id,
            usage=Usage(incomplete=True),
            error="interrupted",
            duration_secs=time.monotonic() - started,
        )


class _Listener:
    """A `Recorder` that passes everything on, and keeps the id of the session."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.session_id: str | None = None

    async def record(self, event: Event) -> None:
        if isinstance(event, SessionNamed):
            self.session_id = event.session_id
        await self._recorder.record(event)


def harness_of_user(name: str, *, user_config: bool = False) -> Harness:
    """The harness of a name, as the user has it."""
    return find_harness(name, user_environment(os.environ), user_config=user_config)


async def probed(name: str) -> Probe:
    """Whether an agent can be used. What a plugin raises must not hide the others."""
    try:
        return await harness_of_user(name).probe()
    except TrueupError:
        raise
    # The boundary to code of others: a plugin may raise anything.
    except Exception as error:
        if name in HARNESSES:
            raise
        return Probe(harness=name, installed=False, note=f"{type(error).__name__}: {error}")


def exit_code_of(result: HarnessResult) -> int:
    """0 by the agent's own record of success; 3 where it cannot be used here at all."""
    return EXIT_ENGINE if _is_unusable(result) else oneharness_exit_code_of(result)


def oneharness_exit_code_of(result: HarnessResult) -> int:
    """0 by the agent's own record of success, 130 where it was interrupted, else 1."""
    if result.status is Status.CANCELLED:
        return EXIT_INTERRUPTED
    return 0 if result.status is Status.OK else EXIT_NO


def _is_unusable(result: HarnessResult) -> bool:
    return result.status is Status.NOT_INSTALLED or result.failure_kind is Kind.AUTH


async def _with_advice(result: HarnessResult, harness: Harness) -> HarnessResult:
    """The result with what a look at the agent tells, which a run does not take the time for beforehand."""
    found = await harness.probe()
    if not found.installed:
        return replace(result, error=f"{result.harness} is not installed: {found.note}")
    if found.logged_in is False:
        result = replace(result, error=f"{result.error}\n{result.harness} is not logged in: {advice(found)}")
    return replace(result, version=result.version or found.version)
