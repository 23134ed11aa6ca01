"""The approval step: a person decides about a verified change, and it is delivered."""

from __future__ import annotations

from trueup.core.errors import InputError, TrueupError
from trueup.workspace import MergeConflictError

from .._verdict import Finding, Severity, Verdict
from ._chronicle import Chronicle
from ._delivery import Delivery, Moved
from ._ground import Ground
from ._person import Approve, Discard, Leave, Person, SendBack
from ._states import State
from .events import Approved, BaseMoved, ErrorHappened, UserInputRequested


class ApprovalStep:
    """From `needs_approval` to `merged` or `reported`; or back, with words or because the base moved."""

    def __init__(self, chronicle: Chronicle, ground: Ground, person: Person) -> None:
        self._chronicle = chronicle
        self._story = chronicle.story
        self._ground = ground
        self._person = person

    async def approve(self) -> bool:
        """Ask whether the change is wanted, unless that was said before, and deliver it."""
        verdict = self._story.verdict
        if verdict is None:
            raise InputError(f"session {self._story.id} has no verdict to approve")
        if self._approval_stands(verdict):
            return await self._deliver(verdict)
        match await self._person.approve(self._story, verdict):
            case Approve(by=by, deliver=deliver):
                how = deliver or self._story.request.deliver
                approved = Approved(tree=verdict.tree, by=by, deliver=how, knowing=_above_info(verdict))
                await self._chronicle.record(approved)
                return await self._deliver(verdict)
            case SendBack(words=words):
                await self._chronicle.say(words)
                return await self._chronicle.enter(State.RUNNING)
            case Discard(why=why):
                return await self._chronicle.enter(State.ABANDONED, why)
            case Leave(message=message):
                await self._chronicle.record(UserInputRequested(about="approval", message=message))
                return False

    def _approval_stands(self, verdict: Verdict) -> bool:
        """Whether a person approved this change already, and nothing came up since that they did not know of."""
        approved = self._story.approved
        return approved is not None and all(finding in approved.knowing for finding in _above_info(verdict))

    async def _deliver(self, verdict: Verdict) -> bool:
        if self._story.approved is None:
            raise InputError(f"session {self._story.id} is not approved")
        await self._ground.bring_back(verdict.tree)
        delivery = Delivery(self._ground.site, self._story, verdict, self._ground.folder, self._chronicle)
        try:
            delivered = await delivery.deliver(self._story.approved.deliver)
        except TrueupError as error:
            return await self._wait_because(error)
        if isinstance(delivered, Moved):
            await self._ground.keep(delivered.tree, delivered.base)
            await self._ground.remove_workspace()
            await self._chronicle.record(BaseMoved(base=delivered.base, tree=delivered.tree))
            return await self._chronicle.enter(State.VERIFYING)
        await self._chronicle.record(delivered)
        return await self._chronicle.enter(State.MERGED if delivered.commit else State.REPORTED)

    async def _wait_because(self, error: TrueupError) -> bool:
        """The verified change stays; it can be approved again, for another way of delivery or a cleared one."""
        what = str(error)
        if isinstance(error, MergeConflictError):
            what += f"; as a branch of its own it can be merged by hand: trueup code approve {self._story.id} --deliver branch"
        await self._chronicle.record(ErrorHappened(what, error.kind.value))
        await self._chronicle.record(UserInputRequested(about="approval", message=what))
        return False


def _above_info(verdict: Verdict) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.severity is not Severity.INFO]
