"""Agents that speak the Agent Client Protocol (ACP): any of them is a harness, named or by its command line.

The conversation is led by the official SDK over the pipes of our own runner; the SDK starts nothing. What an agent
asks permission for is decided by the mode of the request and by the `Gate`. What must be known of an agent beside the
protocol is data, in `_named.py`. The SDK is loaded when an agent is first spoken to.
"""

from ._engine import acp_engine, acp_vendors
from ._harness import PREFIX, AcpHarness, Patience, acp_harness, acp_words
from ._named import NAMED, AcpAgent

__all__ = [
    "NAMED",
    "PREFIX",
    "AcpAgent",
    "AcpHarness",
    "Patience",
    "acp_engine",
    "acp_harness",
    "acp_vendors",
    "acp_words",
]
