"""Who decides: a person, asked by whatever stands between them and the session."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from trueup.contract import Baseline, Contract
from trueup.core.errors import InputError
from trueup.workspace import Identity, Repository

from .._attestation import ApprovedBy
from .._verdict import Severity, Verdict
from ._request import Deliver
from ._story import Story


class Accept(Struct, frozen=True, tag=True):
    """The contract is what is wanted."""

    by: str


class Edit(Struct, frozen=True, tag=True):
    """Another contract is wanted."""

    contract: Contract


class Revise(Struct, frozen=True, tag=True):
    """The contract is to be written anew, by these words."""

    words: str


class Approve(Struct, frozen=True, tag=True):
    """The verified change is to be delivered, in another way than was asked for where one is named."""

    by: ApprovedBy
    deliver: Deliver | None = None


class SendBack(Struct, frozen=True, tag=True):
    """The engine is to go on, told these words."""

    words: str


class Discard(Struct, frozen=True):
    """The change is not wanted."""

    why: str = "discarded"


class Leave(Struct, frozen=True):
    """No answer now: the session waits."""

    message: str


# What a person can say beforehand.
Answer = Accept | Edit | Revise | Approve | SendBack


class Proposal(Struct, frozen=True, kw_only=True):
    """A contract to agree to, what its checks are worth, and why it cannot be used, if so."""

    contract: Contract
    source: str
    baseline: Baseline
    notes: list[str]
    problems: list[str]


class Person(Protocol):
    """Answers what a session may not decide by itself."""

    async def confirm(self, proposal: Proposal) -> Accept | Edit | Revise | Discard | Leave:
        """Whether this is what done means."""
        ...

    async def approve(self, story: Story, verdict: Verdict) -> Approve | SendBack | Discard | Leave:
        """Whether a verified change is to be delivered."""
        ...


async def person_at(folder: Path) -> Identity:
    """Who decides about a repository here, as their commits say; by their login where git does not know."""
    repo = await Repository.open(folder)
    try:
        return await repo.identity()
    except InputError:
        return Identity(getpass.getuser(), "")


class Absent:
    """A `Person` who is not there, and has said beforehand what they agree to.

    With `yes` they agree to any contract, and to a verified change about which nothing is to be said; a contract that
    they named themselves needs no word either.
    """

    def __init__(self, *, yes: bool = False, allow_dependency_change: bool = False) -> None:
        self._yes = yes
        self._tolerated = {"dependency_changed"} if allow_dependency_change else set()

    async def confirm(self, proposal: Proposal) -> Accept | Leave:
        # One that cannot be used needs nobody to say so.
        if self._yes or proposal.problems or proposal.source.startswith(GIVEN):
            return Accept("--yes" if self._yes else proposal.source)
        return Leave("the contract was derived, and nobody has agreed to it")

    async def approve(self, story: Story, verdict: Verdict) -> Approve | Leave:
        if not self._yes:
            return Leave("verified, and waits for approval")
        objections = [
            finding.message
            for finding in verdict.findings
            if finding.severity is not Severity.INFO and finding.kind not in self._tolerated
        ]
        if objections:
            return Leave("verified, but a person must look at this first: " + "; ".join(objections))
        return Approve("--yes")


class Once:
    """A `Person` who has one answer ready, and leaves everything after it to another."""

    def __init__(self, answer: Answer, then: Person) -> None:
        self._answer: Answer | None = answer
        self._then = then

    async def confirm(self, proposal: Proposal) -> Accept | Edit | Revise | Discard | Leave:
        if isinstance(self._answer, Accept | Edit | Revise):
            answer, self._answer = self._answer, None
            return answer
        return await self._then.confirm(proposal)

    async def approve(self, story: Story, verdict: Verdict) -> Approve | SendBack | Discard | Leave:
        if isinstance(self._answer, Approve | SendBack):
            answer, self._answer = self._answer, None
            return answer
        return await self._then.approve(story, verdict)


# How the source of a contract begins that a person wrote, and did not have derived.
GIVEN = "given"
