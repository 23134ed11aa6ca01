"""Outcome contracts: what "done" means for a change, as commands.

A contract is data. It can be read and written, validated, rendered, derived from an intent (by a model, or offline
from what the repository says about itself), and evaluated through any `Shell`. Where commands run, and what they may
touch, is the workspace's business; whether a green result can be trusted is the coder's.
"""

from ._baseline import Baseline, CheckClass, ClassedCheck, estimate, run_baseline
from ._canary import Canary, canary_for
from ._counts import TestCounts, count_tests
from ._counts_compare import compare_counts
from ._derive import Derivation, derive
from ._evaluate import CheckCompleted, CheckStarted, evaluate
from ._files import dump_contract, load_contract, parse_contract
from ._manifest_keys import merge_protected
from ._model import Check, CheckResult, Contract, Service
from ._mutation import files_to_mutate, mutate
from ._offline import OfflineDerivation, Suggestion, derive_offline
from ._other_expectations import Mutant
from ._protection import Protection, is_setup_input
from ._summary import summarize

__all__ = [
    "Baseline",
    "Canary",
    "Check",
    "CheckClass",
    "CheckCompleted",
    "CheckResult",
    "CheckStarted",
    "ClassedCheck",
    "Contract",
    "Derivation",
    "Mutant",
    "OfflineDerivation",
    "Protection",
    "Service",
    "Suggestion",
    "TestCounts",
    "canary_for",
    "compare_counts",
    "count_tests",
    "derive",
    "derive_offline",
    "dump_contract",
    "estimate",
    "evaluate",
    "files_to_mutate",
    "is_setup_input",
    "load_contract",
    "merge_protected",
    "mutate",
    "parse_contract",
    "run_baseline",
    "summarize",
]
