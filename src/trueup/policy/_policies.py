"""The policies in force: in order, by name, for a whole connection or for one of its sessions."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.protocols import Action, Decision

from ._checks import Check, Circumstances, Refusal
from ._model import AnyPolicy, Rate, RateLimitTool
from ._tools import is_meant

Clock = Callable[[], float]


class Listed(Struct, frozen=True):
    """A policy as it is shown."""

    name: str
    description: str


class Entry:
    """A policy made ready to be asked. What it counts is counted for this very entry."""

    def __init__(self, policy: AnyPolicy) -> None:
        self.policy = policy
        self.check: Check = policy.check()
        self.rate: Rate | None = policy.value if isinstance(policy, RateLimitTool) else None


class Ledger:
    """When each limited entry let something pass."""

    def __init__(self, passed: dict[Entry, deque[float]] | None = None) -> None:
        self._passed = passed or {}
        self._lock = threading.Lock()

    def copied(self) -> Ledger:
        """The same counts, to go on counting apart."""
        with self._lock:
            return Ledger({entry: times.copy() for entry, times in self._passed.items()})

    def first_full(self, entries: Sequence[Entry], now: float, *, counts: bool) -> Entry | None:
        """The first entry that lets nothing more pass; where there is none, count one more for all, if that is wanted."""
        with self._lock:
            full = next((entry for entry in entries if self._is_full(entry, now)), None)
            if full is None and counts:
                for entry in entries:
                    self._passed.setdefault(entry, deque()).append(now)
            return full

    def forget(self, entry: Entry) -> None:
        with self._lock:
            self._passed.pop(entry, None)

    def _is_full(self, entry: Entry, now: float) -> bool:
        times = self._passed.get(entry)
        if entry.rate is None or times is None:
            return False
        while times and times[0] <= now - entry.rate.secs:
            times.popleft()
        return len(times) >= entry.rate.calls


class Policies:
    """An ordered set of policies. Those it is made with cannot be replaced or taken away.

    `session_id` None is the whole; a session's own policies come after, and hold for that session only.
    """

    def __init__(self, fixed: Iterable[AnyPolicy] = (), *, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self.ledger = Ledger()
        self._fixed = tuple(Entry(policy) for policy in fixed)
        self._added: dict[str | None, dict[str, Entry]] = {}
        self._lock = threading.Lock()

    def register(self, policy: AnyPolicy, session_id: str | None = None) -> None:
        """Add a policy at the end. One of the same name and scope is replaced where it stands."""
        self._refuse_fixed(policy.name)
        with self._lock:
            scope = self._added.get(session_id, {})
            before = scope.get(policy.name)
            if before is not None and before.policy == policy:
                # Saying it again does not empty what it has counted.
                return
            # Replaced as a whole, so that whoever decides at the moment goes on with what it has.
            self._added = {**self._added, session_id: {**scope, policy.name: Entry(policy)}}
        if before is not None:
            self.ledger.forget(before)

    def unregister(self, name: str, session_id: str | None = None) -> bool:
        """Take a policy away; False where that scope has none of the name."""
        self._refuse_fixed(name)
        with self._lock:
            scope = dict(self._added.get(session_id, {}))
            gone = scope.pop(name, None)
            self._added = {**self._added, session_id: scope}
        if gone is not None:
            self.ledger.forget(gone)
        return gone is not None

    def end_session(self, session_id: str) -> None:
        """Forget a session's own policies."""
        with self._lock:
            added = dict(self._added)
            gone = added.pop(session_id, {})
            self._added = added
        for entry in gone.values():
            self.ledger.forget(entry)

    def _refuse_fixed(self, name: str) -> None:
        if any(entry.policy.name == name for entry in self._fixed):
            raise InputError(f"name: policy {name!r} is the repository's; change it in its file")

    def listed(self, session_id: str | None = None) -> list[Listed]:
        """The policies of one scope, in order; the repository's are of the whole."""
        fixed = self._fixed if session_id is None else ()
        entries = (*fixed, *self._added.get(session_id, {}).values())
        return [Listed(entry.policy.name, entry.policy.description) for entry in entries]

    def applying(self, session_id: str | None = None) -> tuple[Entry, ...]:
        """All that hold for a session: the repository's, those of the whole, and its own."""
        added = self._added
        own = added.get(session_id, {}) if session_id is not None else {}
        return (*self._fixed, *added.get(None, {}).values(), *own.values())


def decide(
    action: Action, entries: Sequence[Entry], circumstances: Circumstances, ledger: Ledger, now: float
) -> Decision:
    """The first refusal, in order; what is allowed is counted."""
    limited: list[Entry] = []
    refused: tuple[Entry, Refusal] | None = None
    for entry in entries:
        if not is_meant(entry.policy.tools, action):
            continue
        if entry.rate is not None:
            limited.append(entry)
        elif refusal := entry.check(action, circumstances):
            refused = (entry, refusal)
            break
    full = ledger.first_full(limited, now, counts=refused is None)
    if full is not None and full.rate is not None:
        why = f"tool '{action.tool}' was called {full.rate.calls} times within {full.rate.secs:g} s, which is its limit"
        refused = (full, Refusal(None, why))
    if refused is None:
        return Decision(allowed=True)
    entry, refusal = refused
    name = entry.policy.name
    return Decision(allowed=False, rule=name, param=refusal.param, reason=f"policy '{name}': {refusal.why}")
