"""Whether a commit's attestation holds: a known key signed of this very commit and tree that it was verified."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from trueup.workspace import Note, Repository, read_note, read_notes, tree_of

from ._dsse import DoesNotHoldError, Envelope, open_envelope, parse_envelope, read_payload
from ._keys import PublicKey
from ._statement import check_statement

MOST_NOTES_FOR_A_HINT = 1000
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Examined(Struct, frozen=True, kw_only=True):
    """One envelope: whether it holds, why not, and what it says. Where it does not hold, what it says is a claim."""

    holds: bool
    reason: str = ""
    key_id: str | None = None
    time: datetime | None = None
    statement: dict[str, Any] | None = None


class Checked(Struct, frozen=True, kw_only=True):
    """Whether a commit is attested: the newest attestation that holds, and what else its note has.

    `reason` says why none holds. `same_tree` is another commit that is attested with the very tree of this one, as a
    squash or a rebase leaves it; it is looked for only where there is no note.
    """

    commit: str
    tree: str
    holds: bool
    reason: str
    attestation: Examined | None = None
    others: list[Examined] = []
    other_lines: int = 0
    same_tree: str | None = None


async def verify_attestation(repo: Repository, commit: str, keys: Sequence[PublicKey]) -> Checked:
    """Find out whether a commit has an attestation that holds by one of these keys."""
    tree = await tree_of(repo, commit)
    content = await read_note(repo, commit)
    if content is None:
        return await _without_note(repo, commit, tree, keys)
    lines = [line for line in content.splitlines() if line.strip()]
    envelopes = [envelope for envelope in map(parse_envelope, lines) if envelope is not None]
    examined = [examine(envelope, commit=commit, tree=tree, keys=keys) for envelope in envelopes]
    others = len(lines) - len(envelopes)
    if not examined:
        why = f"the note on it holds no attestation ({others} lines that are none)"
        return Checked(commit=commit, tree=tree, holds=False, reason=why, other_lines=others)
    # By what they say and not by their order: git sorts the lines of notes that are merged.
    holding = [each for each in reversed(examined) if each.holds]
    best = max(holding, key=lambda each: each.time or LONG_AGO, default=examined[-1])
    return Checked(
        commit=commit,
        tree=tree,
        holds=best.holds,
        reason=best.reason,
        attestation=best,
        others=[each for each in examined if each is not best],
        other_lines=others,
    )


def examine(envelope: Envelope, *, commit: str, tree: str, keys: Sequence[PublicKey]) -> Examined:
    """Say whether an envelope holds for a commit and its tree."""
    try:
        opened = open_envelope(envelope, keys)
        account = check_statement(opened.payload, commit=commit, tree=tree)
    except DoesNotHoldError as error:
        return Examined(holds=False, reason=str(error), statement=_claimed(envelope))
    return Examined(holds=True, key_id=opened.key_id, time=account.time, statement=msgspec.json.decode(opened.payload))


async def _without_note(repo: Repository, commit: str, tree: str, keys: Sequence[PublicKey]) -> Checked:
    some = await read_notes(repo, most=MOST_NOTES_FOR_A_HINT)
    elsewhere = await asyncio.to_thread(_attested_with, some.notes, tree, keys)
    why = "it has no attestation"
    if elsewhere is None and some.in_all > MOST_NOTES_FOR_A_HINT:
        why += f"; of {some.in_all} notes on other commits {MOST_NOTES_FOR_A_HINT} were looked at for one on its tree"
    return Checked(commit=commit, tree=tree, holds=False, reason=why, same_tree=elsewhere)


def _attested_with(notes: list[Note], tree: str, keys: Sequence[PublicKey]) -> str | None:
    """The first commit whose note attests a tree."""
    for note in notes:
        for envelope in filter(None, map(parse_envelope, note.content.splitlines())):
            if _mentions(envelope, tree) and examine(envelope, commit=note.commit, tree=tree, keys=keys).holds:
                return note.commit
    return None


def _mentions(envelope: Envelope, tree: str) -> bool:
    """A look that costs less than a signature."""
    try:
        return tree.encode() in read_payload(envelope)
    except DoesNotHoldError:
        return False


def _claimed(envelope: Envelope) -> dict[str, Any] | None:
    try:
        said = msgspec.json.decode(read_payload(envelope))
    except (DoesNotHoldError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return said if isinstance(said, dict) else None
