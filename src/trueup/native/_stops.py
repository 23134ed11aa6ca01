"""What ends the loop before the model says that it is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind, TrueupError
from trueup.core.usage import Usage
from trueup.model import Answer, ToolOutput, ToolUse

REPEATS = 3
CUTS = 3


class StoppedError(TrueupError):
    """The model is not asked again. The message says why."""


class LimitReachedError(StoppedError):
    """As much was used as may be used, or nobody can tell."""

    kind = Kind.QUOTA


class NoProgressError(StoppedError):
    """The model goes round in circles."""


class CutShortError(StoppedError):
    """The model's answers do not fit into what one answer may be."""


class Limits(Struct, frozen=True, kw_only=True):
    """How much may be used before the model is not asked again; None is no limit. Time is the caller's: cancel it."""

    turns: int | None = 100
    tokens: int | None = None
    usd: float | None = None

    def check(self, calls: Sequence[Usage]) -> None:
        """Raise where no further call may be made. What nobody reported fails closed."""
        if self.turns is not None and len(calls) >= self.turns:
            raise LimitReachedError(f"the model was not done after {len(calls)} turns, which is the limit; raise it")
        self._hold("tokens", self.tokens, calls, tokens_of)
        self._hold("dollars", self.usd, calls, dollars_of)

    def _hold(
        self, unit: str, limit: float | None, calls: Sequence[Usage], amount: Callable[[Usage], float | None]
    ) -> None:
        if limit is None:
            return
        amounts = [amount(call) for call in calls]
        known = [each for each in amounts if each is not None]
        if len(known) < len(amounts):
            raise LimitReachedError(
                f"how many {unit} the model used is not known, so that a limit of {limit:g} cannot be kept; "
                f"set none, or ask a model that reports it"
            )
        if sum(known) >= limit:
            raise LimitReachedError(
                f"the model used {sum(known):g} {unit} of the {limit:g} it may use, and was not done; raise the limit"
            )


def tokens_of(usage: Usage) -> int | None:
    """Those sent and those generated, as the vendor counts them."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens


def dollars_of(usage: Usage) -> float | None:
    """What the vendor says, else an estimate."""
    return usage.cost_usd if usage.cost_usd is not None else usage.estimated_cost_usd


class Progress:
    """Notices when nothing new happens: a turn with the same calls and the same results, and none that was new since."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._again: Counter[bytes] = Counter()
        self._cuts = 0
        self._going_round = ""

    def note(self, calls: Sequence[ToolUse], results: Sequence[ToolOutput]) -> bool:
        """Take a turn; whether there was the same one before, and nothing new since."""
        told = [(call.name, call.input, call.error, result.text) for call, result in zip(calls, results, strict=True)]
        key = blake2b(msgspec.json.encode(told, order="sorted"), digest_size=16).digest()
        if key not in self._seen:
            self._seen.add(key)
            self._again.clear()
        self._again[key] += 1
        if self._again[key] >= REPEATS:
            self._going_round = ", ".join(call.name for call in calls)
        return self._again[key] > 1

    def check(self) -> None:
        """Raise where a turn was the same too often."""
        if self._going_round:
            raise NoProgressError(
                f"the model made the same calls ({self._going_round}) with the same results {REPEATS} times, and did "
                "nothing new in between; say more clearly what is wanted, or ask another model"
            )

    def note_answer(self, answer: Answer) -> bool:
        """Whether an answer was cut before its end; raises once it was so several times in a row."""
        if answer.stop_reason == "model_context_window_exceeded":
            raise CutShortError("the conversation has filled the model's window", kind=Kind.CONTEXT_LENGTH)
        self._cuts = self._cuts + 1 if answer.stop_reason == "max_tokens" else 0
        if self._cuts >= CUTS:
            raise CutShortError(
                f"{CUTS} answers in a row were cut at the most tokens that one may have; allow more, or ask for less"
            )
        return self._cuts > 0
