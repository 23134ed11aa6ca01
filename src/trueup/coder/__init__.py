"""Verified work: whether a change is what was asked for, decided by execution.

Here so far: the verdict on a tree. A `Verifier` evaluates a contract on the untouched base, which tells what each
check is worth, and then on the change, in a pristine checkout where nothing of its author's reach. How checkouts are
made is the workspace's business; what a check asks for is the contract's.
"""

from ._check import CheckRequest, check_change
from ._steps import Step
from ._verdict import CheckVerdict, Finding, Outcome, Severity, Verdict
from ._verifier import Verifier

__all__ = [
    "CheckRequest",
    "CheckVerdict",
    "Finding",
    "Outcome",
    "Severity",
    "Step",
    "Verdict",
    "Verifier",
    "check_change",
]
