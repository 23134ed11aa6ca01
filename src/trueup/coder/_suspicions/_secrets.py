"""Secrets, told by their shape and never by their contents."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from ._model import Suspicion
from ._reading import Reading
from ._rules import FLAG, INFO, MOST_HITS

MOST_BYTES_SEARCHED = 16 << 20

# By the words that must be there at all: most files have none, and are left at once.
_TOKENS = {
    "an AWS access key": (rb"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b", (b"AKIA", b"ASIA")),
    "a GitHub token": (rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255})\b", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_")),
    "a GitLab token": (rb"\bglpat-[A-Za-z0-9_-]{20,64}\b", (b"glpat-",)),
    "a Slack token": (rb"\bxox[abeprs]-[0-9A-Za-z-]{20,255}\b", (b"xox",)),
    "a Slack webhook": (rb"hooks\.slack\.com/services/T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{20,30}", (b"hooks.slack",)),
    "an Anthropic key": (rb"\bsk-ant-[A-Za-z0-9_-]{32,255}\b", (b"sk-ant-",)),
    "an OpenAI key": (rb"\bsk-(?!ant-)(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,255}\b", (b"sk-",)),
    "a Google key": (rb"\bAIza[0-9A-Za-z_-]{35}\b", (b"AIza",)),
    "a Stripe key": (rb"\b[sr]k_live_[0-9A-Za-z]{24,255}\b", (b"k_live_",)),
    "an npm token": (rb"\bnpm_[A-Za-z0-9]{36}\b", (b"npm_",)),
    "a PyPI token": (rb"\bpypi-AgEI[A-Za-z0-9_-]{50,255}\b", (b"pypi-AgEI",)),
    "a Hugging Face token": (rb"\bhf_[A-Za-z]{34}\b", (b"hf_",)),
}  # fmt: skip
_COMPILED = {what: (re.compile(pattern), hints) for what, (pattern, hints) in _TOKENS.items()}
_KEY = re.compile(rb"-----BEGIN (?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(rb"(?:[A-Za-z0-9+/=]{30,}(?:\\[nr]|[\s\"'+,]){0,40}){2}")
_PLACEHOLDER = re.compile(
    rb"example|dummy|fake|placeholder|your|xxxx|0000|1234567|abcdef|sample|redacted", re.IGNORECASE
)
_LEAST_BITS_PER_CHARACTER = 3.2


def look_for_secrets(reading: Reading) -> Iterator[Suspicion]:
    """Keys and tokens in a file of any kind: whatever is merged is there to stay."""
    raw = reading.raw[:MOST_BYTES_SEARCHED]
    for what, (pattern, hints) in _COMPILED.items():
        if any(hint in raw for hint in hints):
            for hit in islice(pattern.finditer(raw), MOST_HITS):
                if _is_random(hit[0]):
                    yield _secret(what, raw, hit)
    if b"PRIVATE KEY" in raw:
        yield from _private_keys(reading, raw)


def _private_keys(reading: Reading, raw: bytes) -> Iterator[Suspicion]:
    for hit in islice(_KEY.finditer(raw), MOST_HITS):
        if _KEY_BODY.search(raw, hit.end(), hit.end() + 400):
            found = _secret("a private key", raw, hit)
            # Tests of cryptography need keys, and theirs open nothing.
            yield Suspicion(
                kind=found.kind,
                severity=INFO if reading.is_test else FLAG,
                what=found.what,
                line=found.line,
                key=found.key,
            )


def _secret(what: str, raw: bytes, hit: re.Match[bytes]) -> Suspicion:
    told = f"holds what looks like {what} (not shown here): once merged, it has to be taken for known"
    return Suspicion(
        kind="secret", severity=FLAG, what=told, line=raw.count(b"\n", 0, hit.start()) + 1, key=str(hash(hit[0]))
    )


def _is_random(token: bytes) -> bool:
    body = re.split(rb"[-_]", token, maxsplit=1)[-1] if b"-" in token[:12] or b"_" in token[:12] else token[4:]
    bits = -sum(n / len(body) * math.log2(n / len(body)) for n in Counter(body).values())
    mixed = any(chr(each).isdigit() for each in body) or len(set(body)) > 16
    return mixed and bits >= _LEAST_BITS_PER_CHARACTER and not _PLACEHOLDER.search(token)
