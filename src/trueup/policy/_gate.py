"""The gate before every action."""

from __future__ import annotations

import asyncio
import os
import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from trueup.core.protocols import Action, Decision

from ._checks import Circumstances
from ._model import DenyPath
from ._paths import Place
from ._policies import Ledger, Policies, decide


class PolicyGate:
    """A `Gate` by policies.

    `state` is looked at when something is decided, so it may be a mapping that lives. `root` and `home` are the folder
    of the work and the home as tools see them. `resolve` follows links (as `os.path.realpath` does) where the work can
    be reached from here.
    """

    def __init__(
        self,
        policies: Policies,
        *,
        session_id: str | None = None,
        state: Mapping[str, Any] | None = None,
        root: str | os.PathLike[str] = "",
        home: str | os.PathLike[str] = "",
        resolve: Callable[[str], str] | None = None,
    ) -> None:
        self._policies = policies
        self._session_id = session_id
        self._state = {} if state is None else state
        self._place = Place(_folder(root), _folder(home), resolve)
        self._rehearsed: Ledger | None = None

    async def decide(self, action: Action) -> Decision:
        """Allow or refuse what is about to be done. What is allowed counts as done."""
        if self._follows_links():
            return await asyncio.to_thread(self.decide_now, action)
        return self.decide_now(action)

    def decide_now(self, action: Action) -> Decision:
        """As `decide`, from any thread."""
        return decide(
            action,
            self._policies.applying(self._session_id),
            Circumstances(self._state, self._place),
            self._policies.ledger if self._rehearsed is None else self._rehearsed,
            self._policies.clock(),
        )

    def rehearsal(self, state: Mapping[str, Any] | None = None) -> PolicyGate:
        """A gate that decides what this one would, one action after another, and leaves no trace in its counts.

        `state` takes the place of the gate's own, for what the actions in between would change.
        """
        gate = PolicyGate(
            self._policies,
            session_id=self._session_id,
            state=self._state if state is None else state,
            root=self._place.root,
            home=self._place.home,
            resolve=self._place.resolve,
        )
        gate._rehearsed = (self._rehearsed or self._policies.ledger).copied()
        return gate

    def _follows_links(self) -> bool:
        """Whether the file system is asked, which may take its time."""
        if self._place.resolve is None:
            return False
        return any(isinstance(entry.policy, DenyPath) for entry in self._policies.applying(self._session_id))


def _folder(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    return posixpath.normpath(text) if text else ""
