"""What a client asks for, as a session is asked for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from trueup.coder import AgentNetwork, CodeRequest, Deliver, Limits, usable, widening
from trueup.contract import Contract
from trueup.core.errors import InputError, PolicyRefusedError
from trueup.core.settings import resolve
from trueup.model import chosen_model

AUTO = "auto"
EXTERNAL = "external"

Count = Annotated[int, Meta(ge=0, le=10**12)]
Amount = Annotated[float, Meta(gt=0)]


class CoderStart(Struct, frozen=True, kw_only=True):
    """A session to begin. `engine` is `auto`, `native`, the name of a harness or `command:PROGRAM ARGUMENTS`.

    Of `max_iterations`, 0 is as good as nothing: what a session has by itself.
    """

    repo: str
    intent: str
    engine: str | None = None
    contract: Contract | None = None
    base: str | None = None
    model: str | None = None
    max_iterations: Count | None = None
    max_turns: Count | None = None
    budget_tokens: Count | None = None
    budget_usd: Amount | None = None
    timeout_secs: Amount | None = None
    deliver: Deliver = Deliver.MERGE
    network: AgentNetwork | None = None
    allow_no_goal: bool = False


async def code_request(asked: CoderStart, *, by_a_person: bool) -> CodeRequest:
    """A session as it was asked for; what only a person may grant is refused to anybody else."""
    folder = Path(asked.repo)
    if not folder.is_absolute() or not await asyncio.to_thread(folder.is_dir):
        raise InputError(f"{asked.repo} is no folder; `repo` is the whole path of a repository on this machine")
    if asked.contract is not None:
        usable(asked.contract)
    widened = _widened(asked)
    if widened and not by_a_person:
        raise PolicyRefusedError(f"{widened}; only whoever has the human token may ask for that")
    settings = (await asyncio.to_thread(resolve, {"engine": _engine(asked.engine)}, folder=folder)).settings
    usual = Limits()
    return CodeRequest(
        intent=asked.intent,
        folder=str(folder),
        engine=settings.engine or AUTO,
        base=asked.base,
        model=asked.model,
        contract=asked.contract,
        generate=chosen_model(settings),
        attempts_at_a_contract=settings.max_attempts,
        limits=Limits(
            iterations=asked.max_iterations or usual.iterations,
            engine_secs=asked.timeout_secs,
            turns=asked.max_turns or None,
            tokens=asked.budget_tokens or None,
            usd=asked.budget_usd,
        ),
        deliver=asked.deliver,
        network=asked.network,
        allow_no_goal=asked.allow_no_goal,
    )


def _widened(asked: CoderStart) -> str:
    contract = widening(asked.contract) if asked.contract is not None else ""
    if contract:
        return f"the contract {contract}"
    return "the engine would have your network" if asked.network is AgentNetwork.HOST else ""


def _engine(named: str | None) -> str | None:
    """An engine by the names that other programs have for one."""
    kind, _, name = (named or "").partition(":")
    if kind == EXTERNAL:
        return name or AUTO
    return named or None
