"""What is refused of a proposal: the one answer that `verify` reports and `submit` acts on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from trueup.core.protocols import Action, Decision

from ._graph import Plan, plan
from ._ground import Ground
from ._model import AnyAction, Issue, IssueKind, Proposal, ToolCallAction
from ._tools import Tools

# So many are looked at before others get their turn on the loop.
AT_A_STRETCH = 200


class Judgement(Struct, frozen=True):
    """A proposal's actions by their ids, why some are refused, and in which order the others may run."""

    ids: list[str]
    issues: list[list[Issue]]
    plan: Plan


async def judge(proposal: Proposal, ground: Ground, state: Mapping[str, Any]) -> Judgement:
    """Decide about every action before any of them runs.

    Policies see the state as the proposal finds it: what it writes itself cannot allow what they refuse.
    """
    ids = action_ids(proposal.actions)
    planned = plan(proposal.actions, ids, state)
    issues: list[list[Issue]] = []
    duplicates = _duplicates(ids)
    for place, action in enumerate(proposal.actions):
        if place % AT_A_STRETCH == AT_A_STRETCH - 1:
            await asyncio.sleep(0)
        found = _found(action, place, ids, place in duplicates, planned, ground.tools)
        issues.append(
            [Issue(action_id=ids[place], action_index=place, kind=kind, message=said) for kind, said in found]
        )
    await _ask_policies(proposal.actions, ids, issues, ground, state)
    return Judgement(ids, issues, planned)


def action_ids(actions: Sequence[AnyAction]) -> list[str]:
    """The id of each action; one that has none gets one that no other has, the same each time."""
    given = {action.id for action in actions}
    ids = []
    for place, action in enumerate(actions):
        action_id = action.id or f"action-{place + 1}"
        while not action.id and action_id in given:
            action_id += "'"
        ids.append(action_id)
    return ids


def _duplicates(ids: Sequence[str]) -> set[int]:
    first: dict[str, int] = {}
    return {place for place, action_id in enumerate(ids) if first.setdefault(action_id, place) != place}


def _found(
    action: AnyAction, place: int, ids: Sequence[str], is_duplicate: bool, planned: Plan, tools: Tools
) -> list[tuple[IssueKind, str]]:
    found: list[tuple[IssueKind, str]] = []
    if is_duplicate:
        found.append(("duplicate_id", f"duplicate action id '{ids[place]}'"))
    if isinstance(action, ToolCallAction):
        found += _tool_issues(action, tools)
    if action.preconditions:
        found.append(("unsupported", "preconditions are not supported: depend on an assertion instead"))
    found += (
        ("unknown_dependency", f"dependency '{name}' is not an action of this proposal")
        for name in planned.unknown.get(place, ())
    )
    if place in planned.cycles:
        found.append(("cycle", planned.cycles[place]))
    found += (("state_dependency", f"state dependency '{key}' not found") for key in planned.unmet.get(place, ()))
    return found


def _tool_issues(action: ToolCallAction, tools: Tools) -> list[tuple[IssueKind, str]]:
    if not action.tool:
        return [("no_tool", "tool_call has no tool")]
    if action.tool not in tools:
        return [("unknown_tool", f"tool '{action.tool}' is not registered")]
    problem = tools.problem(action.tool, action.parameters)
    return [] if problem is None else [("invalid_parameters", problem)]


async def _ask_policies(
    actions: Sequence[AnyAction],
    ids: Sequence[str],
    issues: list[list[Issue]],
    ground: Ground,
    state: Mapping[str, Any],
) -> None:
    asked: list[int] = []
    calls: list[Action] = []
    for place, action in enumerate(actions):
        if isinstance(action, ToolCallAction) and action.tool is not None and action.tool in ground.tools:
            asked.append(place)
            calls.append(Action(action.tool, action.parameters))
    if not calls:
        return
    for place, call, decision in zip(asked, calls, await ground.decide(calls, state), strict=True):
        if not decision.allowed:
            issues[place].append(refusal(decision, call.tool, ids[place], place))


def refusal(decision: Decision, tool: str, action_id: str, place: int) -> Issue:
    """A decision of the policies as an issue."""
    rule = decision.rule or "unnamed"
    return Issue(
        action_id=action_id,
        action_index=place,
        kind="policy",
        message=decision.reason or f"policy '{rule}': tool '{tool}' denied by policy",
        rule=rule,
        param=UNSET if decision.param is None else decision.param,
    )
