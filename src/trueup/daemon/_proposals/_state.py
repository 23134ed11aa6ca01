"""What a proposal does to the state, so that it can be undone."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from ._model import StateChange

_ABSENT = object()


class StateJournal:
    """Writes to a state that others write to as well, and remembers what was there before."""

    def __init__(self, state: MutableMapping[str, Any]) -> None:
        self._state = state
        self._before: list[tuple[str, Any, Any]] = []

    def write(self, values: Mapping[str, Any]) -> dict[str, StateChange]:
        """Put values into the state."""
        for key, value in values.items():
            self._before.append((key, self._state.get(key, _ABSENT), value))
            self._state[key] = value
        return {key: StateChange("set", value) for key, value in values.items()}

    def undo(self) -> None:
        """Put back what was there, save where somebody else has written since."""
        while self._before:
            key, before, written = self._before.pop()
            if self._state.get(key, _ABSENT) is not written:
                continue
            if before is _ABSENT:
                del self._state[key]
            else:
                self._state[key] = before


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, and `true` is not 1."""
    left = [(one, other)]
    while left:
        a, b = left.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            left += ((a[key], b[key]) for key in a)
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            left += zip(a, b, strict=True)
        elif isinstance(a, bool) is not isinstance(b, bool) or a != b:
            return False
    return True
