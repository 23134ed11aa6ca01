"""Verified work: whether a change is what was asked for, decided by execution.

A `Verifier` evaluates a contract on the untouched base, which tells what each check is worth, and then on a change, in
a pristine checkout where nothing of its author's reaches. `check_change` does that for a change of the user's; a
session (`Sessions`) has an engine make one, sends it back while it is refused, and delivers what is verified and
approved. How checkouts are made is the workspace's business; what a check asks for is the contract's.
"""

from ._attestation import (
    Checked,
    Examined,
    PublicKey,
    find_own_key,
    key_file,
    own_key,
    read_public_key,
    verify_attestation,
)
from ._check import CheckRequest, check_change
from ._session import (
    Absent,
    Accept,
    AgentNetwork,
    Approve,
    Attempt,
    CodeRequest,
    Deliver,
    Discard,
    Edit,
    FailureReason,
    Leave,
    Limits,
    Listener,
    Once,
    Person,
    Proposal,
    Revise,
    SendBack,
    Sessions,
    SessionSummary,
    State,
    Story,
    Told,
    events,
)
from ._steps import Step
from ._verdict import CheckVerdict, Finding, Outcome, Severity, Verdict
from ._verifier import Verifier

__all__ = [
    "Absent",
    "Accept",
    "AgentNetwork",
    "Approve",
    "Attempt",
    "CheckRequest",
    "CheckVerdict",
    "Checked",
    "CodeRequest",
    "Deliver",
    "Discard",
    "Edit",
    "Examined",
    "FailureReason",
    "Finding",
    "Leave",
    "Limits",
    "Listener",
    "Once",
    "Outcome",
    "Person",
    "Proposal",
    "PublicKey",
    "Revise",
    "SendBack",
    "SessionSummary",
    "Sessions",
    "Severity",
    "State",
    "Step",
    "Story",
    "Told",
    "Verdict",
    "Verifier",
    "check_change",
    "events",
    "find_own_key",
    "key_file",
    "own_key",
    "read_public_key",
    "verify_attestation",
]
