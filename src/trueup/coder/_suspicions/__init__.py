"""What a change looks like, read from its diff alone: nothing is executed, and nothing that is said here is a verdict.

An honest change must come out of here with remarks at most, since a flag makes a person wait and a gate refuses.
A gate is for what no honest change does; a flag for what somebody has to look at; the rest is information. Only what
the change brings in counts: what the base already has is nobody's suspicion.

Each module knows one family of tricks. It is given a `Reading` of one file and yields `Suspicion`s; those that the
base's version of the file earns as well are dropped, and what is left becomes one finding per kind and file.
"""

from ._model import ChangedFile, Context
from ._suspect import suspicions

__all__ = ["ChangedFile", "Context", "suspicions"]
