"""Where a session of an agent began that keeps its sessions in a database."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

LOCKED_SECS = 2.0


def folder_in_database(environ: Mapping[str, str], name: str, query: str, session: str) -> str | None:
    """What a query for one folder finds in a database below the folder for programs' data.

    None where the database, or the session, is not there, or not as it was.
    """
    shared = environ.get("XDG_DATA_HOME") or Path(environ.get("HOME", "/"), ".local/share")
    file = Path(shared, name)
    if not file.is_file():
        return None
    import sqlite3

    try:
        # Read only: an agent of the user's may be at work in it.
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=LOCKED_SECS)) as database:
            found = database.execute(query, (session,)).fetchone()
    except sqlite3.Error:
        return None
    return found[0] if found and isinstance(found[0], str) and found[0] else None
