"""Evals of what the agent did on the way: tools it called, mocks that saw it, the skill it used, turns and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from trueup.runs import encode_json

from .._case import Activated, Called, CostBelow, NotActivated, NotCalled, ToolCalled, ToolOrder, TurnsBelow
from .._matching import arguments_match
from .._model import MockCall, ToolEvent
from .._report import CallsDetail, SeenDetail
from ._bounds import cut
from ._evidence import Evidence, Finding, UnseenError
from ._mock_calls import calls_of

MOST_NAMED = 5
LONGEST_NAMED = 120


def tool_called(eval_: ToolCalled, evidence: Evidence) -> Finding:
    """Count the calls of a tool."""
    seen = _tool_calls(evidence, "tool_called")
    count = sum(_is_tool(eval_.tool, call) and arguments_match(eval_.input, call.input) for call in seen)
    called = count >= 1 if eval_.times is None else count == eval_.times
    such = " with such arguments" if eval_.input else ""
    reason = f"{eval_.tool} was {_called(count)}{such}{_besides(_tool_names(seen))}."
    detail = CallsDetail(count=count, negated=not eval_.expected, times=eval_.times)
    return Finding(passed=called is eval_.expected, detail=detail, reason=reason)


def tool_order(eval_: ToolOrder, evidence: Evidence) -> Finding:
    """Whether tools were called one after the other, with anything between them."""
    seen = _tool_calls(evidence, "tool_order")
    calls = iter(seen)
    missing = next((tool for tool in eval_.tools if not any(_is_tool(tool, call) for call in calls)), None)
    wanted = ", ".join(eval_.tools)
    found = f"The tools were called in the order {wanted}."
    reason = (
        found if missing is None else f"{missing} was not called in its turn of {wanted}{_besides(_tool_names(seen))}."
    )
    names = [call.name for call in seen][: 10 * MOST_NAMED]
    return Finding(passed=missing is None, detail=SeenDetail(value=names, expected=eval_.tools), reason=reason)


def mock_called(eval_: Called, evidence: Evidence) -> Finding:
    """Count what a mock or spy saw."""
    count, reason = _mock_count(eval_, evidence)
    passed = count >= 1 if eval_.times is None else count == eval_.times
    return Finding(passed=passed, detail=CallsDetail(count=count, negated=False, times=eval_.times), reason=reason)


def mock_not_called(eval_: NotCalled, evidence: Evidence) -> Finding:
    """Whether a mock or spy saw nothing."""
    count, reason = _mock_count(eval_, evidence)
    return Finding(passed=count == 0, detail=CallsDetail(count=count, negated=True), reason=reason)


def skill_activated(eval_: Activated | NotActivated, evidence: Evidence) -> Finding:
    """Whether the harness used the skill by itself."""
    if evidence.activated is None:
        raise UnseenError(
            f"whether {evidence.spec.platform} used the skill could not be seen; "
            f"it can where the delivery is `install` and the harness tells its tool calls"
        )
    expected = isinstance(eval_, Activated)
    reason = "The skill was used." if evidence.activated else "The skill was not used."
    detail = SeenDetail(value=evidence.activated, expected=expected)
    return Finding(passed=evidence.activated is expected, detail=detail, reason=reason)


def cost_below(eval_: CostBelow, evidence: Evidence) -> Finding:
    """Whether the replies cost less; an amount of which a part is unknown is not below anything."""
    used = evidence.skill_usage
    reported = None if used is None else used.cost_usd
    cost = reported if reported is not None or used is None else used.estimated_cost_usd
    known = cost is not None and used is not None and not used.incomplete
    return Finding(
        passed=known and cost is not None and cost < eval_.usd,
        detail=SeenDetail(value=cost, expected=eval_.usd),
        reason=_cost_reason(cost, known=known, estimated=reported is None, limit=eval_.usd),
    )


def turns_below(eval_: TurnsBelow, evidence: Evidence) -> Finding:
    """Whether the skill needed fewer replies."""
    count = evidence.turns
    return Finding(
        passed=count < eval_.turns,
        detail=SeenDetail(value=count, expected=eval_.turns),
        reason=f"The skill gave {count} {'reply' if count == 1 else 'replies'}; fewer than {eval_.turns} were wanted.",
    )


def _tool_calls(evidence: Evidence, what: str) -> list[ToolEvent]:
    if not evidence.events_told:
        raise UnseenError(
            f"{evidence.spec.platform} does not tell which tools it called, so `{what}` can be neither true nor false; "
            f"use a platform that does"
        )
    return evidence.tool_calls


def _is_tool(tool: str, call: ToolEvent) -> bool:
    return tool.casefold() in {call.name.casefold(), call.tool_kind.casefold()}


def _mock_count(eval_: Called | NotCalled, evidence: Evidence) -> tuple[int, str]:
    if evidence.mock_calls is None:
        raise UnseenError(f"nobody watched the tool calls of {evidence.spec.platform}, which {eval_.mock!r} is about")
    own = calls_of(eval_.mock, evidence.mock_calls, evidence.spec.case.mocks)
    count = sum(arguments_match(eval_.where, call.input) for call in own)
    such = " with such arguments" if eval_.where else ""
    return count, f"{eval_.mock} was {_called(count)}{such}{_besides(_mock_names(evidence.mock_calls))}."


def _cost_reason(cost: float | None, *, known: bool, estimated: bool, limit: float) -> str:
    if cost is None:
        return f"Nobody told what the replies cost, so they are not known to be below ${limit:g}."
    source = " by a price table" if estimated else ""
    if not known:
        return f"The replies cost at least ${cost:.4f}{source} and a part is unknown, so they are not known to be below ${limit:g}."
    return f"The replies cost ${cost:.4f}{source}; less than ${limit:g} was wanted."


def _called(count: int) -> str:
    return {0: "never called", 1: "called once"}.get(count, f"called {count} times")


def _besides(names: Sequence[str]) -> str:
    """All that was called, for somebody who wonders what happened instead."""
    counts = Counter(names)
    told = [f"{name} × {count}" if count > 1 else name for name, count in counts.items()]
    more = [f"{len(told) - MOST_NAMED} more"] if len(told) > MOST_NAMED else []
    return f" (all calls: {', '.join([*told[:MOST_NAMED], *more])})" if told else " (there were no calls at all)"


def _tool_names(calls: Iterable[ToolEvent]) -> list[str]:
    return [call.name or call.tool_kind for call in calls]


def _mock_names(calls: Iterable[MockCall]) -> list[str]:
    return [f"{call.tool}({_argument(call.input)}){_marked(call)}" for call in calls]


def _marked(call: MockCall) -> str:
    return "" if call.action == "allow" else f" [{call.action}]"


def _argument(given: Any) -> str:
    """What a call is best known by: its command, else all of its arguments."""
    if given is None:
        return ""
    command = given.get("command") if isinstance(given, dict) else None
    return cut(command if isinstance(command, str) else encode_json(given).decode(), LONGEST_NAMED)
