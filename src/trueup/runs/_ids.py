"""Names of runs: they sort by time, and a person can type them."""

from __future__ import annotations

import re
import secrets
import time
from datetime import UTC, datetime

from trueup.core.errors import InputError

# Crockford's digits: nothing that looks like something else.
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_EPOCH = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
_TICKS_PER_SEC = 10
_TIME_DIGITS = 7
_RANDOM_DIGITS = 5
_FIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def new_id() -> str:
    """Seven digits of time, in tenths of a second until the year 2132, and five of chance."""
    ticks = int((time.time() - _EPOCH) * _TICKS_PER_SEC)
    return _digits(ticks, _TIME_DIGITS) + _digits(secrets.randbits(5 * _RANDOM_DIGITS), _RANDOM_DIGITS)


def check_id(run_id: str) -> str:
    """The id itself, if it can be one."""
    if _FIT.fullmatch(run_id) is None:
        raise InputError(f"{run_id!r} cannot name a run: use up to 64 letters, digits, '.', '_' and '-'")
    return run_id


def now() -> str:
    """The time as records carry it; its width is fixed, so that it sorts as text."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _digits(number: int, width: int) -> str:
    return "".join(_DIGITS[number >> 5 * place & 31] for place in reversed(range(width)))
