"""The tables, as statements name them. What makes them is in `_migrations`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, LargeBinary, String, Text, column, table

schema_version = table("schema_version", column("version", Integer), column("applied_at", String))

runs = table(
    "runs",
    column("run_id", String),
    column("kind", String),
    column("intent", Text),
    column("agent_id", Text),
    column("agent_name", Text),
    column("client_id", Text),
    column("outcome_description", Text),
    column("started_at", String),
    column("ended_at", String),
    column("status", String),
    column("summary", Text),
    column("turn_count", BigInteger),
    column("record_count", BigInteger),
    column("head_hash", String),
    column("idempotency", Text),
    column("owner", Text),
    column("indexed_count", BigInteger),
)

records = table(
    "records",
    column("run_id", String),
    column("seq", BigInteger),
    column("at", String),
    column("kind", String),
    column("type", Text),
    column("turn_index", BigInteger),
    column("body", Text),
    column("places", Text),
    column("previous_hash", String),
    column("hash", String),
)

payloads = table("payloads", column("hash", String), column("size", BigInteger), column("content", LargeBinary))

# Which records can be searched. Their words are in `search_words` on SQLite, and beside them on PostgreSQL.
searchable = table("searchable", column("id", BigInteger), column("run_id", String), column("seq", BigInteger))
