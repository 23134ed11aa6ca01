"""Policies: which actions are allowed, decided before they run, with the reason.

A policy is a name and a rule, from the repository's `.trueup/policy.yaml` or over the wire. Rules look at the tool, its
parameters, paths and commands in them, the state, and how often a tool was called. Here it is only decided: whoever runs
actions asks a `PolicyGate` first. What a program can do once it runs is the sandbox's business; rules that read commands
and paths are advice on top of it, and say so.
"""

from ._decoding import POLICY_FILE, RULES, load_policies, policy_file, policy_from, read_policies
from ._gate import PolicyGate
from ._model import (
    AllowCommand,
    AllowToolParam,
    AnyPolicy,
    DenyCommand,
    DenyPath,
    DenyTool,
    DenyToolParam,
    DenyToolParamMatching,
    Policy,
    Rate,
    RateLimitTool,
    RequireState,
)
from ._policies import Listed, Policies
from ._tools import KIND_OF_TOOL

__all__ = [
    "KIND_OF_TOOL",
    "POLICY_FILE",
    "RULES",
    "AllowCommand",
    "AllowToolParam",
    "AnyPolicy",
    "DenyCommand",
    "DenyPath",
    "DenyTool",
    "DenyToolParam",
    "DenyToolParamMatching",
    "Listed",
    "Policies",
    "Policy",
    "PolicyGate",
    "Rate",
    "RateLimitTool",
    "RequireState",
    "load_policies",
    "policy_file",
    "policy_from",
    "read_policies",
]
