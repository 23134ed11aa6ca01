"""What litellm says of a call that failed, which several agents hand on: the name of its exception, and words."""

from __future__ import annotations

import re

from trueup.core.errors import Kind

from .._vendors import Vendor
from ._base import ANTHROPIC_KEY, OPENAI_KEY
from ._failures import Failure, failure
from ._providers import Provider

VENDORS: tuple[Vendor, ...] = (OPENAI_KEY, ANTHROPIC_KEY)
# It would fetch a list of prices before it does anything, and wait for it where there is no way out.
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
NAMED = re.compile(r"litellm\.(\w+): ")

_KINDS = {
    "AuthenticationError": Kind.AUTH,
    "PermissionDeniedError": Kind.AUTH,
    "RateLimitError": Kind.RATE_LIMIT,
    "BudgetExceededError": Kind.QUOTA,
    "NotFoundError": Kind.MODEL_NOT_FOUND,
    "ContextWindowExceededError": Kind.CONTEXT_LENGTH,
    "ContentPolicyViolationError": Kind.REFUSED,
    "Timeout": Kind.TIMEOUT,
    "APIConnectionError": Kind.NETWORK,
    "InternalServerError": Kind.OVERLOADED,
    "ServiceUnavailableError": Kind.OVERLOADED,
    "BadGatewayError": Kind.OVERLOADED,
}
# A server that is not there, and one that does not speak JSON, are an InternalServerError to it.
_WORDS = (
    (re.compile(r"Connection\s+error"), Kind.NETWORK),
    (re.compile(r"invalid\s+response\s+from\s+LLM"), Kind.PROTOCOL),
)


def failure_of(exception: str, message: str) -> Failure:
    """What an exception of litellm's means, by its name and by what it says."""
    told = failure(message)
    if told.kind is Kind.QUOTA:
        return told
    worded = next((kind for pattern, kind in _WORDS if pattern.search(message)), None)
    return Failure(told.message, worded or _KINDS.get(exception) or told.kind)


def model_of(provider: Provider) -> str:
    """The name of a model as litellm has it: with the vendor first."""
    return provider.model if "/" in provider.model else f"{provider.vendor.name}/{provider.model}"
