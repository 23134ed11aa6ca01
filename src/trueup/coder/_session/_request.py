"""What a person asks of a session."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from trueup.contract import Contract


class Deliver(StrEnum):
    """What becomes of a change that is verified and approved."""

    MERGE = "merge"
    BRANCH = "branch"
    PATCH = "patch"
    NONE = "none"


class Pick(StrEnum):
    """Which of the verified changes of a race is the one: the first, or when all are done the one that cost or changed least."""

    FIRST = "first"
    CHEAPEST = "cheapest"
    SMALLEST = "smallest"


class AgentNetwork(StrEnum):
    """What an engine reaches: nothing but itself, its vendor through trueup's proxy, or whatever the user reaches."""

    NONE = "none"
    PROXY = "proxy"
    HOST = "host"


class Limits(Struct, frozen=True, kw_only=True):
    """How much a session may use. Transient failures of an engine are tried again without counting.

    `engine_secs` is what engines may take over all iterations, `idle_secs` how long one may keep silent. With
    `strict`, a limit that cannot be metered ends the session.
    """

    iterations: int = 8
    engine_secs: float | None = None
    idle_secs: float | None = 1800
    turns: int | None = None
    tokens: int | None = None
    usd: float | None = None
    retries: int = 3
    retry_secs: float = 2
    strict: bool = False


class CodeRequest(Struct, frozen=True, kw_only=True):
    """One `trueup code`: what is wanted, where, by whom, and within which limits.

    `folder` is where the person stood, `contract` what whoever asks on their behalf would have done mean, `generate` and `judge` name models, or programs (`command:…`),
    that answer a prompt. A `cassette` that is there gives the vendor's answers; one that is not is recorded.
    With `user_config` an agent has the person's own configuration of it, hooks and servers included.
    `race` is the race that the session is in: then the limits are for all of its sessions together.
    """

    intent: str
    folder: str
    engine: str
    base: str | None = None
    model: str | None = None
    contract_file: str | None = None
    contract: Contract | None = None
    generate: str | None = None
    attempts_at_a_contract: int = 3
    judge: str | None = None
    limits: Limits = Limits()
    deliver: Deliver = Deliver.MERGE
    sandboxed: bool = True
    network: AgentNetwork | None = None
    user_config: bool = False
    cassette: str | None = None
    allow_no_goal: bool = False
    jobs: int = 1
    race: str | None = None
