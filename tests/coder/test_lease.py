"""Who works on a session."""

from __future__ import annotations

import asyncio
import signal

from trueup.coder._session._lease import Lease


async def test_whoever_takes_over_from_itself_waits_and_is_not_ended(tmp_path):
    heard = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, heard.set)
    lease = Lease(tmp_path)

    async def hold(began: asyncio.Event) -> None:
        async with lease.held():
            began.set()
            await asyncio.sleep(0.2)

    try:
        began = asyncio.Event()
        holding = asyncio.create_task(hold(began))
        await began.wait()
        async with lease.taken_over():
            assert holding.done()
        assert not heard.is_set()
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
