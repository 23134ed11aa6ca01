"""Which session somebody means: by its id, or because there is no other that it could be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trueup.coder import Sessions, SessionSummary, State, Story
from trueup.core.errors import InputError
from trueup.workspace import Repository

from ._code_run import with_sessions

Suits = Callable[[SessionSummary], bool]


def find_session(session: str, repo: Path, suits: Suits | None = None) -> Story:
    """The session that somebody means."""

    async def read(sessions: Sessions) -> Story:
        return await sessions.story(await session_id_of(sessions, session, repo, suits))

    return with_sessions(read)


async def session_id_of(sessions: Sessions, session: str, repo: Path, suits: Suits | None = None) -> str:
    """The id that was named; else of the newest session of the repository, or of the only one that suits."""
    if session:
        return session
    here = await sessions_of(sessions, repo)
    if suits is None and here:
        return here[0].id
    found = [each for each in here if suits is not None and suits(each)]
    if len(found) == 1:
        return found[0].id
    if not found:
        raise InputError(
            "no session of this repository is there for that; `trueup code list` shows those that there are"
        )
    names = "\n".join(f"  {each.id}  {each.state.value}  {each.intent}" for each in found[:10])
    raise InputError(f"there are several sessions that could be meant; name one:\n{names}")


async def sessions_of(sessions: Sessions, folder: Path) -> list[SessionSummary]:
    """The sessions of the repository that a folder is in, newest first."""
    root = (await Repository.open(folder)).root
    return [each for each in await sessions.list() if each.repository == str(root)]


def waits_for_a_person(session: SessionSummary) -> bool:
    """Whether a contract or a change is to be decided about."""
    return session.owner is None and session.state in (State.CONTRACT_PROPOSED, State.NEEDS_APPROVAL)


def is_unfinished(session: SessionSummary) -> bool:
    """Whether something can still happen in it."""
    return not session.state.is_final


def is_unfinished_and_alone(session: SessionSummary) -> bool:
    """Whether it could go on, and no process lets it."""
    return session.owner is None and not session.state.is_final
