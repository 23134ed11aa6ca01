"""trueup's own loop as the engine of a session: the model is called from here, its tools run in the workspace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from trueup.core.errors import Kind
from trueup.core.protocols import Event, Gate, Launcher, Recorder
from trueup.harness import (
    EngineError,
    EngineStalledError,
    Message,
    PermissionDecided,
    Retried,
    Task,
    ToolCall,
    ToolKind,
    ToolResult,
    UsageReported,
    Work,
)
from trueup.model import default_model_for, resolve_model
from trueup.native import Job, Limits, Outcome, Voice
from trueup.native import work as work_natively

NATIVE = "native"

_VOICE = Voice(
    message=Message,
    tool_call=lambda name, call_id, kind, given: ToolCall(name, call_id, ToolKind(kind), given),
    tool_result=ToolResult,
    permission=PermissionDecided,
    usage=UsageReported,
    retried=Retried,
)


class _Heard:
    """A recorder that puts a clock back with everything that happens."""

    def __init__(self, recorder: Recorder, clock: asyncio.Timeout, secs: float) -> None:
        self._recorder = recorder
        self._clock = clock
        self._secs = secs

    async def record(self, event: Event) -> None:
        self._clock.reschedule(asyncio.get_running_loop().time() + self._secs)
        await self._recorder.record(event)


async def _unless_silent(
    job: Job, launcher: Launcher, recorder: Recorder, gate: Gate | None, idle_secs: float | None
) -> Outcome:
    if idle_secs is None:
        return await work_natively(job, launcher, recorder, _VOICE, gate)
    clock = asyncio.timeout(idle_secs)
    try:
        async with clock:
            return await work_natively(job, launcher, _Heard(recorder, clock, idle_secs), _VOICE, gate)
    except TimeoutError:
        if not clock.expired():
            raise
    raise EngineStalledError(f"native: nothing happened for {idle_secs:g} s, and it was ended", kind=Kind.OTHER)


class NativeEngine:
    """An `Engine` that is a loop of trueup's own. It needs no network in the workspace, and no program but a shell.

    `turns` is how often it may call its model in one go; unset, it is as often as the loop allows by itself.
    """

    name = NATIVE
    vendor = None
    login = None
    asks_first = True
    files: Mapping[str, str] = {}

    def __init__(
        self, model: str | None, environ: Mapping[str, str], turns: int | None = None, gate: Gate | None = None
    ) -> None:
        self._model = model or default_model_for(NATIVE, environ)
        self._environ = environ
        self._gate = gate
        self._limits = Limits() if turns is None else Limits(turns=turns)

    async def version(self) -> str | None:
        resolve_model(self._named(), environ=self._environ)
        return None

    async def work(self, task: Task, launcher: Launcher, recorder: Recorder) -> Work:
        started = time.monotonic()
        job = Job(prompt=task.prompt, model=self._named(), limits=self._limits)
        done = await _unless_silent(job, launcher, recorder, self._gate, task.idle_secs)
        if not done.ok:
            raise EngineError(f"native: {done.error}", kind=done.failure_kind)
        return Work(
            exit_code=0,
            signal=None,
            duration_secs=time.monotonic() - started,
            output_tail=done.text,
            usage=done.usage,
        )

    def _named(self) -> str:
        if self._model is None:
            raise EngineError(
                "native has no model to call: name one with --model, or set ANTHROPIC_API_KEY or OPENAI_API_KEY",
                kind=Kind.AUTH,
            )
        return self._model
