"""The one process runner: every child of trueup is started here, and none outlives it.

`run(Command(...))` gives a `Finished`; `async with Process(Command(...))` streams lines and takes input meanwhile.

A child is not started by trueup itself but by a *reaper*: a small, reused process (`_reaper.py`) that is a child
subreaper, so that whatever the command leaves behind, daemons with a session of their own included, becomes the
reaper's child and is killed before the result is reported. The reaper's life hangs on a socket: when trueup ends, by
`kill -9` too, the socket closes and the tree goes with it. Reapers are forked by a *keeper* that stays small, so a
large trueup never forks itself.

Where a command may run, and what it may touch, is the workspace's business.
"""

from ._command import Command, Finished, Output
from ._process import Process, run

__all__ = ["Command", "Finished", "Output", "Process", "run"]
