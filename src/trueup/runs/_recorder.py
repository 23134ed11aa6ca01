"""A recorder that writes to one run."""

from __future__ import annotations

from typing import Any

import msgspec

from trueup.core.errors import InfrastructureError
from trueup.core.protocols import Event
from trueup.core.usage import Usage

from ._encoding import name_of
from ._records import CheckRecord, EventRecord, ModelTurn, Record
from ._store import RunStore


class RunRecorder:
    """A `Recorder` whose events are records of a run, on disk when `record` returns."""

    def __init__(self, store: RunStore, run_id: str) -> None:
        self.store = store
        self.run_id = run_id

    async def record(self, event: Event) -> None:
        """Keep an event; an error where the run is gone or has ended, since silence would pass for a record."""
        appended = await self.store.append(self.run_id, [as_record(event)])
        if appended.dropped is not None:
            why = "has ended" if appended.dropped == "run_terminal" else "does not exist"
            raise InfrastructureError(f"run {self.run_id} {why}: a {type(event).__name__} was not recorded")


def as_record(event: Event) -> Record:
    """A check's result as a `check`, a call of a model as a `model_turn`, anything else as an `event` of its kind."""
    data: dict[str, Any] = msgspec.to_builtins(event, enc_hook=name_of)
    kind = data.pop("kind")
    if kind == "check_completed":
        return CheckRecord(data.get("result", data))
    if kind == "model_turned":
        return _model_turn(data)
    return EventRecord(kind, data)


def _model_turn(data: dict[str, Any]) -> ModelTurn:
    secs = data.get("duration_secs")
    return ModelTurn(
        assistant_text=data.get("assistant_text", ""),
        requested_tool_calls=data.get("requested_tool_calls", []),
        model_id=data.get("model"),
        token_usage=msgspec.convert(data["usage"], Usage) if data.get("usage") is not None else None,
        duration_ms=None if secs is None else secs * 1000,
    )
