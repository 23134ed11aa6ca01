"""An ACP agent as the engine of a session."""

from __future__ import annotations

from .._engine import Surroundings
from .._harness_engine import HarnessEngine
from .._logins import LOGINS
from .._program_parts import parts_of
from .._vendors import Vendor, lacking_key
from ._directions import vendor_in, vendors_of
from ._harness import acp_harness, acp_words


def acp_engine(spec: str, around: Surroundings) -> HarnessEngine:
    """The engine that a person named by `acp:`."""
    harness = acp_harness(acp_words(spec), around.environ)
    agent = harness.agent
    program = harness.program_in(around.environ)
    login = LOGINS.get(agent.dialect or "")
    needs_key = around.confined and login is None
    return HarnessEngine(
        harness,
        vendor_in(agent, around.environ),
        {path: path for path in parts_of(program, around.environ)} if program else {},
        asks_first=agent.asks,
        gate=around.gate,
        lacks=lacking_key(vendors_of(agent), around.environ) if needs_key else None,
        login=login,
        resumes=agent.resumes,
    )


def acp_vendors(spec: str) -> tuple[Vendor, ...]:
    """The vendors that an agent which is named by `acp:` can be told to call."""
    return vendors_of(acp_harness(acp_words(spec), {}).agent)
