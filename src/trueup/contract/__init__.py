"""Outcome contracts: what "done" means for a change, as commands.

A contract is data. It can be read and written, validated, rendered, derived from an intent (by a model, or offline
from what the repository says about itself), and evaluated through any `Shell`. Where commands run, and what they may
touch, is the workspace's business; whether a green result can be trusted is the coder's.
"""

from ._counts import TestCounts, count_tests
from ._derive import Derivation, derive
from ._evaluate import CheckCompleted, CheckStarted, evaluate
from ._files import dump_contract, load_contract, parse_contract
from ._model import Check, CheckResult, Contract, Service
from ._offline import OfflineDerivation, Suggestion, derive_offline
from ._summary import summarize

__all__ = [
    "Check",
    "CheckCompleted",
    "CheckResult",
    "CheckStarted",
    "Contract",
    "Derivation",
    "OfflineDerivation",
    "Service",
    "Suggestion",
    "TestCounts",
    "count_tests",
    "derive",
    "derive_offline",
    "dump_contract",
    "evaluate",
    "load_contract",
    "parse_contract",
    "summarize",
]
