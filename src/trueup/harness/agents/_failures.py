"""Why a run of an agent failed: by the codes of its records first, then by its words."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.process import Finished

from .._claude_failures import kind_of_text
from .._codex_failures import failure as failure_in_words
from .._described_failures import EXITS, MOST_SEARCHED, STATUSES
from .._json_lines import plain_words

# By the names that vendors and agents have for them, in lower case.
_CODES = {
    Kind.AUTH: "authentication_error authentication_failed authentication invalid_api_key unauthenticated unauthorized"
    " permission_denied permission_error providerautherror forbidden auth",
    Kind.RATE_LIMIT: "rate_limit_error rate_limit_exceeded rate_limit too_many_requests ratelimit rate_limited",
    Kind.QUOTA: "insufficient_quota billing_error quota_exceeded quota payment_required credits_exhausted",
    Kind.OVERLOADED: "overloaded_error overloaded server_error internal unavailable internal_server_error api_error",
    Kind.MODEL_NOT_FOUND: "model_not_found providermodelnotfounderror",
    Kind.CONTEXT_LENGTH: "context_length_exceeded context_length contextoverflowerror context_window_exceeded",
    Kind.INPUT_TOO_LARGE: "request_too_large",
    Kind.REFUSED: "content_filter content_policy_violation refusal safety",
    Kind.NETWORK: "network connection_error connection_failed networkerror",
    Kind.TIMEOUT: "timeout timeout_error deadline_exceeded",
}
_KINDS_OF_CODES = {name: kind for kind, names in _CODES.items() for name in names.split()}
# A number alone is no status: it stands where one is told.
_STATUS = re.compile(
    r"(?:^|status(?: ?code)?\W{0,3}|\"code\\?\":\s*|\bcode:? |api error:? \(?|\bhttp\W{0,3}|error \()(4\d\d|5\d\d)\b",
    re.IGNORECASE,
)
_WORDS = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"invalid session identifier|session .{0,80}(does not exist|no such)", Kind.SESSION_NOT_FOUND),
        (r"no (saved |previous )?(session|conversation)s? .{0,60}found|cannot find session", Kind.SESSION_NOT_FOUND),
        (r"incomplete json|non-sse response|stream decode error|not json", Kind.PROTOCOL),
        (r"without finish_reason|ended before a terminal|empty response|failed to parse", Kind.PROTOCOL),
        (r"resource.?exhausted|rate limit exceeded", Kind.RATE_LIMIT),
        (r"could not connect|cannot connect|connection error|fetch failed|network error", Kind.NETWORK),
    )
)


class Failure(Struct, frozen=True):
    """What ended a run, in the agent's words, and what kind of thing that is."""

    message: str
    kind: Kind


def failure(message: str, *, status: int | None = None, code: str | None = None) -> Failure:
    """What a message means, with the status or the code that came with it where one did."""
    said = message.strip()
    # A code is about what happened, and a status about how it was answered.
    typed = _KINDS_OF_CODES.get((code or "").lower()) or kind_of_status(status)
    worded = _kind_of_words(said)
    if typed is Kind.RATE_LIMIT and worded is Kind.QUOTA:
        # A used up plan comes as 429 too, and waiting does not help.
        return Failure(said, Kind.QUOTA)
    return Failure(said, typed or worded or Kind.OTHER)


def kind_of_status(status: int | None) -> Kind | None:
    """What a status of HTTP says; None where it says nothing."""
    if status is None:
        return None
    return STATUSES.get(status) or (Kind.OVERLOADED if 500 <= status < 600 else None)


def silent_end(finished: Finished) -> Failure:
    """Why a run ended without a record of success: what it said beside its records, else how it ended."""
    said = finished.stderr.tail(MOST_SEARCHED).strip() or plain_words(finished.stdout, MOST_SEARCHED)
    worded = _kind_of_words(said)
    # The driver tells how it ended, and what was said last, better than a kind without words could.
    return Failure("", worded or EXITS.get(finished.exit_code or 0) or Kind.PROTOCOL)


def _kind_of_words(said: str) -> Kind | None:
    searched = said[:MOST_SEARCHED]
    status = _STATUS.search(searched)
    told = next((kind for pattern, kind in _WORDS if pattern.search(searched)), None)
    known = told or kind_of_text(searched) or _known(failure_in_words(searched).kind)
    by_status = kind_of_status(int(status[1])) if status else None
    if by_status is None or (by_status is Kind.RATE_LIMIT and known is Kind.QUOTA):
        return known
    return by_status


def _known(kind: Kind) -> Kind | None:
    return None if kind is Kind.OTHER else kind


def code_in(body: str) -> str | None:
    """The code of an answer of a vendor's that an agent hands on whole, as JSON; None where it has none."""
    try:
        error = msgspec.json.decode(body.encode(errors="replace"))["error"]
        told = [error.get(name) for name in ("code", "status", "type")]
    except (msgspec.MsgspecError, RecursionError, KeyError, TypeError, IndexError, AttributeError):
        return None
    return next((each for each in told if isinstance(each, str)), None)
