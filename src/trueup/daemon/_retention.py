"""Runs that the user does not want to keep for ever, removed while the daemon goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from trueup.core.errors import TrueupError
from trueup.runs import RunStore

LOOK_SECS = 3600.0


async def remove_old_runs(
    store: RunStore, days: int, warned: Callable[[str], None], *, look_secs: float = LOOK_SECS
) -> None:
    """Remove runs that ended longer ago, now and from time to time; never one that is open."""
    while True:
        before = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        try:
            await store.prune(before=before)
        except TrueupError as error:
            # Tried again the next time: what is kept for longer does no harm.
            warned(f"old runs were not removed: {error}")
        await asyncio.sleep(look_secs)
