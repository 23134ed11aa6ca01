"""Records as text that any database takes, and back, with nothing lost on the way.

What is large is taken out: every string whose JSON is over `LARGE_BYTES`, and then the rest of the record if that is
still so large. Each becomes a payload, named by the hash of its JSON, so that the same output is kept once however
often it is recorded. Where they belong is kept beside the record and not in it: no text that an agent wrote can pass
for a reference.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zlib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from trueup.core.errors import InfrastructureError, InputError

from ._records import AnyRecord, EventRecord, ModelTurn, Record, Turn

LARGE_BYTES = 16 << 10
# More is refused by SQLite itself, together with everything that shares the transaction.
MOST_BYTES = 900_000_000
# Text is what is kept; a higher level takes several times as long for a few percent.
_COMPRESSION = 1
_MOST_DIGITS = 4000

Place = list[str | int]


class Payload(Struct, frozen=True):
    """A large value as JSON, by the hash of it."""

    hash: str
    content: bytes

    def packed(self) -> bytes:
        """What the database keeps."""
        return zlib.compress(self.content, _COMPRESSION)


class Encoded(Struct, frozen=True):
    """A record on its way to the database, and as it will be read from there.

    `places` says where in `body` which payload belongs, as JSON.
    """

    record: AnyRecord
    kind: str
    type: str | None
    numbered: bool
    body: str
    places: str | None
    payloads: tuple[Payload, ...]


def encode(record: Record) -> Encoded:
    """Encode a record; an `InputError` where it could not be read back."""
    is_turn = isinstance(record, Turn | ModelTurn)
    if is_turn:
        # The store stamps the index beside the body, whatever the caller claimed.
        record = msgspec.structs.replace(record, index=UNSET)
    try:
        content = encode_json(record)
        known = decode(content, None)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise InputError(f"a {type(record).__name__} cannot be recorded: {error}") from None
    kind = str(type(record).__struct_config__.tag)
    event = clean(record.type) if isinstance(record, EventRecord) else None
    if len(content) <= LARGE_BYTES:
        return Encoded(known, kind, event, is_turn, content.decode(), None, ())
    body, places, payloads = _encode_large(content)
    return Encoded(known, kind, event, is_turn, body, places, payloads)


def _encode_large(content: bytes) -> tuple[str, str, tuple[Payload, ...]]:
    places: list[tuple[Place, str]] = []
    payloads: list[Payload] = []

    def take(value: Any, place: Place) -> None:
        content = encode_json(value)
        if len(content) > MOST_BYTES:
            raise InputError(f"a value of {len(content):,} bytes cannot be recorded; the most is {MOST_BYTES:,}")
        payload = Payload(hashlib.sha256(content).hexdigest(), content)
        payloads.append(payload)
        places.append((place, payload.hash))

    rest = _without_large_strings(_load(content), [], take)
    body = encode_json(rest)
    if len(body) > LARGE_BYTES:
        take(rest, [])
        # First, since the others are put into it.
        places.insert(0, places.pop())
        body = b"null"
    return body.decode(), encode_json(places).decode(), tuple(payloads)


def _without_large_strings(value: Any, place: Place, take: Any) -> Any:
    match value:
        # No character takes more than six bytes in JSON.
        case str() if 6 * len(value) + 2 > LARGE_BYTES and len(encode_json(value)) > LARGE_BYTES:
            take(value, place)
            return None
        case dict():
            return {key: _without_large_strings(each, [*place, key], take) for key, each in value.items()}
        case list():
            return [_without_large_strings(each, [*place, at], take) for at, each in enumerate(value)]
    return value


def payload_hashes(places: str | None) -> list[str]:
    """Which payloads a record needs."""
    return [] if places is None else [digest for _, digest in _load(places.encode())]


def unpack(digest: str, packed: bytes | None) -> bytes:
    """A payload as it was; an `InfrastructureError` where it is gone or another one."""
    if packed is None:
        raise InfrastructureError(f"its payload {digest[:12]} is missing")
    try:
        content = zlib.decompress(packed)
    except zlib.error:
        raise InfrastructureError(f"its payload {digest[:12]} was altered: it cannot be unpacked") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise InfrastructureError(f"its payload {digest[:12]} was altered: its content has another hash")
    return content


def whole(body: str, places: str | None, payloads: Mapping[str, bytes]) -> bytes:
    """A record's JSON with its payloads where they belong."""
    if places is None:
        return body.encode()
    value = _load(body.encode())
    for place, digest in _load(places.encode()):
        content = _load(payloads[digest])
        if place:
            _put(value, place, content)
        else:
            value = content
    return encode_json(value)


def _put(value: Any, place: Place, content: Any) -> None:
    *parents, last = place
    for step in parents:
        value = value[step]
    value[last] = content


def decode(content: bytes, index: int | None) -> AnyRecord:
    """A record from its JSON, with the index that the store stamped."""
    try:
        record: AnyRecord = _DECODER.decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Text that no encoding can carry (the name of a file, say) has escapes that only the standard library reads.
        record = msgspec.convert(json.loads(content), AnyRecord)
    return numbered(record, index)


def numbered(record: AnyRecord, index: int | None) -> AnyRecord:
    """A record with the index that the store stamped, where it has one."""
    return record if index is None else msgspec.structs.replace(record, index=index)


_DECODER = msgspec.json.Decoder(AnyRecord)


def _load(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return json.loads(content)


def encode_json(value: Any) -> bytes:
    r"""Any data as JSON that every program can read.

    Lone surrogates are written as `\udcff`, which Python reads back as they were. Numbers that JSON does not have
    become strings: `"NaN"`, `"Infinity"`, and hexadecimal digits for an integer of thousands of digits.
    """
    try:
        content = _ENCODER.encode(value)
    except ValueError:
        return _encode_odd(value)
    # It would have become null, silently.
    return _encode_odd(value) if _has_odd_number(value) else content


def name_of(value: object) -> Any:
    """What stands for an object that JSON does not know: only a path has such a name."""
    if isinstance(value, PurePath):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is no data")


_ENCODER = msgspec.json.Encoder(enc_hook=name_of)


def _encode_odd(value: Any) -> bytes:
    plain = msgspec.to_builtins(value, enc_hook=name_of, str_keys=True)
    return json.dumps(_with_written_numbers(plain), separators=(",", ":"), allow_nan=False).encode()


def _has_odd_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Struct):
        value = msgspec.structs.astuple(value)
    elif isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple | set | frozenset):
        return False
    # Every record comes through here, most of its values are harmless, and asking a set is quicker than a call.
    for each in value:  # noqa: SIM110
        if type(each) not in _HARMLESS and _has_odd_number(each):
            return True
    return False


_HARMLESS = frozenset({str, int, bool, type(None), UnsetType})


def _with_written_numbers(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case int() if value.bit_length() > 3 * _MOST_DIGITS:
            return hex(value)
        case dict():
            return {key: _with_written_numbers(each) for key, each in value.items()}
        case list():
            return [_with_written_numbers(each) for each in value]
    return value


def clean(text: str) -> str:
    """Text for a column of its own: what a database cannot hold there is written as a visible escape."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "\\x00")
