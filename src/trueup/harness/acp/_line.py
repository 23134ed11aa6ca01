"""The wire to an ACP agent: messages of JSON-RPC, one on a line, over the pipes of our own runner.

This is the `Transport` that the SDK is given. What an agent prints beside messages is no message, and a message that
would break the SDK is mended or dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from trueup.core.process import Process

from .._json_lines import decoded_line

INTERNAL_ERROR = -32603

_MESSAGE = msgspec.json.Decoder(dict[str, Any])


class Line:
    """A `Transport` of the SDK. `has_room` is waited for before each message, so that a flood slows the agent down."""

    def __init__(self, process: Process, has_room: Callable[[], Awaitable[None]]) -> None:
        self._process = process
        self._has_room = has_room
        self._lines = process.lines()
        self.heard_at = time.monotonic()

    async def first(self) -> str | None:
        """The first line as it is, before any message."""
        return await anext(self._lines, None)

    async def send(self, message: dict[str, Any]) -> None:
        await self._process.write(msgspec.json.encode(message) + b"\n")
        # From here on it is for the agent to speak.
        self.heard_at = time.monotonic()

    async def receive(self) -> dict[str, Any] | None:
        async for line in self._lines:
            self.heard_at = time.monotonic()
            await self._has_room()
            # Lines that wait already come without a pause: whoever takes the message before has to have his turn.
            await asyncio.sleep(0)
            message = _message(line)
            if message is not None:
                return message
        return None

    async def close(self) -> None:
        """Nothing: the process is its owner's."""

    async def silence(self, secs: float | None, is_busy: Callable[[], bool]) -> None:
        """Return when no line came for so long, and it was not for us to speak."""
        if secs is None:
            await asyncio.get_running_loop().create_future()
            return
        while (left := self.heard_at + secs - time.monotonic()) > 0:
            await asyncio.sleep(left)
            if is_busy():
                self.heard_at = time.monotonic()


def _message(line: str) -> dict[str, Any] | None:
    told = decoded_line(line, _MESSAGE) if line.lstrip().startswith("{") else None
    if told is None or isinstance(told.get("id"), list | dict | float | bool):
        return None
    if "method" in told:
        return told
    return {**told, "error": _error(told["error"])} if told.get("error") is not None else _result(told)


def _result(told: dict[str, Any]) -> dict[str, Any] | None:
    # Some say `"error": null` beside a result.
    return {"id": told["id"], "result": told.get("result")} if told.get("id") is not None else None


def _error(error: Any) -> dict[str, Any]:
    known = error if isinstance(error, dict) else {"message": str(error)}
    code, message = known.get("code"), known.get("message")
    return {
        "code": code if isinstance(code, int) else INTERNAL_ERROR,
        "message": message if isinstance(message, str) else "",
        "data": known.get("data"),
    }
