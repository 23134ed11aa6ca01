"""An ACP agent as the engine of a session."""

from __future__ import annotations

from .._engine import Surroundings
from .._harness_engine import HarnessEngine
from .._program_parts import parts_of
from .._vendors import ANTHROPIC
from ._harness import PREFIX, acp_harness, acp_words

# Those that find their vendor by the vendor's own variables, so that a proxy can stand in for it.
_VENDORS = {f"{PREFIX}claude-code": ANTHROPIC, f"{PREFIX}claude-agent-acp": ANTHROPIC}


def acp_engine(spec: str, around: Surroundings) -> HarnessEngine:
    """The engine that a person named by `acp:`."""
    harness = acp_harness(acp_words(spec), around.environ)
    program = harness.program_in(around.environ)
    files = {path: path for path in parts_of(program, around.environ)} if program else {}
    return HarnessEngine(harness, _VENDORS.get(harness.name), files, asks_first=harness.agent.asks, gate=around.gate)
