"""The native agent: a small loop between a model and five tools, without an agent program in between.

`work` gives a `Job` to a model and lets it use a shell and files until it is done, or until it must stop. The model is
asked from here; everything that it does happens through a `Launcher`, in the place and within the walls that this one
has. What the work is worth is not known here.
"""

from ._conversation import FOLD_ABOVE_CHARS, OUTPUT_CHARS
from ._loop import Job, Outcome, work
from ._stops import CutShortError, LimitReachedError, Limits, NoProgressError, StoppedError
from ._tools import EDITING, LOOKING, TOOLS
from ._voice import Voice

__all__ = [
    "EDITING",
    "FOLD_ABOVE_CHARS",
    "LOOKING",
    "OUTPUT_CHARS",
    "TOOLS",
    "CutShortError",
    "Job",
    "LimitReachedError",
    "Limits",
    "NoProgressError",
    "Outcome",
    "StoppedError",
    "Voice",
    "work",
]
