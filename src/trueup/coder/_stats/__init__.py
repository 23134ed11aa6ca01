"""Recorded sessions as evidence: how often which engine got there, at what price, and how sure that is.

A session's `Story` becomes a `Trial` (`trial_of`), and trials are counted (`tally`): pure functions, but for
`recorded_trials`, which reads the stories.
"""

from ._tally import By, Tally, compare, tally
from ._trial import Trial, recorded_trials, trial_of

__all__ = ["By", "Tally", "Trial", "compare", "recorded_trials", "tally", "trial_of"]
