"""Attesting a merge: the statement is made, signed, and noted on the merged commit."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from trueup.contract import Contract
from trueup.core.errors import InputError
from trueup.workspace import OUTCOMES, Identity, Repository, append_to_note, tree_of

from .._verdict import Verdict
from ._dsse import sign
from ._keys import SigningKey, own_key
from ._statement import ApprovedBy, EngineUsed, statement


class Attestation(Struct, frozen=True, kw_only=True):
    """What was signed about a commit, by which key, and where it is kept."""

    commit: str
    key_id: str
    ref: str
    statement: dict[str, Any]
    envelope: bytes


async def attest_merge(
    repo: Repository,
    verdict: Verdict,
    *,
    commit: str,
    contract: Contract,
    engine: EngineUsed,
    session: str,
    approved_by: ApprovedBy,
    intent: str | None = None,
    at: datetime | None = None,
    key: SigningKey | None = None,
    identity: Identity | None = None,
) -> Attestation:
    """Sign what was verified of a merged commit, and note it there; the commit itself does not change.

    Raises a `TrueupError` where that is not possible: the merge stands, without an attestation.
    """
    merged = await tree_of(repo, commit)
    if merged != verdict.tree:
        raise InputError(f"commit {commit[:12]} has tree {merged[:12]}, and what was verified is {verdict.tree[:12]}")
    said = statement(
        verdict,
        commit=commit,
        contract=contract,
        engine=engine,
        session=session,
        approved_by=approved_by,
        intent=intent,
        at=at or datetime.now(UTC),
    )
    signing = await asyncio.to_thread(own_key) if key is None else key
    envelope = sign(said, signing)
    await append_to_note(repo, commit, envelope, identity=identity)
    return Attestation(commit=commit, key_id=signing.public.id, ref=OUTCOMES, statement=said, envelope=envelope)
