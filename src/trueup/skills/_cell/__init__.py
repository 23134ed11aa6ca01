"""A cell: one case on one platform and model, from an empty folder to its report.

A `CellSpec` is data with a content key. `run_cell` makes the cell's workspace, lets the skill and the simulated user
talk, has every eval looked at or judged, and records all of it as a run. `regrade_cell` judges the same conversation
again. Which cells there are, when they run and which of them run again is the matrix's business.
"""

from ._fixtures import fixtures_digest
from ._regrade import can_regrade, regrade_cell
from ._run import run_cell
from ._spec import CellSkill, CellSpec

__all__ = [
    "CellSkill",
    "CellSpec",
    "can_regrade",
    "fixtures_digest",
    "regrade_cell",
    "run_cell",
]
