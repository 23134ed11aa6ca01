"""What can go wrong with a model, told apart by what vendors say in their own fields, then by their words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.errors import GenerationError, Kind
from trueup.core.usage import Usage

QUOTED_CHARACTERS = 500


class ModelError(GenerationError):
    """A model could not be asked, or its answer could not be used; `usage` is what that answer cost all the same."""

    def __init__(
        self,
        message: str,
        *,
        kind: Kind | None = None,
        status: int | None = None,
        retry_after_secs: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, kind=kind, usage=usage)
        self.status = status
        self.retry_after_secs = retry_after_secs


class Complaint(Struct, frozen=True):
    """What a server said went wrong: its own codes, the most telling first, its words, and a status said in the body."""

    message: str
    codes: tuple[str, ...] = ()
    status: int | None = None


_KINDS: dict[Kind, str] = {
    Kind.AUTH: "authentication_error invalid_api_key permission_error permission_denied invalid_organization "
    "account_deactivated insufficient_permissions unsupported_country_region_territory organization_on_hold "
    "claude_code_key_creator_not_member",
    Kind.RATE_LIMIT: "rate_limit_error rate_limit_exceeded ramp_limit_exceeded requests tokens",
    Kind.QUOTA: "insufficient_quota billing_error billing_hard_limit_reached billing_not_active quota_exceeded "
    "enforced_spend_limit_reached usage_limit_reached",
    Kind.MODEL_NOT_FOUND: "not_found_error model_not_found deploymentnotfound",
    Kind.OVERLOADED: "overloaded_error overloaded engine_overloaded server_is_overloaded slow_down "
    "service_unavailable cmek_context_unavailable",
    Kind.CONTEXT_LENGTH: "context_length_exceeded exceed_context_size_error",
    Kind.INPUT_TOO_LARGE: "request_too_large request_body_too_large_after_decoding string_above_max_length",
    Kind.TIMEOUT: "timeout_error request_timeout",
    Kind.REFUSED: "content_filter content_policy_violation invalid_prompt",
}
_KIND_OF_CODE = {code: kind for kind, codes in _KINDS.items() for code in codes.split()}

# Said of everything that breaks inside a server; some servers say it of the caller's mistakes too.
_SERVER_FAULTS = frozenset({"api_error", "server_error", "internal_server_error"})

# Codes that do not tell more than the status does, so that the words have to.
_GENERIC = frozenset({"invalid_request_error", "error", "bad_request", "badrequesterror", "invalid_request"})

_WORDS = (
    (
        re.compile(r"prompt is too long|maximum context length|context (window|length|size)", re.IGNORECASE),
        Kind.CONTEXT_LENGTH,
    ),
    (re.compile(r"credit balance is too low|exceeded your current quota|api usage limits", re.IGNORECASE), Kind.QUOTA),
    (re.compile(r"invalid x-api-key|incorrect api key|invalid api key", re.IGNORECASE), Kind.AUTH),
    (re.compile(r"model\b.*\b(not found|does not exist|not exist)", re.IGNORECASE), Kind.MODEL_NOT_FOUND),
)

_KIND_OF_STATUS = {
    401: Kind.AUTH,
    402: Kind.QUOTA,
    403: Kind.AUTH,
    404: Kind.PROTOCOL,
    405: Kind.PROTOCOL,
    408: Kind.TIMEOUT,
    413: Kind.INPUT_TOO_LARGE,
    429: Kind.RATE_LIMIT,
    503: Kind.OVERLOADED,
    504: Kind.TIMEOUT,
    529: Kind.OVERLOADED,
}


def classify(status: int | None, complaint: Complaint) -> Kind:
    """The kind of a failure: codes first, then words, then the status; what nobody knows is `other`."""
    status = complaint.status if status in {None, 200} else status
    for code in complaint.codes:
        if kind := _KIND_OF_CODE.get(code):
            return kind
    if _SERVER_FAULTS & set(complaint.codes) and (status is None or status >= 500):
        return Kind.OVERLOADED
    for pattern, kind in _WORDS:
        if pattern.search(complaint.message):
            return kind
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status]
    says_nothing_special = _GENERIC.issuperset(complaint.codes)
    return Kind.OVERLOADED if status is not None and status >= 500 and says_nothing_special else Kind.OTHER


def read_complaint(body: bytes) -> Complaint | None:
    """What an error body says, in any of the shapes that vendors and their imitators use; None where it says none."""
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return None
    error = data.get("error", data)
    if isinstance(error, str):
        return Complaint(error)
    if not isinstance(error, dict):
        return None
    message = error.get("message") or error.get("detail") or error.get("error")
    if message is None:
        return None
    details = error.get("details")
    told = details.get("error_code") if isinstance(details, dict) else None
    code = error.get("code")
    codes = tuple(code.lower() for code in (told, code, error.get("type")) if isinstance(code, str))
    return Complaint(str(message), codes, code if isinstance(code, int) else None)


def quote(text: str) -> str:
    """The beginning of what a server sent, on one line."""
    return " ".join(text[:QUOTED_CHARACTERS].split()) or "nothing"


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How many seconds a server asks to wait: milliseconds, seconds or a date; None where it does not say."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.astimezone(UTC) - (now or datetime.now(UTC))).total_seconds())


def advice(kind: Kind, context: Mapping[str, Any]) -> str:
    """What to do about a failure of a kind."""
    texts = {
        Kind.AUTH: "check that {variable} is current and may use this model",
        Kind.RATE_LIMIT: "wait, or ask less at once",
        Kind.QUOTA: "add credit or raise the limit in the account of {variable}",
        Kind.MODEL_NOT_FOUND: "check the name of the model, and that the account of {variable} may use it",
        Kind.OVERLOADED: "try again later",
        Kind.CONTEXT_LENGTH: "shorten the conversation, or choose a model with a larger window",
        Kind.INPUT_TOO_LARGE: "send less at once",
        Kind.NETWORK: "check the network, and that the server is where it should be",
        Kind.TIMEOUT: "try again, or allow more than {timeout:g} s",
        Kind.REFUSED: "say it otherwise, or ask another model",
        Kind.PROTOCOL: "check that this is the API that it should be",
    }
    return texts.get(kind, "the request may have to be changed").format(**context)
