"""The session behind `trueup code`: from an intent to a change that was verified, approved and delivered.

A session is its events, kept in the store; told again in order they are its `Story`, so that another process can go
on where one died. Each state has a step (`ContractStep`, `WorkStep`, `VerdictStep`, `ApprovalStep`) that ends in the
next one. What only a person may decide is asked of a `Person`, whoever stands behind it.
"""

from . import events
from ._chronicle import Listener, Told, event_data
from ._person import (
    Absent,
    Accept,
    Answer,
    Approve,
    Discard,
    Edit,
    Leave,
    Once,
    Person,
    Proposal,
    Revise,
    SendBack,
    person_at,
)
from ._request import AgentNetwork, CodeRequest, Deliver, Limits, Pick
from ._sessions import Sessions, SessionSummary, Unreadable, told_again, told_of
from ._states import FailureReason, State
from ._story import Attempt, Story

__all__ = [
    "Absent",
    "Accept",
    "AgentNetwork",
    "Answer",
    "Approve",
    "Attempt",
    "CodeRequest",
    "Deliver",
    "Discard",
    "Edit",
    "FailureReason",
    "Leave",
    "Limits",
    "Listener",
    "Once",
    "Person",
    "Pick",
    "Proposal",
    "Revise",
    "SendBack",
    "SessionSummary",
    "Sessions",
    "State",
    "Story",
    "Told",
    "Unreadable",
    "event_data",
    "events",
    "person_at",
    "told_again",
    "told_of",
]
