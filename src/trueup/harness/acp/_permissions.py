"""What an ACP agent may do: decided by the mode of the request, then by the gate, and told by the kind of an option.

An agent's options have names and ids of its own. Their kinds are the protocol's: only `allow_once` allows, so that
each action is decided by itself.
"""

from __future__ import annotations

import asyncio
import os.path
import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from trueup.core.protocols import Decision, Gate

from .._events import ToolKind
from .._protocol import HarnessRequest, Mode
from ._calls import Call

LOOKS = (ToolKind.READ, ToolKind.SEARCH)
ACTS = (ToolKind.SHELL, ToolKind.WRITE)
_ADDRESS = re.compile(r"file:|[A-Za-z][A-Za-z0-9+.-]*://", re.IGNORECASE)


class Permissions(Struct, frozen=True):
    """What holds for one run."""

    mode: Mode
    gate: Gate | None

    @classmethod
    def of(cls, request: HarnessRequest, gate: Gate | None) -> Permissions:
        return cls(request.mode, gate)

    @property
    def are_needed(self) -> bool:
        """Whether there is anything that the agent may not do."""
        return self.gate is not None or self.mode is not Mode.FULL

    async def decide(self, call: Call, folder: str) -> Decision:
        """Whether a call may happen. `folder` is where the agent works."""
        reason = await self._beyond_mode(call, folder) or self._unseen(call)
        if reason:
            return Decision(allowed=False, reason=reason)
        return Decision(allowed=True) if self.gate is None else await self.gate.decide(call.action())

    async def look_back(self, call: Call, folder: str) -> Decision:
        """Whether a call may have happened that nobody allowed as it was.

        Agents do unasked what they take for harmless: they read, and run commands that only look. No mode is left by
        that, but the gate may know it for something else.
        """
        if call.was_denied:
            return Decision(allowed=False, reason="it asked first, and was told no")
        reason = await self._beyond_mode(call, folder) if call.kind is ToolKind.WRITE else ""
        if not reason and call.kind in ACTS:
            reason = self._unseen(call)
        if reason:
            return Decision(allowed=False, reason=reason)
        return Decision(allowed=True) if self.gate is None else await self.gate.decide(call.action())

    async def _beyond_mode(self, call: Call, folder: str) -> str:
        if call.changes_mode and self.are_needed:
            return "nobody widens a run's mode"
        if self.mode is Mode.FULL or call.kind in LOOKS:
            return ""
        if self.mode is Mode.READ_ONLY or call.kind is not ToolKind.WRITE:
            return f"mode {self.mode.value} does not allow it"
        outside = [path for path in call.paths if not await asyncio.to_thread(_is_below, path, folder)]
        if outside or not call.paths:
            return f"mode edit allows changes of known files in the workspace: {', '.join(outside) or 'none is told'}"
        return ""

    def _unseen(self, call: Call) -> str:
        if self.gate is None or call.is_described:
            return ""
        what = "no command" if call.kind is ToolKind.SHELL else "not what it is about"
        return f"the agent tells {what}, so that nobody could decide"


def option_for(options: Any, *, allowed: bool) -> str | None:
    """The id of the option that tells a decision; None where the agent offers none, and is told that it is cancelled.

    One that would allow more than this once is never taken, and of two that allow once nobody could tell which is the
    narrower.
    """
    by_kind = _by_kind(options)
    if allowed:
        once = by_kind.get("allow_once", ())
        return once[0] if len(once) == 1 else None
    return next((ids[0] for kind in ("reject_once", "reject_always") if (ids := by_kind.get(kind))), None)


def _by_kind(options: Any) -> Mapping[str, Sequence[str]]:
    """The ids of options by their kinds. An id that several have says nothing."""
    listed = options if isinstance(options, list) else []
    named = [each for each in listed if isinstance(each, dict) and isinstance(each.get("optionId"), str)]
    ids = Counter(option["optionId"] for option in named)
    found: dict[str, list[str]] = {}
    for option in named:
        if isinstance(option.get("kind"), str) and ids[option["optionId"]] == 1:
            found.setdefault(option["kind"], []).append(option["optionId"])
    return found


def _is_below(path: str, folder: str) -> bool:
    """Whether a path leads into a folder: as it is written, and by its links where the folder can be reached from here.

    What a tool may take for a home or for an address is none that could be told to be there.
    """
    if "\0" in path or path.startswith("~") or _ADDRESS.match(path):
        return False
    whole = posixpath.normpath(posixpath.join(folder, path))
    return _is_in(whole, folder) and _is_in(os.path.realpath(whole), os.path.realpath(folder))


def _is_in(whole: str, folder: str) -> bool:
    return whole == folder or whole.startswith(f"{folder.rstrip('/')}/")
