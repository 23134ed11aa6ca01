"""In which order actions may run: by what they declare, and by the keys of the state that they share."""

from __future__ import annotations

from collections.abc import Container, Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

from ._components import components
from ._model import AnyAction

MOST_NAMES_SHOWN = 8


class Plan(Struct, frozen=True):
    """What waits for what. Actions are known by their place in the proposal.

    `order` is one after the other, as if nothing ran together; `needs` are those whose success an action needs, `after`
    all those that must be over before it begins.
    """

    order: list[int]
    needs: list[list[int]]
    after: list[set[int]]
    unknown: dict[int, list[str]]
    unmet: dict[int, list[str]]
    cycles: dict[int, str]


def plan(actions: Sequence[AnyAction], ids: Sequence[str], state: Container[str]) -> Plan:
    """Order actions by what they declare, those first that are listed first.

    What shares a key of the state, and one of them writes it, keeps that order too, so that the state ends as if they
    had run one by one.
    """
    needs, unknown = _declared(actions, ids)
    producers, unmet = _producers(actions, state)
    after = [{*one, *other} for one, other in zip(needs, producers, strict=True)]
    cycles = _cycles(after, ids)
    # What waits for itself never runs: nothing else should wait because of it.
    for place in cycles:
        after[place] = set()
    order = _in_order(after)
    _keep_order_on_state(actions, order, after)
    return Plan(order, needs, after, unknown, unmet, cycles)


def _declared(actions: Sequence[AnyAction], ids: Sequence[str]) -> tuple[list[list[int]], dict[int, list[str]]]:
    places: dict[str, int] = {}
    for place, action_id in enumerate(ids):
        places.setdefault(action_id, place)
    needs: list[list[int]] = []
    unknown: dict[int, list[str]] = {}
    for place, action in enumerate(actions):
        named = [*dict.fromkeys(action.dependencies or ())]
        needs.append([places[name] for name in named if name in places])
        if missing := [name for name in named if name not in places]:
            unknown[place] = missing
    return needs, unknown


def _producers(actions: Sequence[AnyAction], state: Container[str]) -> tuple[list[list[int]], dict[int, list[str]]]:
    """For each action, who brings the keys that it depends on and that are not there yet: the nearest one before it,
    else the first one after it."""
    writers: dict[str, list[int]] = {}
    for place, action in enumerate(actions):
        for key in action.writes:
            writers.setdefault(key, []).append(place)
    found: list[list[int]] = []
    unmet: dict[int, list[str]] = {}
    for place, action in enumerate(actions):
        found.append([])
        for key in dict.fromkeys(action.state_dependencies or ()):
            if key in state:
                continue
            writer = _nearest(writers.get(key, []), place)
            if writer is None:
                unmet.setdefault(place, []).append(key)
            else:
                found[place].append(writer)
    return found, unmet


def _nearest(writers: list[int], place: int) -> int | None:
    from bisect import bisect_left

    here = bisect_left(writers, place)
    if here > 0:
        return writers[here - 1]
    return next((writer for writer in writers[here : here + 2] if writer != place), None)


def _cycles(after: Sequence[set[int]], ids: Sequence[str]) -> dict[int, str]:
    cycles: dict[int, str] = {}
    for ring in components([sorted(before) for before in after]):
        if len(ring) > 1 or ring[0] in after[ring[0]]:
            shown = _cycle_shown(after, ring, ids)
            cycles.update(dict.fromkeys(ring, f"dependency cycle: {shown}"))
    return cycles


def _cycle_shown(after: Sequence[set[int]], ring: list[int], ids: Sequence[str]) -> str:
    members, at = set(ring), min(ring)
    way: dict[int, None] = {}
    while at not in way:
        way[at] = None
        at = min(after[at] & members)
    names = [ids[place] for place in way]
    names = [*names[names.index(ids[at]) :], ids[at]]
    if len(names) > MOST_NAMES_SHOWN:
        names = [*names[: MOST_NAMES_SHOWN - 2], "…", names[-1]]
    return " → ".join(names)


def _in_order(after: Sequence[set[int]]) -> list[int]:
    waiting = [len(before) for before in after]
    followers: list[list[int]] = [[] for _ in after]
    for place, before in enumerate(after):
        for earlier in before:
            followers[earlier].append(place)
    ready = [place for place, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order = []
    while ready:
        place = heappop(ready)
        order.append(place)
        for follower in followers[place]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heappush(ready, follower)
    return order


def _keep_order_on_state(actions: Sequence[AnyAction], order: Sequence[int], after: list[set[int]]) -> None:
    writer: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    for place in order:
        action = actions[place]
        for key in action.reads:
            if key in writer:
                after[place].add(writer[key])
            readers.setdefault(key, []).append(place)
        for key in action.writes:
            after[place].update(readers.pop(key, ()))
            if key in writer:
                after[place].add(writer[key])
            writer[key] = place
        after[place].discard(place)
