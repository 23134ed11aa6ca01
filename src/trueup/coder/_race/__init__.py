"""Races: several engines work on one contract side by side, and one of their changes goes on to a person.

A race is a run of its own, `R`; its sessions are `R-1`, `R-2`, …, one for each of its `Runner`s, and each is a session
like any other, with its own workspace, record and lease. Their contract is agreed to once, and they share one budget.
Which of the verified changes wins is a function of the sessions (`decide`).
"""

from ._model import Race, Raced, Runner, parse_runners
from ._pick import Decision, decide, entry_of
from ._races import Races

__all__ = ["Decision", "Race", "Raced", "Races", "Runner", "decide", "entry_of", "parse_runners"]
