"""What is going on, on stderr, for whoever waits."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from trueup.contract import CheckCompleted, CheckStarted
from trueup.core.protocols import Event

from ._main import tell


class Progress:
    """A recorder that says on stderr what is going on and how long it has taken."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._started = time.monotonic()

    async def record(self, event: Event) -> None:
        if self._quiet:
            return
        elapsed = f"{time.monotonic() - self._started:6.1f} s"
        tell(f"{elapsed}  {sentence(event)}")


def sentence(event: Event) -> str:
    """An event in a few words."""
    match event:
        case CheckStarted(name=name):
            return f"{name} …"
        case CheckCompleted(result=result):
            return f"{result.name}: {'green' if result.passed else f'red ({result.reason})'}"
    said: dict[str, Any] = msgspec.to_builtins(event)
    return str(said.get("text", said["kind"].replace("_", " ")))
