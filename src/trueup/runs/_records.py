"""The records of a run, and what the store tells about runs. Times are UTC, ISO 8601 with microseconds and a `Z`."""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from trueup.core.usage import Usage

EndStatus = Literal["completed", "incomplete", "cancelled"]
Status = Literal["in_progress", "completed", "incomplete", "cancelled"]
Dropped = Literal["run_not_found", "run_terminal"]


def _tag(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower().removesuffix("_record")


class Record(Struct, frozen=True, tag_field="kind", tag=_tag):
    """One thing that happened in a run. Each kind is a subclass."""


class Started(Record, frozen=True):
    """The first record: what the run is for and who does it. `data` is whatever the starter wants to find again."""

    intent: str
    agent_id: str | None = None
    agent_name: str | None = None
    client_id: str | None = None
    outcome_description: str | None = None
    data: dict[str, Any] = {}


class Turn(Record, frozen=True):
    """One action that ran or was refused. The store stamps `index`; an absent `output` says that no tool ran."""

    index: int | UnsetType = UNSET
    prompt: str | None = None
    tool: str | None = None
    parameters: dict[str, Any] = {}
    output: Any = UNSET
    cli_outcome: dict[str, Any] | None = None
    verifier_verdict: Literal["pass", "fail", "not_run"] = "not_run"
    policy_rejected: dict[str, Any] | None = None
    duration_ms: float | None = None


class ModelTurn(Record, frozen=True):
    """One answer of a model. It is numbered together with the turns."""

    index: int | UnsetType = UNSET
    assistant_text: str = ""
    requested_tool_calls: list[dict[str, Any]] = []
    model_id: str | None = None
    token_usage: Usage | None = None
    duration_ms: float | None = None


class CheckRecord(Record, frozen=True):
    """A check that ran, with its whole result."""

    result: dict[str, Any]


class EventRecord(Record, frozen=True):
    """Anything else worth keeping, by a type of its writer's choice."""

    type: str
    data: dict[str, Any] = {}


class Ended(Record, frozen=True):
    """The last record. `outcome` is whatever the ender wants to find again, `termination` why it ended early."""

    status: EndStatus
    summary: str = ""
    outcome: dict[str, Any] = {}
    termination: str | None = None


AnyRecord = Started | Turn | ModelTurn | CheckRecord | EventRecord | Ended
KINDS = frozenset(
    str(each.__struct_config__.tag) for each in (Started, Turn, ModelTurn, CheckRecord, EventRecord, Ended)
)


class StoredRecord(Struct, frozen=True):
    """A record as the store keeps it: its place in the run, its time, and the chain it hangs on."""

    seq: int
    at: str
    record: AnyRecord
    hash: str
    previous_hash: str


class Outlined(Struct, frozen=True):
    """A record as a person sees it at first: texts that are large are cut. `left_out` is their size, in bytes."""

    stored: StoredRecord
    left_out: int = 0


class RunInfo(Struct, frozen=True):
    """What is known of a run without reading its records. Turns and model turns make up `turn_count`.

    Texts are shown here without what a database cannot hold; the `started` and `ended` records have them exactly.
    """

    run_id: str
    kind: str
    intent: str
    agent_id: str | None
    agent_name: str | None
    client_id: str | None
    outcome_description: str | None
    started_at: str
    ended_at: str | None
    status: Status
    summary: str
    turn_count: int
    record_count: int
    head_hash: str

    @property
    def ended(self) -> bool:
        """Whether nothing can be added any more."""
        return self.status != "in_progress"

    @property
    def place(self) -> tuple[str, str]:
        """Where it stands among all runs, by time."""
        return self.started_at, self.run_id


class Appended(Struct, frozen=True):
    """What became of a batch: all of it, or none and why. `base_index` is what its first turn was numbered."""

    base_index: int
    count: int
    first_seq: int | None
    dropped: Dropped | None = None
    at: str | None = None


class Verification(Struct, frozen=True):
    """Whether a run is as it was written; if not, what is wrong first, and at which record."""

    ok: bool
    records: int
    problem: str | None = None
    seq: int | None = None


class Found(Struct, frozen=True):
    """A record that has the words somebody looked for. In `snippet` they stand between « and »."""

    run: RunInfo
    seq: int
    at: str
    kind: str
    snippet: str


class Pruned(Struct, frozen=True):
    """What was removed, or would be. `kept_space`: why the file is as large as before, if it is."""

    runs: list[RunInfo]
    records: int
    payloads: int = 0
    kept_space: str | None = None
