"""Runs that the user does not want to keep for ever, removed while the daemon goes on."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from trueup.core.errors import TrueupError
from trueup.runs import RunStore

LOOK_SECS = 3600.0

_log = logging.getLogger(__name__)


async def remove_old_runs(store: RunStore, days: int, *, look_secs: float = LOOK_SECS) -> None:
    """Remove runs that ended longer ago, now and from time to time; never one that is open."""
    while True:
        before = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        try:
            await store.prune(before=before)
        except TrueupError as error:
            # Tried again the next time: what is kept for longer does no harm.
            _log.warning("old runs were not removed: %s", error)
        await asyncio.sleep(look_secs)
