"""What an ACP agent tells of its work (`session/update`), in the words that all agents share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueup.core.protocols import Event

from .._events import Message, PlanText, Reasoning
from ._calls import FINISHED, Call, Calls
from ._named import AcpAgent

# Of what is said without a pause, as much as is one message.
MOST_TEXT = 1 << 20


class Updates:
    """Reads the updates of one turn. An update that is unknown, or not what it should be, is nothing.

    `text` is the last that the model said, `remark` the last that its program did.
    """

    def __init__(self, agent: AcpAgent) -> None:
        self.agent = agent
        self.text = ""
        self.remark = ""
        self.mode: str | None = None
        self.cost_usd: float | None = None
        self.used_tools = False
        self._calls = Calls()
        self._said: list[str] = []
        self._said_chars = 0
        self._speaks: tuple[str, Any] = ("", None)

    def take(self, update: Mapping[str, Any]) -> tuple[list[Event], Call | None]:
        """Events of an update, and the call that it finished."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk" | "agent_thought_chunk" as what:
                return self._hear(what, update), None
            case "tool_call" | "tool_call_update":
                return self._take_call(update)
            case "plan":
                return [*self.pause(), *_plan(update)], None
        self.note(update)
        return [], None

    def note(self, update: Mapping[str, Any]) -> None:
        """Take what is of the session, and also counts outside of a turn: its mode, and its cost so far."""
        match update.get("sessionUpdate"), update.get("currentModeId"), update.get("cost"):
            case "current_mode_update", str(mode), _:
                self.mode = mode
            case "usage_update", _, {"amount": int() | float() as amount, "currency": "USD"}:
                self.cost_usd = float(amount)

    def asked(self, part: Mapping[str, Any]) -> Call:
        """The call that permission is asked for."""
        call = self._calls.joined(part, self.agent)
        call.is_asked = self.used_tools = True
        return call

    def pause(self) -> list[Event]:
        """What was said until here, as one message."""
        what, _ = self._speaks
        said = "".join(self._said)
        self._said, self._said_chars, self._speaks = [], 0, ("", None)
        if not said.strip():
            return []
        if what == "agent_thought_chunk":
            return [Reasoning(said)]
        self.text = said
        return [Message(said)]

    def _hear(self, what: str, update: Mapping[str, Any]) -> list[Event]:
        content = update.get("content")
        text = content.get("text") if isinstance(content, dict) else None
        if not isinstance(text, str):
            return []
        if text.startswith(self.agent.remarks):
            self.remark = text
            return [*self.pause(), Message(text)]
        speaks = (what, update.get("messageId"))
        before = self.pause() if speaks != self._speaks or self._said_chars > MOST_TEXT else []
        self._speaks = speaks
        self._said.append(text)
        self._said_chars += len(text)
        return before

    def _take_call(self, update: Mapping[str, Any]) -> tuple[list[Event], Call | None]:
        call = self._calls.joined(update, self.agent)
        self.used_tools = True
        events = self.pause()
        if call.status in FINISHED:
            self._calls.finish(call)
            return [*events, *call.begun(), *call.ended()], call
        # Before it is in progress, more of its input may come.
        begun = call.begun() if call.status == "in_progress" and call.is_described else []
        return [*events, *begun], None


def _plan(update: Mapping[str, Any]) -> list[Event]:
    entries = update.get("entries")
    lines = [
        f"[{'x' if entry.get('status') == 'completed' else ' '}] {entry.get('content', '')}"
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
    ]
    return [PlanText("\n".join(lines))] if lines else []
