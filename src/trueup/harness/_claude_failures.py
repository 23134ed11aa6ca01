"""Why a run of Claude Code failed: by what its records say in fields first, then by their words."""

from __future__ import annotations

import re

from trueup.core.errors import Kind

from ._claude_records import Result

_STATUSES = {
    401: Kind.AUTH,
    402: Kind.QUOTA,
    403: Kind.AUTH,
    408: Kind.TIMEOUT,
    413: Kind.INPUT_TOO_LARGE,
    429: Kind.RATE_LIMIT,
    504: Kind.TIMEOUT,
}
_TYPES = {
    "authentication_error": Kind.AUTH,
    "authentication_failed": Kind.AUTH,
    "oauth_org_not_allowed": Kind.AUTH,
    "permission_error": Kind.AUTH,
    "billing_error": Kind.QUOTA,
    "rate_limit_error": Kind.RATE_LIMIT,
    "rate_limit": Kind.RATE_LIMIT,
    "overloaded_error": Kind.OVERLOADED,
    "overloaded": Kind.OVERLOADED,
    "model_not_found": Kind.MODEL_NOT_FOUND,
    "request_too_large": Kind.INPUT_TOO_LARGE,
    "connection_failed": Kind.NETWORK,
    "timeout_error": Kind.TIMEOUT,
}
_ENDINGS = {"refusal": Kind.REFUSED, "model_context_window_exceeded": Kind.CONTEXT_LENGTH}
_LIMITS = ("error_max_turns", "error_max_budget_usd")
_REASONS = {"prompt_too_long": Kind.CONTEXT_LENGTH, "blocking_limit": Kind.CONTEXT_LENGTH}


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# The first that fits: what is special before what is common.
_TEXTS = (
    (
        _words(
            r"no conversation found",
            r"session .{0,60}not found",
            r"no session .{0,60}found",
            r"requires a valid session id",
        ),
        Kind.SESSION_NOT_FOUND,
    ),
    (
        _words(
            r"usage limit reached",
            r"reached your .{0,40}limit",
            r"hit your .{0,40}limit",
            r"(5-hour|weekly|session|opus|sonnet|monthly) limit reached",
            r"credit balance (is )?too low",
            r"out of (extra )?(usage|credits)",
            r"exceeded your current quota",
            r"api usage limits",
        ),
        Kind.QUOTA,
    ),
    (
        _words(
            r"invalid (x-)?api.key",
            r"(please )?run /login",
            r"not logged in",
            r"oauth token .{0,40}(expired|revoked|failed)",
            r"token has expired",
            r"failed to authenticate",
            r"authentication_error",
            r"api error:? \(?40[13]\b",
            r"claude auth login",
            r"does not have access to claude",
            r"organization has been disabled",
        ),
        Kind.AUTH,
    ),
    (
        _words(r"prompt is too long", r"context (window|length|limit)", r"input length and .max_tokens. exceed"),
        Kind.CONTEXT_LENGTH,
    ),
    (
        _words(r"request.too.large", r"request too large", r"payload too large", r"argument list too long"),
        Kind.INPUT_TOO_LARGE,
    ),
    (
        _words(
            r"issue with the selected model",
            r"model.{0,80}(not found|does not exist|not available|may not exist)",
            r"not_found_error.{0,40}model",
        ),
        Kind.MODEL_NOT_FOUND,
    ),
    (_words(r"overloaded", r"\b529\b", r"server is busy"), Kind.OVERLOADED),
    (_words(r"rate.?limit", r"too many requests", r"\b429\b"), Kind.RATE_LIMIT),
    (_words(r"trust dialog", r"has not been trusted", r"do you trust", r"untrusted"), Kind.UNTRUSTED_DIRECTORY),
    (
        _words(
            r"econnrefused|econnreset|enotfound|epipe|ehostunreach|enetunreach|eai_again",
            r"connection (refused|error|reset|closed|failed)",
            r"unable to connect",
            r"fetch failed",
            r"socket hang up",
            r"getaddrinfo",
            r"certificate",
        ),
        Kind.NETWORK,
    ),
    (_words(r"timed? ?out", r"etimedout"), Kind.TIMEOUT),
    (
        _words(
            r"empty or malformed response",
            r"json parse error",
            r"unexpected (token|end of json)",
            r"is not valid json",
            r"unknown option",
        ),
        Kind.PROTOCOL,
    ),
    (_words(r"usage policy", r"safeguards", r"can't help with this"), Kind.REFUSED),
    (_words(r"internal server error", r"api error:? \(?5\d\d"), Kind.OVERLOADED),
)


def kind_of_text(text: str) -> Kind | None:
    """What words say, where they say something that is known."""
    return next((kind for pattern, kind in _TEXTS if pattern.search(text)), None)


def kind_of_result(result: Result, error: object) -> Kind:
    """Why a turn failed. `error` is what its last message said of its own error."""
    words = error_text(result)
    typed = _typed(result, error)
    said = kind_of_text(words)
    if typed is Kind.RATE_LIMIT and said is Kind.QUOTA:
        # A used up plan comes as 429 too, and waiting a minute does not help.
        return Kind.QUOTA
    return typed or said or Kind.OTHER


def _typed(result: Result, error: object) -> Kind | None:
    status = result.api_error_status
    for kind in (
        _TYPES.get(str(result.api_error)),
        _STATUSES.get(status or 0),
        _TYPES.get(str(result.api_error_type)),
        Kind.OVERLOADED if status is not None and status >= 500 else None,
        _ENDINGS.get(str(result.stop_reason)),
        _REASONS.get(str(result.terminal_reason)),
        _TYPES.get(str(error)),
    ):
        if kind is not None:
            return kind
    return None


def error_text(result: Result) -> str:
    """What a failed turn says: the program's own complaints stand apart from those of the API."""
    complaints = [str(complaint) for complaint in result.errors if complaint]
    said = "; ".join(complaints) or (result.result or "").strip() or result.subtype
    return f"{said}: it is not done; allow it more, or go on with its session" if result.subtype in _LIMITS else said
