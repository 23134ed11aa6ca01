"""Records without what is large in them, and without all but what they used. All of it blocks."""

from __future__ import annotations

import json
import zlib
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, RowMapping, func, select

from trueup.core.usage import Usage

from ._encoding import decode, encode_json, payload_hashes, whole
from ._reads import explained, trace
from ._records import AnyRecord, CheckRecord, EventRecord, ModelTurn, Outlined, StoredRecord, Turn
from ._tables import payloads, records
from ._writes import chunks

# What is shown of a large text. Every payload is larger than that.
MOST_CHARACTERS = 2000
# As many bytes, packed, as surely hold that many characters.
_PACKED = 4 * MOST_CHARACTERS + 1024
# A record of many small parts is read as a whole up to here.
_MOST_REST = 1 << 20


class _Beginning(Struct, frozen=True):
    """The first bytes of a payload, packed, and how large it is."""

    packed: bytes
    size: int


class _Used(Struct):
    token_usage: Usage | None = None


def outline(connection: Connection, run_id: str, after: int, limit: int | None) -> list[Outlined]:
    """Records of a run after a place in it, whatever they weigh."""
    query = select(records).where(records.c.run_id == run_id, records.c.seq > after).order_by(records.c.seq)
    rows = connection.execute(query.limit(limit)).mappings().all()
    beginnings = _beginnings(connection, sorted({each for row in rows for each in payload_hashes(row["places"])}))
    found = []
    for row in rows:
        with explained(run_id, row["seq"]):
            found.append(_outlined(connection, row, beginnings))
    return found


def usage(connection: Connection, run_id: str, after: int, until: int) -> Usage | None:
    """What the model turns between two places used together; None where there are none."""
    query = (
        select(records.c.seq, records.c.body, records.c.places)
        .where(records.c.run_id == run_id, records.c.seq > after, records.c.seq <= until)
        .where(records.c.kind == "model_turn")
    )
    calls = []
    for seq, body, places in connection.execute(query.order_by(records.c.seq)):
        with explained(run_id, seq):
            calls.append(_usage(connection, run_id, seq, body, places) or _UNKNOWN)
    return _sum(calls) if calls else None


_UNKNOWN = Usage(incomplete=True)


def _sum(calls: list[Usage]) -> Usage:
    """What adding them one by one comes to, which for ten thousands of them would take a while."""
    known = {name: [each for call in calls if (each := getattr(call, name)) is not None] for name in Usage.AMOUNTS}
    sums: dict[str, Any] = {name: sum(amounts) for name, amounts in known.items() if amounts}
    incomplete = any(call.incomplete for call in calls) or any(0 < len(each) < len(calls) for each in known.values())
    return Usage(**sums, incomplete=incomplete, estimated_tokens=sum(call.estimated_tokens for call in calls))


def _usage(connection: Connection, run_id: str, seq: int, body: str, places: str | None) -> Usage | None:
    if places is not None and body == "null":
        [stored] = trace(connection, run_id, seq - 1, 1, None)
        return stored.record.token_usage if isinstance(stored.record, ModelTurn) else None
    try:
        return _USED.decode(body).token_usage
    except msgspec.DecodeError:
        # Halves of characters, which only the standard library reads.
        return msgspec.convert(json.loads(body), _Used).token_usage


_USED = msgspec.json.Decoder(_Used)


def _outlined(connection: Connection, row: RowMapping, beginnings: dict[str, _Beginning]) -> Outlined:
    needed = payload_hashes(row["places"])
    if not needed:
        return Outlined(_stored(row, decode(row["body"].encode(), row["turn_index"])))
    size = sum(beginnings[each].size for each in needed if each in beginnings)
    if row["body"] == "null":
        return _without_a_body(connection, row, size)
    contents = {each: _cut(beginnings.get(each)) for each in needed}
    record = decode(whole(row["body"], row["places"], contents), row["turn_index"])
    return Outlined(_stored(row, record), size)


def _without_a_body(connection: Connection, row: RowMapping, size: int) -> Outlined:
    """A record that is large although no text in it is."""
    stand_in = _stand_in(row)
    if stand_in is None or size <= _MOST_REST:
        [stored] = trace(connection, row["run_id"], row["seq"] - 1, 1, None)
        return Outlined(stored)
    return Outlined(_stored(row, stand_in), size)


def _stand_in(row: RowMapping) -> AnyRecord | None:
    """What is known of a record without reading it; of the first and the last of a run too little."""
    match row["kind"]:
        case "turn":
            return Turn(index=row["turn_index"])
        case "model_turn":
            return ModelTurn(index=row["turn_index"])
        case "check":
            return CheckRecord({})
        case "event":
            return EventRecord(row["type"])
    return None


def _stored(row: RowMapping, record: AnyRecord) -> StoredRecord:
    return StoredRecord(row["seq"], row["at"], record, row["hash"], row["previous_hash"])


def _beginnings(connection: Connection, wanted: list[str]) -> dict[str, _Beginning]:
    found: dict[str, _Beginning] = {}
    for some in chunks(wanted):
        first = func.substr(payloads.c.content, 1, _PACKED)
        query = select(payloads.c.hash, first, payloads.c.size).where(payloads.c.hash.in_(some))
        found.update((digest, _Beginning(bytes(packed), size)) for digest, packed, size in connection.execute(query))
    return found


def _cut(beginning: _Beginning | None) -> bytes:
    """The first characters of a text, as JSON again."""
    if beginning is None:
        return encode_json("(missing: `trueup runs verify` says more)")
    try:
        start = zlib.decompressobj().decompress(beginning.packed, 8 * MOST_CHARACTERS)
    except zlib.error:
        return encode_json("(altered: `trueup runs verify` says more)")
    return encode_json(f"{_text(start)[:MOST_CHARACTERS]}…")


def _text(start: bytes) -> str:
    """The beginning of a JSON string as text."""
    text = start.decode(errors="ignore").removeprefix('"')
    # An escape may be cut off, and has at most twelve characters.
    for shorter in range(len(text), max(0, len(text) - 13), -1):
        try:
            value: Any = json.loads(f'"{text[:shorter]}"', strict=False)
        except ValueError:
            continue
        return str(value)
    raise ValueError("a payload is no text")
