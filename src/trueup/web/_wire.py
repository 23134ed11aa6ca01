"""Doing what a form asks for, by the methods of the wire: a page can do nothing that a client could not."""

from __future__ import annotations

from typing import Any

from trueup.daemon import Call, Daemon, Level, Method, all_methods


async def ask(daemon: Daemon, method: str, **params: Any) -> Any:
    """What a method answers to the human who sent a form. What it refuses is an error with a sentence for them."""
    connection = daemon.connect(_hear_nothing)
    # Who came through the door has shown the human's token, or a link that only its owner could make.
    connection.level, connection.shook_hands = Level.HUMAN, True
    try:
        called = _find(method)
        return await called.handler(Call(connection, None), called.decode(params))
    finally:
        daemon.leave(connection)


def _find(name: str) -> Method:
    return next(each for each in all_methods() if each.name == name)


async def _hear_nothing(_: bytes) -> None:
    """A form is answered by a page, and told nothing meanwhile."""
