"""Cells as evidence: how often a skill got there, how sure that is, and whether one version is better than another.

Pure functions of `Trial`s. The case is the unit: repeats of one case are not independent of each other, so they make
its own rate surer and never stand in for more cases. What was not judged, because a provider failed, is no trial.
"""

from ._agreement import Agreement, BooleanAgreement, NumericAgreement, Rated, agreement_of
from ._comparison import Comparison, Conclusion, adjusted, compare, paired_rates
from ._rates import CaseRate, GroupRate, Trial, case_rates, group_rate, pass_all, pass_at

__all__ = [
    "Agreement",
    "BooleanAgreement",
    "CaseRate",
    "Comparison",
    "Conclusion",
    "GroupRate",
    "NumericAgreement",
    "Rated",
    "Trial",
    "adjusted",
    "agreement_of",
    "case_rates",
    "compare",
    "group_rate",
    "paired_rates",
    "pass_all",
    "pass_at",
]
