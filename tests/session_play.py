"""Sessions on a small repository, with engines that are real programs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from trueup.coder import Absent, CodeRequest, Deliver, Limits, Person, Sessions, Story, Told, events
from trueup.runs import RunStore


class Watching:
    """A `Listener` that remembers."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    async def hear(self, told: Told) -> None:
        self.told.append(told)

    def of(self, kind: type) -> list[Any]:
        return [told.event for told in self.told if isinstance(told.event, kind)]

    @property
    def states(self) -> list[str]:
        return [event.state.value for event in self.of(events.StateChanged)]

    @property
    def prompts(self) -> list[str]:
        return [event.prompt for event in self.of(events.IterationStarted)]


class Play:
    """A repository, a store, and whatever is played there."""

    def __init__(self, project: Any, store: RunStore) -> None:
        self.project = project
        self.store = store
        self.sessions = Sessions(store)
        self.watching = Watching()
        self._files = 0

    def _file(self, name: str) -> Path:
        self._files += 1
        return Path(self.project.outside / f"{id(self)}-{self._files}-{name}")

    def engine(self, script: str) -> str:
        """An engine that runs a script of bash in the checkout; it stops at the first command that fails."""
        file = self._file("agent.sh")
        file.write_text(f"set -eu\n{script}\n")
        return f"command:bash {shlex.quote(str(file))}"

    def contract(self, *checks: str | dict[str, Any], **more: Any) -> str:
        written = [
            {"name": f"check_{number}", "timeout_secs": 60, **(each if isinstance(each, dict) else {"command": each})}
            for number, each in enumerate(checks)
        ]
        file = self._file("contract.json")
        file.write_text(json.dumps({"description": "slug joins by dashes", "checks": written, **more}))
        return str(file)

    def request(self, script: str, *checks: str | dict[str, Any], **more: Any) -> CodeRequest:
        contract = self.contract(*checks, **more.pop("contract", {}))
        limits = more.pop("limits", Limits(iterations=1, retry_secs=0.01))
        asked = {"intent": "Make slugs join by dashes", "engine": self.engine(script), "contract_file": contract}
        return CodeRequest(folder=str(self.project.root), limits=limits, **{**asked, **more})

    async def code(
        self, script: str, *checks: str | dict[str, Any], person: Person | None = None, **more: Any
    ) -> Story:
        """A session from its beginning until it has ended or waits."""
        self.watching = Watching()
        request = self.request(script, *checks, **more)
        return await self.sessions.start(request, person or Absent(yes=True), self.watching)

    async def git(self, *words: str) -> str:
        said: str = await self.project.bash(shlex.join(["git", *words]))
        return said

    async def head(self) -> str:
        return await self.git("rev-parse", "HEAD")


__all__ = ["Absent", "Deliver", "Limits", "Play", "Watching"]
