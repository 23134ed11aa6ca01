"""The newest runs at a glance, for whoever completes a word while somebody types."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from trueup.core.errors import TrueupError
from trueup.core.settings import user_settings
from trueup.core.trust import data_folder

WAIT_SECS = 0.1
_QUERY = """
SELECT run_id, intent FROM runs WHERE :kind IS NULL OR kind = :kind
ORDER BY started_at DESC, run_id DESC LIMIT :most
"""


def newest_runs(most: int, *, kind: str | None = None) -> list[tuple[str, str]]:
    """Ids and intents, newest first; none where that would take a server, a lock or a mend.

    Nothing is made, written or brought up to date by it, and what opens databases for good is not loaded.
    """
    file = _file()
    if file is None or not file.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=WAIT_SECS)) as database:
            return database.execute(_QUERY, {"kind": kind, "most": most}).fetchall()
    except sqlite3.Error:
        return []


def _file() -> Path | None:
    try:
        url = user_settings().database_url
    except TrueupError:
        return None
    if not url:
        return data_folder() / "trueup.db"
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
