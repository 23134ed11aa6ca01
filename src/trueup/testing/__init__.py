"""Parts for tests, yours and ours: programs and objects that behave as the real ones do, by a script.

Nothing here patches anything. A `ScriptedReplies` is a model, an `EventLog` is a recorder; hand them over where one
is wanted.
"""

from ._events import EventLog
from ._replies import ScriptedReplies

__all__ = ["EventLog", "ScriptedReplies"]
