"""What the proxy tells of the calls that went through it."""

from __future__ import annotations

from typing import Any

from msgspec import field

from trueup.core.protocols import Event
from trueup.core.usage import Usage


class ModelTurned(Event, frozen=True):
    """One call of a model, as it was seen on the wire.

    `status` is the vendor's own, and None where no answer came. Each requested tool call has `id`, `name` and
    `arguments`. `error` says what was wrong with the answer, if anything was.
    """

    upstream: str
    model: str | None = None
    assistant_text: str = ""
    requested_tool_calls: list[dict[str, Any]] = field(default_factory=list)
    usage: Usage = Usage()
    duration_secs: float = 0
    status: int | None = None
    error: str = ""
