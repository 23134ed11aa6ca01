"""Keeping secrets out of whatever is written down."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

HIDDEN = "[redacted]"
# A shorter text is no secret, and would be found everywhere.
LEAST_CHARS = 8
# An agent that shows a new one each time must not make all of this slow.
MOST_KNOWN = 500

# What a secret looks like, and a word that must be there at all: most texts have none, and are left at once.
_SHAPES: tuple[tuple[str, str, str], ...] = (
    ("sk-", r"\bsk-[A-Za-z0-9_*.-]{12,}", HIDDEN),
    ("rk-", r"\brk-[A-Za-z0-9_*.-]{12,}", HIDDEN),
    ("k_live_", r"\b[sr]k_live_[0-9A-Za-z]{16,}", HIDDEN),
    ("k_test_", r"\b[sr]k_test_[0-9A-Za-z]{16,}", HIDDEN),
    ("AIza", r"AIza[0-9A-Za-z_-]{30,}", HIDDEN),
    ("ya29.", r"ya29\.[0-9A-Za-z_-]{20,}", HIDDEN),
    ("gh", r"\bgh[pousr]_[A-Za-z0-9_]{20,}", HIDDEN),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}", HIDDEN),
    ("glpat-", r"glpat-[A-Za-z0-9_-]{16,}", HIDDEN),
    ("xox", r"xox[abeprs]-[0-9A-Za-z-]{16,}", HIDDEN),
    ("AKIA", r"AKIA[A-Z0-9]{16}\b", HIDDEN),
    ("ASIA", r"ASIA[A-Z0-9]{16}\b", HIDDEN),
    ("npm_", r"npm_[A-Za-z0-9]{30,}", HIDDEN),
    ("pypi-AgEI", r"pypi-AgEI[A-Za-z0-9_-]{30,}", HIDDEN),
    ("hf_", r"\bhf_[A-Za-z0-9]{30,}", HIDDEN),
    ("eyJ", r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+", HIDDEN),
    (
        "PRIVATE KEY-----",
        r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]+?-----END (?:[A-Z]+ )*PRIVATE KEY-----",
        HIDDEN,
    ),
    ("://", r"://[^/\s:@\"'\\]+:[^/\s@\"'\\]+@", f"://{HIDDEN}@"),
    ("earer ", r"earer +[A-Za-z0-9._~+/-]{16,}=*", f"earer {HIDDEN}"),
    ("asic ", r"asic +(?=\S*\d)(?=\S*[A-Z])[A-Za-z0-9._~+/-]{16,}=*", f"asic {HIDDEN}"),
)
_COMPILED = tuple((hint, re.compile(shape), instead) for hint, shape, instead in _SHAPES)


class Redactor:
    """Takes known secrets, and whatever looks like one, out of texts."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: dict[str, None] = {}
        for secret in secrets:
            self.learn(secret)

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"

    def learn(self, secret: str) -> None:
        """Know a secret from now on."""
        if len(secret) >= LEAST_CHARS and len(self._secrets) < MOST_KNOWN:
            self._secrets[secret] = None

    def text(self, text: str) -> str:
        """A text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        for hint, shape, instead in _COMPILED:
            if hint in text:
                text = shape.sub(instead, text)
        return text

    def value(self, value: Any) -> Any:
        """A value as JSON has them, without secrets in any of its texts, names included."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(each) for each in value]
            case dict():
                return {self.text(name): self.value(each) for name, each in value.items()}
            case _:
                return value
