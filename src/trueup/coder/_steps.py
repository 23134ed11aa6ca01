"""What is going on, for whoever waits."""

from __future__ import annotations

from trueup.core.protocols import Event


class Step(Event, frozen=True):
    """What is being done now, in a few words."""

    text: str
