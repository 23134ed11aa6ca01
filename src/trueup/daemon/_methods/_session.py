"""Who a client is, and what it may do."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from trueup import __version__
from trueup.core.errors import InputError
from trueup.policy import Policies

from .._errors import Code, RpcError
from .._method import Call, Level, method
from .._proposals import ToolSpec
from ._policy import PolicyRule
from ._tools import SOURCE, Nothing

PROTOCOL_VERSION = 3
CAPABILITIES = frozenset({"runs.trace.v1", "tools.cancel.v1", "coder.v1"})

# Guessing 32 random bytes is hopeless; guessing without end is also a nuisance.
MOST_WRONG_TOKENS = 3
AFTER_A_WRONG_TOKEN_SECS = 0.2


class Auth(Struct, frozen=True):
    """One of the tokens; both where a client is a human's and says which agent it works for."""

    token: str | None = None
    host_token: str | None = None
    agent_id: str | None = None


class AuthResult(Struct, frozen=True):
    """That the client was let in. `auth_enabled` is false where everybody is."""

    ok: bool
    auth_enabled: bool


@method("session.auth", needs=Level.NOTHING)
async def auth(call: Call, params: Auth) -> AuthResult:
    """Show a token: that of the daemon, or the human's, which also allows to confirm and approve."""
    connection, tokens = call.connection, call.daemon.tokens
    if tokens is not None:
        shown = Level.NOTHING
        if params.host_token is not None and tokens.is_human_token(params.host_token):
            shown = Level.HUMAN
        elif params.host_token is None and params.token is not None and tokens.is_token(params.token):
            shown = Level.TOKEN
        if shown is Level.NOTHING:
            connection.wrong_tokens += 1
            await asyncio.sleep(AFTER_A_WRONG_TOKEN_SECS)
            enough = connection.wrong_tokens >= MOST_WRONG_TOKENS
            raise RpcError(Code.FAILED, "auth failed: token mismatch", hang_up=enough)
        connection.level = max(connection.level, shown)
    if params.agent_id is not None:
        connection.agent_id = params.agent_id
    return AuthResult(ok=True, auth_enabled=tokens is not None)


class Handshake(Struct, frozen=True):
    """What the client speaks, and what it cannot do without."""

    protocol_version: int
    client_version: str = ""
    required_capabilities: list[str] = []


class HandshakeResult(Struct, frozen=True):
    """What the daemon speaks."""

    protocol_version: int
    server_version: str
    client_protocol_version: int
    capabilities: list[str]


@method("server.handshake")
async def handshake(call: Call, params: Handshake) -> HandshakeResult:
    """Make sure that both sides speak the same protocol."""
    if params.protocol_version != PROTOCOL_VERSION:
        said = f"version mismatch: the daemon speaks protocol {PROTOCOL_VERSION}, the client {params.protocol_version}"
        raise RpcError(Code.VERSION_MISMATCH, said, {"protocol_version": PROTOCOL_VERSION})
    missing = sorted(set(params.required_capabilities) - CAPABILITIES)
    if missing:
        said = f"capability mismatch: the daemon has no {', '.join(missing)}"
        raise RpcError(Code.CAPABILITY_MISMATCH, said, {"missing": missing, "capabilities": sorted(CAPABILITIES)})
    call.connection.shook_hands = True
    return HandshakeResult(PROTOCOL_VERSION, __version__, params.protocol_version, sorted(CAPABILITIES))


class PageLink(Struct, frozen=True):
    """An address for a browser, which lets whoever opens it first see the pages."""

    url: str


@method("server.page_link", needs=Level.HUMAN)
async def page_link(call: Call, params: Nothing) -> PageLink:
    """Make an address that lets a person see the pages of this daemon, once."""
    url = call.daemon.page_link()
    if url is None:
        raise RpcError(Code.FAILED, "this daemon has no pages")
    return PageLink(url)


class InitSession(Struct, frozen=True):
    """Who the client is, with its tools and policies in one go."""

    client_id: str
    tools: list[ToolSpec] = []
    policies: list[PolicyRule] = []


class SessionInitialised(Struct, frozen=True):
    """The session, which is the whole connection, and how much was registered."""

    session_id: str
    tools_registered: int
    policies_registered: int


@method("session.init")
async def init(call: Call, params: InitSession) -> SessionInitialised:
    """Say who calls, and register tools and policies, all or none. Policies hold for the whole connection."""
    connection = call.connection
    policies = [each.as_policy(f"policies.{index}") for index, each in enumerate(params.policies)]
    try:
        # Somewhere else first: what cannot be registered is found before anything is.
        rehearsal = Policies(call.daemon.policies)
        for policy in policies:
            rehearsal.register(policy)
        tools = connection.tools.register(params.tools, source=SOURCE)
        for policy in policies:
            connection.policies.register(policy)
    except InputError as error:
        raise RpcError(Code.INVALID_PARAMS, f"invalid params: {error}") from None
    connection.agent_id = connection.agent_id or params.client_id
    return SessionInitialised(connection.client_id, tools, len(policies))
