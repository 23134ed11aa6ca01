"""What an ACP agent may do: decided by the mode of the request, then by the gate, and told by the kind of an option.

An agent's options have names and ids of its own. Their kinds are the protocol's: only `allow_once` allows, so that
each action is decided by itself.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from trueup.core.protocols import Decision, Gate

from .._events import ToolKind
from .._protocol import HarnessRequest, Mode
from ._calls import Call

LOOKS = (ToolKind.READ, ToolKind.SEARCH)
ACTS = (ToolKind.SHELL, ToolKind.WRITE)


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
        reason = self._beyond_mode(call, folder) or self._unseen(call)
        if reason:
            return Decision(allowed=False, reason=reason)
        return Decision(allowed=True) if self.gate is None else await self.gate.decide(call.action())

    async def look_back(self, call: Call, folder: str) -> Decision:
        """Whether a call may have happened that nobody was asked about.

        Agents do unasked what they take for harmless: they read, and run commands that only look. No mode is left by
        that, but the gate may know it for something else.
        """
        reason = self._beyond_mode(call, folder) if call.kind is ToolKind.WRITE else ""
        if not reason and call.kind in ACTS:
            reason = self._unseen(call)
        if reason:
            return Decision(allowed=False, reason=reason)
        return Decision(allowed=True) if self.gate is None else await self.gate.decide(call.action())

    def _beyond_mode(self, call: Call, folder: str) -> str:
        if call.changes_mode and self.are_needed:
            return "nobody widens a run's mode"
        if self.mode is Mode.FULL or call.kind in LOOKS:
            return ""
        if self.mode is Mode.READ_ONLY or call.kind is not ToolKind.WRITE:
            return f"mode {self.mode.value} does not allow it"
        outside = [path for path in call.paths if not _is_below(path, folder)]
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
    found: dict[str, list[str]] = {}
    for option in options if isinstance(options, list) else []:
        match option:
            case {"kind": str(kind), "optionId": str(option_id)}:
                found.setdefault(kind, []).append(option_id)
    return found


def _is_below(path: str, folder: str) -> bool:
    whole = posixpath.normpath(posixpath.join(folder, path))
    return whole == folder or whole.startswith(f"{folder.rstrip('/')}/")
