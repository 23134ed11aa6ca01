"""What was seen of an agent in one turn: its tool calls, and what mocks did about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from trueup.core.protocols import Event, Recorder
from trueup.harness import PermissionDecided, ToolCall, ToolResult

from .._case import Mock
from .._mocks import MockAction, decide
from .._model import MockCall, ToolEvent
from ._gate import MockGate

MOST_OUTPUT = 1 << 16


class Witness:
    """A `Recorder` that passes everything on at once, and keeps what there is to tell of tools."""

    def __init__(self, recorder: Recorder, gate: MockGate | None) -> None:
        self._recorder = recorder
        self._gate = gate
        self._events: list[ToolEvent] = []
        self._names: dict[str, ToolCall] = {}
        self._seen: dict[str, MockCall] = {}
        self._decided: set[str] = set()

    async def record(self, event: Event) -> None:
        match event:
            case ToolCall():
                self._hear_call(event)
            case ToolResult():
                self._hear_result(event)
            case PermissionDecided():
                self._hear_decision(event)
        await self._recorder.record(event)

    @property
    def events(self) -> tuple[ToolEvent, ...]:
        return tuple(self._events)

    @property
    def calls(self) -> tuple[MockCall, ...]:
        """Every call, with its original input and what was done about it."""
        return tuple(self._seen.values())

    def escaped(self, mocks: Sequence[Mock]) -> str | None:
        """What the agent did without asking although a mock was to answer it; None where there was no such thing."""
        for id_, call in self._seen.items():
            meant = decide(mocks, call.tool, call.input)
            if id_ not in self._decided and meant.action is not MockAction.ALLOW:
                return (
                    f"{call.tool} was called and nobody was asked before, although mock {meant.name!r} is to answer it"
                )
        return None

    def _hear_call(self, call: ToolCall) -> None:
        id_ = call.id or f"call {len(self._events)}"
        self._names[id_] = call
        self._seen.setdefault(id_, MockCall(tool=call.name, input=call.input))
        self._add(kind="tool_call", name=call.name, id=call.id, tool_kind=call.tool_kind.value, input=call.input)

    def _hear_result(self, result: ToolResult) -> None:
        call = self._names.get(result.id)
        kind = {} if call is None else {"name": call.name, "tool_kind": call.tool_kind.value}
        output = result.output
        if len(output) > MOST_OUTPUT:
            output = f"{output[: MOST_OUTPUT // 2]}\n[…]\n{output[-MOST_OUTPUT // 2 :]}"
        self._add(kind="tool_result", id=result.id, ok=result.ok, output=output, **kind)

    def _hear_decision(self, decided: PermissionDecided) -> None:
        verdict = self._gate.verdict_on(decided.tool) if self._gate is not None else None
        self._decided.add(decided.id)
        if verdict is None:
            return
        before = self._seen.get(decided.id)
        # By the name that the agent gives the call, where it told of the call before it asked.
        self._seen[decided.id] = verdict if before is None else replace(verdict, tool=before.tool)

    def _add(self, **told: Any) -> None:
        self._events.append(ToolEvent(index=len(self._events), **told))
