"""How what happens is told, in a vocabulary that belongs to somebody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from trueup.core.protocols import Event
from trueup.core.usage import Usage


class Voice(Struct, frozen=True, kw_only=True):
    """A maker of events for each thing that happens.

    Their parameters, in order: `message` the text; `tool_call` name, id, kind (`shell`, `read`, `write`, `search`,
    `other`) and input; `tool_result` id, whether it went well, what the model is told, and seconds; `permission` id,
    tool, whether it may, and why not; `usage` what one call of the model used; `retried` the how manieth further try of
    a call comes, and why.
    """

    message: Callable[[str], Event]
    tool_call: Callable[[str, str, str, dict[str, Any]], Event]
    tool_result: Callable[[str, bool, str, float], Event]
    permission: Callable[[str, str, bool, str], Event]
    usage: Callable[[Usage], Event]
    retried: Callable[[int, str], Event]
