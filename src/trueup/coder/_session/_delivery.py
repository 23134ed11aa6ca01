"""What becomes of a verified and approved change: a merge, a branch, a patch, or nothing but the word that it holds."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from msgspec import Struct

from trueup.core.errors import TrueupError
from trueup.core.protocols import Recorder
from trueup.workspace import BranchMovedError, PreparedMerge, complete_merge, prepare_merge, resume_merge

from .._attestation import EngineUsed, attest_merge
from .._site import Site
from .._verdict import Verdict
from ._request import Deliver
from ._story import Story
from .events import MergeCompleted, MergePrepared

TRIES = 5
LONGEST_SUBJECT = 72


class Moved(Struct, frozen=True):
    """The branch went on: what would be merged now is this tree on this base, and nobody has verified it."""

    base: str
    tree: str


class Delivery:
    """Delivers one verified tree; going on after it was cut off ends in the same place."""

    def __init__(self, site: Site, story: Story, verdict: Verdict, folder: Path, recorder: Recorder) -> None:
        self._site = site
        self._story = story
        self._verdict = verdict
        self._folder = folder
        self._recorder = recorder

    async def deliver(self, how: Deliver) -> MergeCompleted | Moved:
        """Bring the change to where it is wanted, or say that it is another one by now."""
        if how is Deliver.NONE:
            return MergeCompleted(deliver=how)
        if how is Deliver.PATCH:
            return MergeCompleted(deliver=how, patch=str(await self._write_patch()))
        return await self._finish_cut_off(how) or await self._merge(how)

    async def _write_patch(self) -> Path:
        patch = await self._site.mirror.diff(self._verdict.base, self._verdict.tree)
        file = self._folder / "change.patch"
        await asyncio.to_thread(file.write_bytes, patch)
        return file

    async def _finish_cut_off(self, how: Deliver) -> MergeCompleted | None:
        """The end of a merge that was begun by a process that died."""
        begun = self._story.prepared
        if begun is None or begun.merge.tree != self._verdict.tree:
            return None
        merged = await resume_merge(self._site.repo, begun.merge)
        return None if merged is None else await self._completed(how, begun.merge)

    async def _merge(self, how: Deliver) -> MergeCompleted | Moved:
        for _ in range(TRIES):
            prepared = await self._prepare(how)
            if prepared.needs_verification:
                return Moved(prepared.old or self._verdict.base, prepared.tree)
            await self._recorder.record(MergePrepared(merge=prepared))
            try:
                await complete_merge(self._site.repo, self._site.mirror, prepared)
            except BranchMovedError:
                continue
            return await self._completed(how, prepared)
        raise BranchMovedError(f"the branch kept moving, {TRIES} times; nothing was merged: approve it again")

    async def _prepare(self, how: Deliver) -> PreparedMerge:
        return await prepare_merge(
            self._site.repo,
            self._site.mirror,
            self._verdict.tree,
            self._verdict.base,
            into=branch_name(self._story) if how is Deliver.BRANCH else None,
            message=commit_message(self._story),
        )

    async def _completed(self, how: Deliver, merge: PreparedMerge) -> MergeCompleted:
        note = await self._attest(merge.commit)
        return MergeCompleted(
            deliver=how, commit=merge.commit, branch=merge.branch, attested=note is None, note=note or ""
        )

    async def _attest(self, commit: str) -> str | None:
        """Why there is no attestation, if so: the merge stands without it."""
        story = self._story
        if story.contract is None or story.engine is None or story.approved is None:
            return "there is no attestation: the session does not know its contract, engine or approval"
        try:
            await attest_merge(
                self._site.repo,
                self._verdict,
                commit=commit,
                contract=story.contract,
                engine=EngineUsed(story.engine.engine, story.engine.version),
                session=story.id,
                approved_by=story.approved.by,
                intent=story.request.intent,
            )
        except TrueupError as error:
            return f"there is no attestation: {error}"
        return None


def branch_name(story: Story) -> str:
    """The branch that a change is delivered on: readable, and unlike any other session's."""
    words = re.sub(r"[^a-z0-9]+", "-", story.request.intent.lower()).strip("-")
    return f"trueup/{words[:40].strip('-') or 'change'}-{story.id}"


def commit_message(story: Story) -> str:
    """The intent, and where to find out how it was reached."""
    first, _, rest = story.request.intent.strip().partition("\n")
    subject = first if len(first) <= LONGEST_SUBJECT else first[: LONGEST_SUBJECT - 1].rstrip() + "…"
    body = story.request.intent.strip() if subject != first else rest.strip()
    trailers = f"Trueup-Session: {story.id}\nTrueup-Contract: {story.digest}"
    return "\n\n".join(part for part in (subject, body, trailers) if part) + "\n"
