"""What an ACP agent tells of its work (`session/update`), in the words that all agents share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueup.core.protocols import Event

from .._events import Message, PlanText, Reasoning
from ._calls import FINISHED, Call, Calls
from ._modes import offer_of
from ._named import AcpAgent

# Of what is said without a pause, as much as is one message.
MOST_TEXT = 1 << 20


class Updates:
    """Reads the updates of one turn. An update that is unknown, or not what it should be, is nothing.

    `text` is the last that the model said, `remark` the last that its program did. What `is_broken` by its own account
    said why as if the model had.
    """

    def __init__(self, agent: AcpAgent) -> None:
        self.agent = agent
        self.text = ""
        self.remark = ""
        self.mode: str | None = None
        self.options: Mapping[str, str] = {}
        self.cost_usd: float | None = None
        self.is_broken = False
        self.used_tools = False
        self._calls = Calls()
        self._said: list[str] = []
        self._said_chars = 0
        self._speaks: tuple[str, Any] = ("", None)

    def take(self, update: Mapping[str, Any]) -> tuple[list[Event], list[Call]]:
        """Events of an update, and calls that it finished, or of which nothing more will be known."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk" | "agent_thought_chunk" as what:
                return self._hear(what, update), []
            case "tool_call" | "tool_call_update":
                return self._take_call(update)
            case "plan":
                return [*self.pause(), *_plan(update)], []
        self.note(update)
        return [], []

    def note(self, update: Mapping[str, Any]) -> None:
        """Take what is of the session, and also counts outside of a turn: its mode, its options, its cost so far."""
        match update.get("sessionUpdate"), update.get("currentModeId"), update.get("cost"):
            case "current_mode_update", str(mode), _:
                self.mode = mode
            case "usage_update", _, {"amount": int() | float() as amount, "currency": "USD"}:
                self.cost_usd = float(amount)
        match update:
            case {"sessionUpdate": "session_info_update", "_meta": {"codex": {"threadStatus": {"type": status}}}}:
                self.is_broken = status == "systemError"
        if update.get("sessionUpdate") == "config_option_update":
            self.options = {**self.options, **offer_of(update).options}

    def asked(self, part: Mapping[str, Any]) -> Call:
        """The call that permission is asked for."""
        call = self._calls.of(part, self.agent)
        call.ask(part)
        self.used_tools = True
        return call

    def left(self) -> list[Call]:
        """The calls that were not finished, of which nothing more will be known."""
        return self._calls.all()

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

    def _take_call(self, update: Mapping[str, Any]) -> tuple[list[Event], list[Call]]:
        call = self._calls.of(update, self.agent)
        call.join(update)
        self.used_tools = True
        events = self.pause()
        if call.status in FINISHED:
            self._calls.finish(call)
            return [*events, *call.begun(), *call.ended()], [call]
        # Before it is in progress, more of its input may come.
        begun = call.begun() if call.status == "in_progress" and call.is_described else []
        return [*events, *begun], self._calls.too_many()


def _plan(update: Mapping[str, Any]) -> list[Event]:
    entries = update.get("entries")
    lines = [
        f"[{'x' if entry.get('status') == 'completed' else ' '}] {entry.get('content', '')}"
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
    ]
    return [PlanText("\n".join(lines))] if lines else []
