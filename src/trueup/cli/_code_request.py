"""What somebody asks of a session, by options and settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trueup.coder import AgentNetwork, CodeRequest, Deliver, Limits
from trueup.core.errors import InputError
from trueup.core.settings import resolve
from trueup.model import chosen_model, command_spec


def request_of(intent: str, folder: Path, asked: dict[str, Any]) -> CodeRequest:
    """The request that a person makes by the options of `trueup code` and their settings."""
    settings = resolve({name: asked[name] for name in ("engine", "generate")}, folder=folder).settings
    if settings.engine is None:
        raise InputError(
            "no engine to do the work: name an agent, as in --engine claude-code (`trueup harness list` shows all), give "
            "--engine 'command:PROGRAM ARGUMENTS', which gets the prompt on stdin, or set `engine` in your settings"
        )
    contract_file: Path | None = asked["contract_file"]
    return CodeRequest(
        intent=intent,
        folder=str(folder),
        engine=settings.engine,
        base=asked["base"],
        model=asked["model"],
        contract_file=str(contract_file.absolute()) if contract_file else None,
        generate=chosen_model(settings),
        attempts_at_a_contract=settings.max_attempts,
        judge=command_spec(asked["judge"]) if asked["judge"] is not None else None,
        limits=Limits(
            iterations=asked["max_iterations"],
            engine_secs=asked["timeout"],
            idle_secs=asked["idle_timeout"],
            turns=asked["max_turns"],
            tokens=asked["budget_tokens"],
            usd=asked["budget_usd"],
            strict=asked["strict_budget"],
        ),
        deliver=Deliver(asked["deliver"] or Deliver.MERGE),
        sandboxed=asked["sandbox"] == "auto",
        network=AgentNetwork(asked["agent_network"]) if asked["agent_network"] else None,
        user_config=asked["agent_config"] == "user",
        cassette=asked["cassette"],
        allow_no_goal=asked["allow_no_goal"],
        jobs=asked["jobs"],
    )
