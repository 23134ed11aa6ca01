"""Coder sessions, driven from the daemon.

Each is worked on by a process of its own (`_worker.py`), exactly as `trueup code` would: it takes the session as far
as it goes without a person, and ends. What a person says starts the next one. So a session that was started here can be
gone on with, watched and cancelled from a terminal, and the other way round; and one that runs away takes nothing
with it.
"""

from ._host import Coding
from ._request import CoderStart, code_request
from ._view import SessionRow, SessionView, session_row, session_view

__all__ = ["CoderStart", "Coding", "SessionRow", "SessionView", "code_request", "session_row", "session_view"]
