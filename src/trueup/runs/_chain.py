"""The chain: each record's hash covers its content, its place, its time and the hash of the record before it.

It shows that somebody changed, removed, added or moved records. Whoever can write the database can make a whole new
chain; to exclude that, keep a run's `head_hash` elsewhere, as an attestation does.
"""

from __future__ import annotations

import hashlib

import msgspec

_HEADER = msgspec.json.Encoder()


def root(run_kind: str) -> str:
    """What stands before the first record, so that the kind of a run cannot be changed either."""
    return hashlib.sha256(run_kind.encode()).hexdigest()


def link(
    previous: str,
    run_id: str,
    seq: int,
    at: str,
    kind: str,
    type: str | None,  # noqa: A002 - the column's name
    turn_index: int | None,
    places: str | None,
    body: str,
) -> str:
    """The hash of a record. Payloads are covered by their own hashes, which `places` has."""
    header = _HEADER.encode((previous, run_id, seq, at, kind, type, turn_index, places))
    # The header has no raw newline, so nothing of it can pass for a part of the body.
    return hashlib.sha256(b"%b\n%b" % (header, body.encode())).hexdigest()
