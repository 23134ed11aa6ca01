"""Evals: what must hold of a cell for it to pass. Two kinds are judged, all others are looked at by trueup itself."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from ._mocks import Predicates

Named = Annotated[str, Meta(min_length=1)]


class Comparator(StrEnum):
    """How a score is held against its threshold."""

    AT_LEAST = ">="
    MORE = ">"
    AT_MOST = "<="
    LESS = "<"

    @classmethod
    def _missing_(cls, value: object) -> Comparator | None:
        return cls(COMPARATOR_WORDS[value]) if value in COMPARATOR_WORDS else None


# How skilltest's own case builders write a comparator.
COMPARATOR_WORDS: dict[object, str] = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}


class EvalBase(Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """What every eval has: a label for reports."""

    name: str | None = None


class Boolean(EvalBase, frozen=True, kw_only=True, tag="boolean"):
    """A judge says whether the criterion holds."""

    criterion: Named
    expected: bool = True


class Numeric(EvalBase, frozen=True, kw_only=True, tag="numeric"):
    """A judge gives a score on a scale, which is held against a threshold."""

    criterion: Named
    threshold: float
    min: float = 0
    max: float = 10
    comparator: Comparator = Comparator.AT_LEAST


class Called(EvalBase, frozen=True, kw_only=True, tag="called"):
    """A mock or spy saw a call, `times` times where that is given."""

    mock: Named
    times: Annotated[int, Meta(ge=0)] | None = None
    where: Predicates = {}


class NotCalled(EvalBase, frozen=True, kw_only=True, tag="not_called"):
    """A mock or spy saw no such call."""

    mock: Named
    where: Predicates = {}


class Contains(EvalBase, frozen=True, kw_only=True, tag="contains"):
    """The last reply, or any reply, has a text in it."""

    text: Named
    ignore_case: bool = False
    message: Literal["last", "any"] = "last"
    expected: bool = True


class Matches(EvalBase, frozen=True, kw_only=True, tag="matches"):
    """The last reply, or any reply, matches an RE2 pattern somewhere."""

    pattern: Named
    message: Literal["last", "any"] = "last"
    expected: bool = True


class JsonEval(EvalBase, frozen=True, kw_only=True, tag="json"):
    """The last reply is JSON, in a code fence or bare; what a JSON Pointer leads to equals something, or fits a schema.

    With neither, it is enough that the pointer leads somewhere.
    """

    pointer: str = ""
    equals: Any | UnsetType = UNSET
    schema: dict[str, Any] | None = None


class FileEval(EvalBase, frozen=True, kw_only=True, tag="file"):
    """A file of the cell's workspace is there, or is not, or holds what it should."""

    path: Named
    exists: bool = True
    contains: str | None = None
    matches: str | None = None
    equals: str | None = None


class CommandEval(EvalBase, frozen=True, kw_only=True, tag="command"):
    """A command in the cell's workspace exits as it should, and prints what it should."""

    command: Named
    exit_code: int = 0
    output_contains: str | None = None
    timeout_secs: Annotated[float, Meta(gt=0)] = 60


class ToolCalled(EvalBase, frozen=True, kw_only=True, tag="tool_called"):
    """The agent called a tool, by its harness's name or by its kind (`shell`, `read`, `write`, `search`, `web`)."""

    tool: Named
    input: Predicates = {}
    times: Annotated[int, Meta(ge=0)] | None = None
    expected: bool = True


class ToolOrder(EvalBase, frozen=True, kw_only=True, tag="tool_order"):
    """The agent called these tools in this order, whatever came between."""

    tools: Annotated[list[Named], Meta(min_length=1)]


class CostBelow(EvalBase, frozen=True, kw_only=True, tag="cost_below"):
    """The skill's replies cost less than this; a cost that nobody knows is not below anything."""

    usd: Annotated[float, Meta(gt=0)]


class TurnsBelow(EvalBase, frozen=True, kw_only=True, tag="turns_below"):
    """The skill needed fewer replies than this."""

    turns: Annotated[int, Meta(ge=1)]


class Activated(EvalBase, frozen=True, kw_only=True, tag="activated"):
    """The harness chose by itself to use the installed skill."""


class NotActivated(EvalBase, frozen=True, kw_only=True, tag="not_activated"):
    """The harness left the installed skill alone."""


Eval = (
    Boolean
    | Numeric
    | Called
    | NotCalled
    | Contains
    | Matches
    | JsonEval
    | FileEval
    | CommandEval
    | ToolCalled
    | ToolOrder
    | CostBelow
    | TurnsBelow
    | Activated
    | NotActivated
)
