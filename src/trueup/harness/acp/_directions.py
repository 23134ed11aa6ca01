"""Whom an ACP agent is to call: the vendor is no part of the protocol, so it is told as the agent's own dialect does."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from .._claude import VARIABLES as CLAUDE_VARIABLES
from .._codex import session_settings
from .._protocol import HarnessRequest
from .._vendors import ANTHROPIC, OPENAI, Vendor
from ..agents import AGENTS, Directions
from ._named import AcpAgent

_OWN = {"claude-code": ANTHROPIC, "codex": OPENAI}


def directions_for(agent: AcpAgent, request: HarnessRequest) -> Directions:
    """How its program is told the vendor, and the address, that the variables of a request name."""
    match agent.dialect:
        case None:
            return Directions()
        case "claude-code":
            # It takes a model that it does not list for one of a similar name, unless it is told that there is one.
            custom = {"ANTHROPIC_CUSTOM_MODEL_OPTION": request.model} if request.model else {}
            # What the person could ask next is a call more, which nobody wants to know here.
            quiet = {"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false"}
            return Directions(env={**CLAUDE_VARIABLES, **quiet, **custom})
        case "codex":
            return Directions(env={"CODEX_CONFIG": msgspec.json.encode(session_settings(request)).decode()})
        case other:
            return AGENTS[other]().directions(request) or Directions()


def vendors_of(agent: AcpAgent) -> tuple[Vendor, ...]:
    """The vendors that it can be told to call, the usual one first; none where it cannot be told."""
    if agent.dialect is None:
        return ()
    if agent.dialect in _OWN:
        return (_OWN[agent.dialect],)
    is_told = AGENTS[agent.dialect]().directions(HarnessRequest(prompt="")) is not None
    return AGENTS[agent.dialect].vendors if is_told else ()


def vendor_in(agent: AcpAgent, environ: Mapping[str, str]) -> Vendor | None:
    """The vendor that it would call: the first for which there is a key, else the usual one."""
    vendors = vendors_of(agent)
    return next((vendor for vendor in vendors if vendor.key(environ)), vendors[0] if vendors else None)
