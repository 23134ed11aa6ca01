"""A recorder that remembers."""

from __future__ import annotations

from trueup.core.protocols import Event


class EventLog:
    """A `Recorder` that keeps every event in memory, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def record(self, event: Event) -> None:
        self.events.append(event)
