"""Why a run of codex failed: its own codes first, then what it says in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.core.errors import Kind

# Of `codexErrorInfo`, where it is a word. `other` and `badRequest` say nothing: there the text does.
_CODES: Mapping[str, Kind] = {
    "contextWindowExceeded": Kind.CONTEXT_LENGTH,
    "sessionBudgetExceeded": Kind.QUOTA,
    "usageLimitExceeded": Kind.QUOTA,
    "rateLimitExceeded": Kind.RATE_LIMIT,
    "flexUnavailable": Kind.OVERLOADED,
    "serverOverloaded": Kind.OVERLOADED,
    "internalServerError": Kind.OVERLOADED,
    "unauthorized": Kind.AUTH,
    "cyberPolicy": Kind.REFUSED,
    "misalignmentPolicyViolation": Kind.REFUSED,
    "tooManyDenials": Kind.REFUSED,
    "sandboxError": Kind.INFRASTRUCTURE,
}
_STATUSES: Mapping[int, Kind] = {
    401: Kind.AUTH,
    402: Kind.QUOTA,
    403: Kind.AUTH,
    408: Kind.TIMEOUT,
    413: Kind.INPUT_TOO_LARGE,
    429: Kind.RATE_LIMIT,
}
# The first that fits counts: a spent quota comes as 429 too, and an unknown model as 404.
_TEXTS: tuple[tuple[Kind, str], ...] = (
    (Kind.SESSION_NOT_FOUND, r"no rollout found|(session|thread|conversation) .{0,80}not found|no saved session"),
    (Kind.SESSION_NOT_FOUND, r"invalid (session|thread) id"),
    (Kind.UNTRUSTED_DIRECTORY, r"not inside a trusted directory|skip-git-repo-check"),
    (Kind.INPUT_TOO_LARGE, r"status:? 413|exceeds the maximum length|payload too large|request body too large"),
    (Kind.CONTEXT_LENGTH, r"context.?window|context_length|maximum context|ran out of room"),
    (Kind.QUOTA, r"insufficient.?quota|quota|usage.?limit|billing|out of credits|spend(ing)? limit|status:? 402"),
    (Kind.MODEL_NOT_FOUND, r"model_not_found|model\b.{0,80}(not found|does not exist|not supported|not available)"),
    (Kind.MODEL_NOT_FOUND, r"requires a newer version of codex"),
    (Kind.REFUSED, r"invalid_prompt|cyber_policy|content policy|flagged|safety (check|policy|reasons)"),
    (Kind.AUTH, r"status:? 40[13]|unauthorized|forbidden|not logged in|log ?in again|codex login|sign in|api key"),
    (Kind.AUTH, r"missing environment variable|(refresh|access) token|authentication"),
    (Kind.RATE_LIMIT, r"status:? 429|rate.?limit|too many requests"),
    (Kind.OVERLOADED, r"status:? 5\d\d|high demand|overloaded|at capacity|server_error|internal server error"),
    (Kind.NETWORK, r"waiting for network|connection (failed|refused|reset|closed)|error sending request"),
    (Kind.NETWORK, r"stream (disconnected|closed)|network|dns|resolve host"),
    (Kind.TIMEOUT, r"timed? ?out|timeout"),
    (Kind.PROTOCOL, r"unexpected argument|invalid value|error loading config|unknown variant|unrecognized subcommand"),
)
_TERMINAL_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Failure(msgspec.Struct, frozen=True):
    """What ended a run, in codex's words, and what kind of thing that is."""

    message: str
    kind: Kind


def failure(message: str, info: Any = None) -> Failure:
    """What a message of codex means, with the code that came with it where one did."""
    said = _unwrapped(_TERMINAL_COLOURS.sub("", message).strip())
    return Failure(said, _by_code(info, said) or _by_text(said) or Kind.OTHER)


def _by_code(info: Any, said: str) -> Kind | None:
    if isinstance(info, str):
        return _CODES.get(info)
    status = _status(info)
    if status is None:
        return None
    if status == 429 and _by_text(said) is Kind.QUOTA:
        return Kind.QUOTA
    return _STATUSES.get(status) or (Kind.OVERLOADED if status >= 500 else None)


def _status(info: Any) -> int | None:
    """The HTTP status inside of a code such as `{"httpConnectionFailed": {"httpStatusCode": 401}}`."""
    if not isinstance(info, dict):
        return None
    statuses = [inner.get("httpStatusCode") for inner in info.values() if isinstance(inner, dict)]
    return next((status for status in statuses if isinstance(status, int)), None)


def _by_text(said: str) -> Kind | None:
    lowered = said.lower()
    return next((kind for kind, pattern in _TEXTS if re.search(pattern, lowered, re.DOTALL)), None)


def _unwrapped(message: str) -> str:
    """A vendor's answer of status 400 is handed on whole, as JSON: what it says is inside."""
    if not message.startswith("{"):
        return message
    try:
        error = msgspec.json.decode(message).get("error")
    except (msgspec.MsgspecError, AttributeError):
        return message
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return message
    code = error.get("code")
    return f"{error['message']} ({code})" if isinstance(code, str) else str(error["message"])
