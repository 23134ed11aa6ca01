"""Coder sessions over the wire: those that were started here, and those of `trueup code`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from trueup.coder import (
    Accept,
    Answer,
    Approve,
    Deliver,
    Edit,
    Revise,
    State,
    Story,
    person_at,
    usable,
)
from trueup.contract import Contract
from trueup.core.errors import InputError
from trueup.core.text import writable, written
from trueup.runs import EventRecord

from .._method import Call, Level, method
from ..coding import CoderStart, SessionRow, SessionView, code_request, session_row, session_view

# Less than a client waits for an answer; a session goes on, and what it comes to can be asked for and watched.
PATIENCE_SECS = 25


class OneSession(Struct, frozen=True):
    """A session, by its id or the beginning of it."""

    session_id: str


class ConfirmContract(Struct, frozen=True):
    """A session whose contract is agreed to; with `contract`, to that one instead."""

    session_id: str
    contract: Contract | None = None


class ReviseContract(Struct, frozen=True):
    """What should be different about the contract of a session."""

    session_id: str
    request: str


class Revised(Struct, frozen=True, kw_only=True):
    """The contract after somebody asked for another; where it could not be made, the old one and why."""

    state: State
    revised: bool
    contract: dict[str, Any] | None
    baseline: list[dict[str, Any]] | None
    baseline_gates_nothing: bool
    message: str


class ApproveMerge(Struct, frozen=True):
    """Whether a verified change is to be delivered; `deliver` is another way than was asked for."""

    session_id: str
    approve: bool
    deliver: Deliver | None = None


class Delivered(Struct, frozen=True, kw_only=True):
    """What became of a change."""

    state: State
    branch: str | None = None
    commit: str | None = None
    patch: str | None = None
    message: str = ""


class CancelSession(Struct, frozen=True):
    """A session to give up."""

    session_id: str
    reason: str | None = None


class Cancelled(Struct, frozen=True, kw_only=True):
    """How a session ended. What its engine made is kept where `recoverable` says so."""

    state: State
    already_terminal: bool
    message: str
    worktree: str | None
    recoverable: bool


class Respond(Struct, frozen=True):
    """Words for a session: about its contract, about its change, or for the engine's next prompt."""

    session_id: str
    text: str
    steer: bool = False


class Heard(Struct, frozen=True):
    """Somebody will hear it."""

    ok: bool
    state: State


class Diff(Struct, frozen=True):
    """A change as a patch."""

    session_id: str
    diff: str


class Nothing(Struct, frozen=True):
    """No parameters."""


class SessionList(Struct, frozen=True):
    """Sessions, newest first."""

    sessions: list[SessionRow]


@method("coder.start", aside=True)
async def start(call: Call, params: CoderStart) -> SessionView:
    """Begin a session: its contract is proposed, with what each check is worth on the base.

    The answer comes when the contract waits to be agreed to, or after a while in whatever state the session is. Nobody
    works before somebody with the human token has agreed.
    """
    request = await code_request(params, by_a_person=call.connection.level is Level.HUMAN)
    return await _view(call, await call.daemon.coding.start(request, secs=PATIENCE_SECS))


@method("coder.confirm_contract", needs=Level.HUMAN, aside=True)
async def confirm_contract(call: Call, params: ConfirmContract) -> SessionView:
    """Agree to a contract, and let the engine work."""
    story = await _waiting(call, params.session_id, State.CONTRACT_PROPOSED)
    agreed = Accept(str(await person_at(Path(story.request.folder))))
    if params.contract is not None:
        await _answer(call, story, Edit(usable(params.contract)), agreed)
    elif story.contract_problems:
        raise InputError("the contract cannot be used: " + "; ".join(story.contract_problems))
    else:
        await _answer(call, story, agreed)
    return await _view(call, story.id)


@method("coder.revise_contract", aside=True)
async def revise_contract(call: Call, params: ReviseContract) -> Revised:
    """Have a proposed contract written anew, by words. It still waits to be agreed to."""
    before = await _waiting(call, params.session_id, State.CONTRACT_PROPOSED)
    await _answer(call, before, Revise(params.request))
    view = await _view(call, before.id)
    revised = view.contract != (before.contract.as_data() if before.contract else None)
    return Revised(
        state=view.state,
        revised=revised,
        contract=view.contract,
        baseline=view.baseline,
        baseline_gates_nothing=view.baseline_gates_nothing,
        message=view.message if revised else f"nothing was changed: {await _latest_error(call, before.id)}",
    )


@method("coder.approve_merge", needs=Level.HUMAN, aside=True)
async def approve_merge(call: Call, params: ApproveMerge) -> Delivered:
    """Have a verified change delivered, or thrown away."""
    story = await _waiting(call, params.session_id, State.NEEDS_APPROVAL)
    if params.approve:
        await _answer(call, story, Approve(await person_at(Path(story.request.folder)), params.deliver))
    else:
        await call.daemon.coding.cancel(story.id, "discarded")
    view = await _view(call, story.id)
    return Delivered(state=view.state, branch=view.branch, commit=view.commit, patch=view.patch, message=view.message)


@method("coder.cancel", aside=True)
async def cancel(call: Call, params: CancelSession) -> Cancelled:
    """Give a session up, having stopped whoever works on it."""
    story = await call.daemon.coding.sessions.story(params.session_id)
    already = story.state.is_final
    if not already:
        why = "cancelled" if params.reason is None else f"cancelled: {params.reason}"
        story = await call.daemon.coding.cancel(story.id, why)
    return Cancelled(
        state=story.state,
        already_terminal=already,
        message=writable(story.message),
        worktree=None if story.state.is_final else story.workspace,
        recoverable=story.tree is not None,
    )


@method("coder.respond", aside=True)
async def respond(call: Call, params: Respond) -> Heard:
    """Say something to a session: what its contract or its change lacks, or a word for the engine's next prompt."""
    if not params.text.strip():
        raise InputError("there is nothing to say: `text` is empty")
    coding = call.daemon.coding
    story = await coding.sessions.story(params.session_id)
    await coding.respond(story, params.text, secs=PATIENCE_SECS)
    return Heard(ok=True, state=(await coding.sessions.story(story.id)).state)


@method("coder.resume", aside=True)
async def resume(call: Call, params: OneSession) -> SessionView:
    """Go on with a session that was left in the middle, from the last state that it was safe in."""
    story = await call.daemon.coding.sessions.story(params.session_id)
    await call.daemon.coding.resume(story.id, secs=PATIENCE_SECS)
    return await _view(call, story.id)


@method("coder.get", aside=True)
async def get(call: Call, params: OneSession) -> SessionView:
    """A session with everything that is known of it."""
    return await _view(call, params.session_id)


@method("coder.list", aside=True)
async def list_sessions(call: Call, params: Nothing) -> SessionList:
    """Every session, newest first."""
    return SessionList([session_row(each) for each in await call.daemon.coding.sessions.list()])


@method("coder.diff", aside=True)
async def diff(call: Call, params: OneSession) -> Diff:
    """The latest change of a session, as a patch."""
    sessions = call.daemon.coding.sessions
    story = await sessions.story(params.session_id)
    return Diff(story.id, (await sessions.diff(story.id)).decode(errors="replace"))


async def _waiting(call: Call, session_id: str, state: State) -> Story:
    story = await call.daemon.coding.sessions.story(session_id)
    if story.state is not state:
        raise InputError(f"session {story.id} is {story.state.value}, and not {state.value}")
    return story


async def _answer(call: Call, story: Story, *answers: Answer) -> None:
    await call.daemon.coding.answer(story, *answers, secs=PATIENCE_SECS)


async def _view(call: Call, session_id: str) -> SessionView:
    sessions = call.daemon.coding.sessions
    story = await sessions.story(session_id)
    return session_view(story, live=await sessions.owner(story.id) is not None)


async def _latest_error(call: Call, session_id: str) -> str:
    found = (await call.daemon.store.latest(session_id, "error")).get(session_id)
    said = found.record.data["message"] if found and isinstance(found.record, EventRecord) else ""
    return written(said or "the contract that came of it is the same")
