"""The contract step: what done means is proposed, shown with its baseline, and agreed to."""

from __future__ import annotations

from trueup.core.errors import TrueupError

from .._contracts import no_verdict_because
from ._chronicle import Chronicle
from ._failures import Failure
from ._ground import Ground
from ._person import Accept, Discard, Edit, Leave, Person, Proposal, Revise
from ._proposal import Proposed, propose, revise
from ._states import FailureReason, State
from .events import ContractBaseline, ContractConfirmed, ContractProposed, ErrorHappened, UserInputRequested


class ContractStep:
    """From `created` to `contract_confirmed`. The digest that is confirmed here holds for the whole session."""

    def __init__(self, chronicle: Chronicle, ground: Ground, person: Person) -> None:
        self._chronicle = chronicle
        self._story = chronicle.story
        self._ground = ground
        self._person = person

    async def propose(self) -> bool:
        """Find a contract, and what it is worth."""
        return await self._offer(await propose(self._story.request, self._ground.site, self._story.base))

    async def _offer(self, proposed: Proposed) -> bool:
        contract = proposed.contract
        await self._chronicle.record(
            ContractProposed(contract=contract, digest=contract.digest, source=proposed.source, notes=proposed.notes)
        )
        _, baseline = await self._ground.verifier(contract)
        problems = no_verdict_because(baseline, guards_only=self._story.request.allow_no_goal)
        await self._chronicle.record(ContractBaseline(baseline=baseline, problems=problems))
        return await self._chronicle.enter(State.CONTRACT_PROPOSED)

    async def confirm(self) -> bool:
        """Ask whether this is what done means."""
        proposal = self._proposal()
        if proposal is None:
            return await self._offer(
                Proposed(self._ground.contract(), self._story.contract_source, self._story.contract_notes)
            )
        match await self._person.confirm(proposal):
            case Accept(by=by):
                return await self._accept(proposal, by)
            case Edit(contract=contract):
                return await self._offer(Proposed(contract, "edited"))
            case Revise(words=words):
                return await self._revise(proposal, words)
            case Discard(why=why):
                return await self._chronicle.enter(State.ABANDONED, why)
            case Leave(message=message):
                await self._chronicle.record(UserInputRequested(about="contract", message=message))
                return False

    async def _revise(self, proposal: Proposal, words: str) -> bool:
        """Have it written anew; where nobody can, the person is asked again about what there is."""
        try:
            revised = await revise(self._story.request, self._ground.site, self._story.base, proposal.contract, words)
        except TrueupError as error:
            await self._chronicle.record(ErrorHappened(str(error), error.kind.value))
            return True
        return await self._offer(revised)

    async def _accept(self, proposal: Proposal, by: str) -> bool:
        if proposal.problems:
            return await self._chronicle.fail(Failure(FailureReason.UNPROVEN, "\n".join(proposal.problems)))
        await self._chronicle.record(ContractConfirmed(digest=proposal.contract.digest, by=by))
        return await self._chronicle.enter(State.CONTRACT_CONFIRMED)

    def _proposal(self) -> Proposal | None:
        """What to show; None where the process died before the baseline was known."""
        if self._story.baseline is None:
            return None
        return Proposal(
            contract=self._ground.contract(),
            source=self._story.contract_source,
            baseline=self._story.baseline,
            notes=self._story.contract_notes,
            problems=self._story.contract_problems,
        )
