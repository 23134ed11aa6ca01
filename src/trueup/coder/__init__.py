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
from ._contracts import usable, widening
from ._session import (
    Absent,
    Accept,
    AgentNetwork,
    Answer,
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
    event_data,
    events,
    person_at,
    told_of,
)
from ._steps import Step
from ._verdict import CheckVerdict, Finding, Outcome, Severity, Verdict
from ._verifier import Verifier

__all__ = [
    "Absent",
    "Accept",
    "AgentNetwork",
    "Answer",
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
    "event_data",
    "events",
    "find_own_key",
    "key_file",
    "own_key",
    "person_at",
    "read_public_key",
    "told_of",
    "usable",
    "verify_attestation",
    "widening",
]
