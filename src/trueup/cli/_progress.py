"""What is going on, on stderr, for whoever waits."""

from __future__ import annotations

from typing import Any

import msgspec

from trueup.contract import CheckCompleted, CheckStarted
from trueup.core.protocols import Event

from ._waiting import Waiting


class Progress(Waiting):
    """A recorder that says on stderr what is going on and how long it has taken."""

    def __init__(self, what: str = "", *, quiet: bool) -> None:
        super().__init__(what, quiet=quiet)
        self._quiet = quiet

    async def record(self, event: Event) -> None:
        if self._quiet:
            return
        said = sentence(event)
        self.what = said.removesuffix(" …")
        self.say(f"{self.elapsed_secs:6.1f} s  {said}")


def sentence(event: Event) -> str:
    """An event in a few words."""
    match event:
        case CheckStarted(name=name):
            return f"{name} …"
        case CheckCompleted(result=result):
            return f"{result.name}: {'green' if result.passed else f'red ({result.reason})'}"
    said: dict[str, Any] = msgspec.to_builtins(event)
    return str(said.get("text", said["kind"].replace("_", " ")))
