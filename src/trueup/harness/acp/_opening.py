"""How a session with an ACP agent is opened: who it is, a new session or an old one, and what must be set first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp import PROTOCOL_VERSION, RequestError
from acp.schema import (
    ClientCapabilities,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    NewSessionRequest,
    ResumeSessionRequest,
    SessionInfo,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
)
from msgspec import Struct
from pydantic import ValidationError

from trueup.core.errors import Kind

from .._protocol import HarnessRequest
from .._session_files import is_elsewhere
from ..agents import Failure
from ._endings import NOT_FOUND, failure_of_error
from ._modes import Offer, Setting, UnusableError, model_setting, offer_of, settings_for
from ._named import AcpAgent
from ._wire import Wire

MOST_PAGES = 20


class Opened(Struct, frozen=True):
    """A session that is ready for its prompt, and the mode that it is in, with the option by which it is told, if by one."""

    id: str
    mode: str | None
    mode_option: str | None = None


async def introduce(wire: Wire) -> InitializeResponse:
    """Tell the agent who we are. No files and no terminals of ours are offered: it has its own, where it works."""
    told = await wire.ask(
        "initialize",
        InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation(name="trueup", title="trueup", version="1"),
        ),
        InitializeResponse,
    )
    if told.protocol_version != PROTOCOL_VERSION:
        raise _unusable(f"the agent speaks version {told.protocol_version} of ACP, and not {PROTOCOL_VERSION}")
    return told


async def open_session(
    wire: Wire, introduced: InitializeResponse, request: HarnessRequest, agent: AcpAgent, folder: str, *, must_ask: bool
) -> Opened:
    """Open a session in a folder, in the mode in which the agent asks where it must."""
    if request.resume is None:
        told = await wire.tell("session_new", NewSessionRequest(cwd=folder, mcp_servers=[]))
    else:
        told = {**await _go_on(wire, introduced, request.resume, folder), "sessionId": request.resume}
    session = told.get("sessionId")
    if not isinstance(session, str):
        raise _unusable("the agent began a session and did not tell its id")
    offer = offer_of(told)
    mode = await _prepare(wire, offer, session, request, agent, must_ask=must_ask)
    return Opened(session, mode, offer.mode_option)


async def _go_on(wire: Wire, introduced: InitializeResponse, session: str, folder: str) -> Mapping[str, Any]:
    can = introduced.agent_capabilities
    sessions = can.session_capabilities if can else None
    if sessions and sessions.list:
        await _refuse_elsewhere(wire, session, folder)
    try:
        if sessions and sessions.resume:
            resumed = ResumeSessionRequest(session_id=session, cwd=folder, mcp_servers=[])
            return await wire.tell("session_resume", resumed)
        if can and can.load_session:
            loaded = LoadSessionRequest(session_id=session, cwd=folder, mcp_servers=[])
            return await wire.tell("session_load", loaded)
    except RequestError as error:
        told = failure_of_error(error.code, str(error), error.data)
        if told.kind not in (Kind.OTHER, Kind.PROTOCOL, Kind.SESSION_NOT_FOUND) and error.code != NOT_FOUND:
            raise
        raise _lost(f"the agent cannot go on with session {session}: {told.message}") from None
    raise _lost("the agent cannot go on with a session: begin a new one")


async def _refuse_elsewhere(wire: Wire, session: str, folder: str) -> None:
    """Several agents go on in the folder in which a session began, whatever folder they are told."""
    found = await _listed(wire, session)
    if found is not None and is_elsewhere(found.cwd, folder):
        what = f"session {session} began in {found.cwd}, and cannot go on in {folder}"
        raise _lost(f"{what}: resume it there, or begin a new one here")


async def _listed(wire: Wire, session: str) -> SessionInfo | None:
    """What the agent's own list says of a session; None where it says nothing."""
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        try:
            told = await wire.ask("session_list", ListSessionsRequest(cursor=cursor), ListSessionsResponse)
        except (RequestError, ValidationError):
            return None
        found = next((each for each in told.sessions if each.session_id == session), None)
        cursor = told.next_cursor
        if found is not None or cursor is None:
            return found
    return None


async def _prepare(
    wire: Wire, offer: Offer, session: str, request: HarnessRequest, agent: AcpAgent, *, must_ask: bool
) -> str | None:
    """Set what has to be set; gives the mode that the session is in then."""
    settings = settings_for(agent, offer, must_ask=must_ask)
    for setting in settings:
        await _set(wire, session, setting)
    if request.model is not None and agent.model_word is None and agent.model_variable is None:
        await _set(wire, session, model_setting(request.model, offer))
    return next((each.value for each in settings if each.option == offer.mode_option), offer.mode)


async def _set(wire: Wire, session: str, setting: Setting) -> None:
    if setting.option is None:
        await wire.tell("session_set_mode", SetSessionModeRequest(session_id=session, mode_id=setting.value))
        return
    option = SetSessionConfigOptionSelectRequest(session_id=session, config_id=setting.option, value=setting.value)
    await wire.tell("session_set_config_option", option)


def _unusable(what: str) -> UnusableError:
    return UnusableError(Failure(what, Kind.PROTOCOL))


def _lost(what: str) -> UnusableError:
    return UnusableError(Failure(what, Kind.SESSION_NOT_FOUND))
