"""One call of a model on its way through the proxy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trueup.core.protocols import Event
from trueup.core.usage import Usage

from .._events import UsageReported
from ._events import ModelTurned
from ._redact import Redactor
from ._tap import Tap
from ._wires import Heard, Reading

# What a call of a model costs, in dollars, by what it used; None where nobody knows.
Price = Callable[[str, Usage], float | None]
KEPT_OF_AN_ERROR = 2000
KEPT_OF_A_QUESTION = 8 << 20
# Of text, by a rule of thumb. Pictures are worth less, so that no question is taken for more than a model reads.
BYTES_OF_A_TOKEN = 4
MOST_ESTIMATED = 200_000


class _Asked(Struct):
    model: str | None = None


class Turn:
    """Gathers what is to be told of a call. Without a reading, the call uses nothing and nothing is told of it."""

    def __init__(self, upstream: str, reading: Reading | None, redactor: Redactor, price: Price | None) -> None:
        self._upstream = upstream
        self._reading = reading
        self._redactor = redactor
        self._price = price
        self._started = time.monotonic()
        self._tap: Tap | None = None
        self._status: int | None = None
        self._asked: list[bytes] = []
        self._asked_bytes = 0
        self._beginning = b""
        self._error = ""
        self._cut = ""
        self._sent = False

    def ask(self, chunk: bytes) -> None:
        """A piece of the request went out."""
        self._asked_bytes += len(chunk)
        if self._asked_bytes <= KEPT_OF_A_QUESTION:
            self._asked.append(chunk)

    def sent(self) -> None:
        """The whole request is with the vendor, which may work on it from here on."""
        self._sent = True

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer came."""
        self._status = status
        self._sent = True
        if self._reading is not None:
            kind, packed = headers.get("Content-Type", ""), headers.get("Content-Encoding", "")
            self._tap = Tap(self._reading, kind, packed)

    def hear(self, chunk: bytes) -> None:
        """A piece of the answer came."""
        if self._tap is not None:
            self._tap.feed(chunk)
            if not self._was_good and len(self._beginning) < KEPT_OF_AN_ERROR:
                self._beginning += chunk[:KEPT_OF_AN_ERROR]

    def fail(self, error: str) -> None:
        """The answer did not come, or not whole."""
        self._error = error

    def cut(self, reason: str) -> None:
        """Nobody is there any more to whom the rest could be given."""
        self._cut = reason

    def never_arrived(self) -> None:
        """Nothing of the request reached the vendor."""
        self._sent = False

    def told(self) -> list[Event]:
        """What there is to tell once it is over."""
        if self._reading is None:
            return []
        heard = self._tap.heard() if self._tap is not None else Heard()
        model = heard.model or self._asked_model()
        usage = self._usage(heard, model)
        turn = ModelTurned(
            upstream=self._upstream,
            model=model,
            assistant_text=self._redactor.text(heard.text),
            requested_tool_calls=self._redactor.value(heard.tool_calls),
            usage=usage,
            duration_secs=time.monotonic() - self._started,
            status=self._status,
            error=self._redactor.text(self._error or heard.error or self._complaint(heard)),
        )
        return [turn, UsageReported(usage)] if self._may_have_cost else [turn]

    @property
    def came_to_its_end(self) -> bool:
        """Whether a streamed answer has said its last word."""
        return self._reading is not None and self._reading.heard().finished

    @property
    def _was_good(self) -> bool:
        return self._status is not None and self._status < 300

    @property
    def _may_have_cost(self) -> bool:
        # A vendor that says no uses nothing. One that was cut off before it said anything may have worked.
        return self._sent and (self._status is None or self._was_good)

    def _usage(self, heard: Heard, model: str | None) -> Usage:
        usage = supposed = heard.usage
        if self._may_have_cost and (not heard.finished or usage.input_tokens is None or usage.output_tokens is None):
            supposed = self._supposed(heard)
            estimated = _tokens(supposed) - _tokens(usage)
            usage = replace(usage, incomplete=True, estimated_tokens=estimated)
        if self._price is None or model is None or usage.cost_usd is not None:
            return usage
        return replace(usage, estimated_cost_usd=self._price(model, supposed))

    def _supposed(self, heard: Heard) -> Usage:
        """What was asked and heard, by its size where the vendor did not say it, or not in the end.

        Vendors say it last: whoever hangs up just before would else pay for nothing.
        """
        usage = heard.usage
        asked, said = usage.input_tokens, usage.output_tokens
        if asked is None:
            asked = min(self._asked_bytes // BYTES_OF_A_TOKEN, MOST_ESTIMATED)
        if said is None or not heard.finished:
            said = max(said or 0, heard.pieces, heard.chars // BYTES_OF_A_TOKEN)
        return replace(usage, input_tokens=asked, output_tokens=said)

    def _complaint(self, heard: Heard) -> str:
        if self._cut and not heard.finished:
            return self._cut
        if not self._was_good:
            return self._beginning[:KEPT_OF_AN_ERROR].decode(errors="replace")
        return "" if heard.finished else "the answer did not come to its end, or could not be read"

    def _asked_model(self) -> str | None:
        try:
            return msgspec.json.decode(b"".join(self._asked), type=_Asked).model
        except (msgspec.MsgspecError, RecursionError):
            return None


def _tokens(usage: Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)
