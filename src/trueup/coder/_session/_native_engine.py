"""trueup's own loop as the engine of a session: the model is called from here, its tools run in the workspace."""

from __future__ import annotations

import time
from collections.abc import Mapping

from trueup.core.errors import Kind
from trueup.core.protocols import Launcher, Recorder
from trueup.harness import (
    EngineError,
    Message,
    PermissionDecided,
    Task,
    ToolCall,
    ToolKind,
    ToolResult,
    UsageReported,
    Work,
)
from trueup.model import default_model_for, resolve_model
from trueup.native import Job, Voice
from trueup.native import work as work_natively

NATIVE = "native"

_VOICE = Voice(
    message=Message,
    tool_call=lambda name, call_id, kind, given: ToolCall(name, call_id, ToolKind(kind), given),
    tool_result=ToolResult,
    permission=PermissionDecided,
    usage=UsageReported,
)


class NativeEngine:
    """An `Engine` that is a loop of trueup's own. It needs no network in the workspace, and no program but a shell."""

    name = NATIVE
    vendor = None
    login = None
    files: Mapping[str, str] = {}

    def __init__(self, model: str | None, environ: Mapping[str, str]) -> None:
        self._model = model or default_model_for(NATIVE, environ)
        self._environ = environ

    async def version(self) -> str | None:
        resolve_model(self._named(), environ=self._environ)
        return None

    async def work(self, task: Task, launcher: Launcher, recorder: Recorder) -> Work:
        started = time.monotonic()
        job = Job(prompt=task.prompt, model=self._named())
        done = await work_natively(job, launcher, recorder, _VOICE)
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
