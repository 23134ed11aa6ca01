"""Where the database of runs is, as people are told it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from trueup.core.settings import user_settings
from trueup.core.trust import data_folder


def named_database(url: str | None = None) -> str:
    """Where runs are kept, by an address or else by the user's settings, without the password that may be in it."""
    file = database_file(url)
    if file is not None:
        return str(file)
    parts = urlsplit(url or user_settings().database_url or "")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def database_file(url: str | None = None) -> Path | None:
    """The same as a file of this machine; None where it is on a server."""
    url = url or user_settings().database_url
    if not url:
        return data_folder() / "trueup.db"
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
