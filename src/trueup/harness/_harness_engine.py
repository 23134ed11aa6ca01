"""A harness as the engine of a session."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from trueup.core.errors import Kind
from trueup.core.protocols import Gate, Launcher, Recorder

from ._engine import EngineError, EngineStalledError, Task, Work
from ._logins import LoginFile
from ._protocol import Harness, HarnessRequest, HarnessResult, Status
from ._vendors import Vendor


class HarnessEngine:
    """An `Engine` that gives its task to a harness. What the harness reports is how it went, and not whether it is done.

    It `lacks` what it must have to work at all, where anything is said of that.
    """

    def __init__(
        self,
        harness: Harness,
        vendor: Vendor | None,
        files: Mapping[str, str],
        *,
        asks_first: bool = True,
        gate: Gate | None = None,
        lacks: str | None = None,
        login: LoginFile | None = None,
        resumes: bool = True,
    ) -> None:
        self._harness = harness
        self._gate = gate if asks_first else None
        self._lacks = lacks
        self.asks_first = asks_first
        self.vendor = vendor
        self.files = files
        self.login = login
        self._resumes = resumes

    @property
    def name(self) -> str:
        return self._harness.name

    async def version(self) -> str | None:
        found = await self._harness.probe()
        if not found.installed:
            raise EngineError(f"{self.name} is not installed: {found.note}", kind=Kind.SPAWN)
        if self._lacks is not None:
            raise EngineError(f"{self.name} is installed but cannot be used: {self._lacks}", kind=Kind.AUTH)
        if found.logged_in is False:
            what = found.note.removeprefix("not logged in: ")
            raise EngineError(f"{self.name} is installed but not logged in: {what}", kind=Kind.AUTH)
        return found.version

    async def work(self, task: Task, launcher: Launcher, recorder: Recorder) -> Work:
        # Where the conversation cannot go on, the prompt says enough to begin anew.
        resume = task.resume if self._resumes else None
        request = HarnessRequest(
            prompt=task.prompt, model=task.model, idle_secs=task.idle_secs, env=task.env, resume=resume
        )
        result = await self._harness.run(request, launcher, recorder, self._gate)
        if result.failure_kind is Kind.SESSION_NOT_FOUND and task.resume is not None:
            # What it knew of the conversation is gone.
            result = await self._harness.run(replace(request, resume=None), launcher, recorder, self._gate)
        _complain(result)
        return Work(
            exit_code=result.exit_code,
            signal=result.signal,
            duration_secs=result.duration_secs,
            output_tail=result.text or result.stderr,
            usage=result.usage,
        )


def _complain(result: HarnessResult) -> None:
    """Raise what ended the work for a reason that is not in the work."""
    if result.status is Status.OK:
        return
    what = f"{result.harness}: {result.error}"
    if result.status is Status.TIMED_OUT:
        raise EngineStalledError(what, kind=Kind.OTHER)
    raise EngineError(what, kind=result.failure_kind)
