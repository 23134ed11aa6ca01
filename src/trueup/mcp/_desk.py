"""What the tools do, whoever serves them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from trueup.coder import CheckRequest, check_change, usable, widening
from trueup.contract import Contract, derive, derive_offline, summarize
from trueup.core.errors import InputError, PolicyRefusedError
from trueup.core.protocols import Event
from trueup.core.settings import resolve
from trueup.core.text import writable
from trueup.daemon.coding import CoderStart, Coding, code_request, session_view
from trueup.model import chosen_model, generate_for
from trueup.runs import Ended, RunStore, Started, Turn

AGENT = "mcp"
# Less than a client waits for an answer.
PATIENCE_SECS = 25

_TURN_FIELDS = [name for name in Turn.__struct_fields__ if name != "index"]

Ending = Literal["completed", "cancelled"]


class Desk:
    """One agent's errands. It writes to the runs that it began, and to no others."""

    def __init__(self, store: RunStore, coding: Coding) -> None:
        self._store = store
        self._coding = coding
        self._open_runs: set[str] = set()

    async def derive_contract(self, intent: str, repo: str) -> dict[str, Any]:
        """A contract for an intent: by a model where one is known, else the checks that the repository has."""
        folder = _folder(repo)
        settings = (await asyncio.to_thread(resolve, folder=folder)).settings
        model = chosen_model(settings)
        if model is None:
            offline = await asyncio.to_thread(derive_offline, folder, intent)
            contract, source, notes = offline.contract, "the repository's own checks", offline.notes
        else:
            summary = await asyncio.to_thread(summarize, folder)
            derived = await derive(generate_for(model), intent, summary, settings.max_attempts)
            contract, source, notes = derived.contract, f"derived by {model}", []
        told = {"contract": contract.as_data(), "source": source, "notes": [*notes, *contract.weaknesses()]}
        return writable(told)  # type: ignore[no-any-return]

    async def check(self, repo: str, contract: dict[str, Any] | None, base: str | None) -> dict[str, Any]:
        """The verdict on the working tree."""
        request = CheckRequest(folder=_folder(repo), contract=_contract(contract), base=base)
        verdict = await check_change(request, _Unheard())
        return writable(msgspec.to_builtins(verdict))  # type: ignore[no-any-return]

    async def start_session(
        self, intent: str, repo: str, contract: dict[str, Any] | None, engine: str | None
    ) -> dict[str, Any]:
        """A session, up to the contract that a person has to agree to."""
        asked = CoderStart(repo=str(_folder(repo)), intent=intent, contract=_contract(contract), engine=engine or None)
        request = await code_request(asked, by_a_person=False)
        return await self.session(await self._coding.start(request, secs=PATIENCE_SECS))

    async def session(self, session_id: str) -> dict[str, Any]:
        """A session, with what it waits for."""
        story = await self._coding.sessions.story(session_id)
        live = await self._coding.sessions.owner(story.id) is not None
        return msgspec.to_builtins(session_view(story, live=live))  # type: ignore[no-any-return]

    async def record(
        self, intent: str, run_id: str, turns: list[dict[str, Any]], end: Ending | None, summary: str
    ) -> dict[str, Any]:
        """Turns of the agent's own work, on a run that it began here."""
        records = _turns(turns)
        if not run_id:
            run_id = await self._begin(intent)
        elif run_id not in self._open_runs:
            raise InputError(f"run {run_id} was not begun here, or has ended; leave run_id empty to begin one")
        if records:
            await self._store.append(run_id, records)
        if end is not None:
            self._open_runs.discard(run_id)
            await self._store.end(run_id, Ended(end, summary))
        run = await self._store.get(run_id)
        return {"run_id": run_id, "turn_count": run.turn_count if run else 0, "status": run.status if run else None}

    async def leave(self) -> None:
        """End what the agent left open."""
        for run_id in self._open_runs:
            # Somebody else may have ended it.
            with suppress(InputError):
                await self._store.end(run_id, Ended("incomplete", termination="the agent left"))

    async def _begin(self, intent: str) -> str:
        if not intent.strip():
            raise InputError("say what the run is for: `intent` is empty")
        run = await self._store.start(Started(intent=intent, agent_id=AGENT))
        self._open_runs.add(run.run_id)
        return run.run_id


class _Unheard:
    """A `Recorder` for whom nothing is kept."""

    async def record(self, event: Event) -> None:
        pass


def _folder(repo: str) -> Path:
    try:
        is_folder = bool(repo) and Path(repo).is_dir()
    except OSError:
        # A name that no file system has.
        is_folder = False
    if not is_folder:
        raise InputError(f"{repo[:200]!r} is no folder; `repo` is the path of a repository on this machine")
    return Path(repo).resolve()


def _contract(data: dict[str, Any] | None) -> Contract | None:
    if data is None:
        return None
    try:
        contract = usable(msgspec.convert(data, Contract))
    except msgspec.ValidationError as error:
        raise InputError(f"contract: {error}") from None
    widened = widening(contract)
    if widened:
        raise PolicyRefusedError(f"the contract {widened}; only a person may ask for that, with `trueup check`")
    return contract


def _turns(turns: list[dict[str, Any]]) -> list[Turn]:
    for place, turn in enumerate(turns, start=1):
        unknown = sorted(turn.keys() - {*_TURN_FIELDS})
        if unknown:
            # Kept silently, it would be lost silently.
            which = "the first" if place == 1 else f"number {place}"
            raise InputError(f"turns: unknown field {unknown[0]!r} in {which}; a turn has {', '.join(_TURN_FIELDS)}")
    try:
        return msgspec.convert([{**turn, "kind": "turn"} for turn in turns], list[Turn])
    except msgspec.ValidationError as error:
        raise InputError(f"turns: {error}") from None
