"""Many cells: planned, run at once within bounds that adapt, paid from one budget, and never run twice.

`run_matrix` makes the cells of a request and hands them to an `Executor`, which knows cells as plain data and runs any
function of one. What happens inside of a cell is `_cell`'s business, what all of them say together `_report`'s.
"""

from ._bounds import Patience
from ._budget import Limits
from ._cache import CellCache, clean_cells, list_cells
from ._executor import Attempt, Executor, LocalExecutor
from ._plan import Plan, matching
from ._regrade import regrade
from ._resume import StoredBaseline, cells_of
from ._run import Matrix, MatrixRequest, Watcher, run_matrix

__all__ = [
    "Attempt",
    "CellCache",
    "Executor",
    "Limits",
    "LocalExecutor",
    "Matrix",
    "MatrixRequest",
    "Patience",
    "Plan",
    "StoredBaseline",
    "Watcher",
    "cells_of",
    "clean_cells",
    "list_cells",
    "matching",
    "regrade",
    "run_matrix",
]
