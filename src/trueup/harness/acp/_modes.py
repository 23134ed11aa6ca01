"""What a session of an ACP agent must be told before its prompt: the mode in which it asks, its options, the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trueup.core.errors import Kind

from ..agents import Failure
from ._named import AcpAgent


class Setting(Struct, frozen=True):
    """Something to be set: a mode, by its own request, or an option."""

    value: str
    option: str | None = None


class Offer(Struct, frozen=True):
    """What a session says of itself when it begins: its modes and options, each with the value that it has."""

    modes: tuple[str, ...] = ()
    mode: str | None = None
    mode_option: str | None = None
    options: Mapping[str, str] = {}
    model_option: str | None = None
    models: tuple[str, ...] = ()


class UnusableError(Exception):
    """A session cannot be had as it is needed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def offer_of(session: Mapping[str, Any]) -> Offer:
    """What the answer to `session/new`, or to going on with a session, offers."""
    modes = session.get("modes")
    modes = modes if isinstance(modes, dict) else {}
    known = list(_options(session.get("configOptions")))
    by_category = {option.get("category"): option for option in reversed(known)}
    mode, model = by_category.get("mode", {}), by_category.get("model", {})
    current = modes.get("currentModeId", mode.get("currentValue"))
    return Offer(
        modes=tuple(_ids(modes.get("availableModes"), "id")) or tuple(_values(mode)),
        mode=current if isinstance(current, str) else None,
        mode_option=None if modes else mode.get("id"),
        options={option["id"]: str(option.get("currentValue")) for option in known},
        model_option=model.get("id"),
        models=tuple(_values(model)),
    )


def settings_for(agent: AcpAgent, offer: Offer, *, must_ask: bool) -> list[Setting]:
    """What has to be set so that the agent asks, or so that it need not; raises where it cannot be made to ask."""
    if not must_ask:
        is_free = agent.free_mode in offer.modes and agent.free_mode != offer.mode
        return [Setting(agent.free_mode, offer.mode_option)] if is_free and agent.free_mode else []
    wrong = [
        Setting(value, option) for option, value in agent.options.items() if offer.options.get(option, value) != value
    ]
    if not agent.asking_modes or offer.mode in agent.asking_modes:
        return wrong
    mode = next((mode for mode in agent.asking_modes if mode in offer.modes), None)
    if mode is None:
        offered = ", ".join(offer.modes) or "none"
        what = f"it must be in mode {agent.asking_modes[0]!r} to ask before it acts, and offers {offered}"
        raise UnusableError(Failure(f"the agent cannot be made to ask: {what}", Kind.PROTOCOL))
    return [*wrong, Setting(mode, offer.mode_option)]


def model_setting(model: str, offer: Offer) -> Setting:
    """How the session is told its model; raises where it does not take this one."""
    if offer.model_option is None:
        what = "the agent cannot be told a model over ACP: choose it in its own settings, or in its command line"
        raise UnusableError(Failure(what, Kind.INPUT))
    named = [each for each in offer.models if each == model] or _of_vendors(model, offer.models)
    if len(named) > 1:
        raise UnusableError(
            Failure(f"several vendors have a model {model!r}: name one of {', '.join(named)}", Kind.INPUT)
        )
    if offer.models and not named:
        known = ", ".join(offer.models[:20])
        raise UnusableError(Failure(f"the agent has no model {model!r}, but {known}", Kind.MODEL_NOT_FOUND))
    return Setting(named[0] if named else model, offer.model_option)


def _of_vendors(model: str, known: Sequence[str]) -> list[str]:
    """Models of this name that are known together with their vendor, as in `openai/gpt-5`."""
    return [each for each in known if each.partition("/")[2] == model]


def _options(told: Any) -> Iterator[dict[str, Any]]:
    for option in told if isinstance(told, list) else []:
        if isinstance(option, dict) and isinstance(option.get("id"), str):
            yield option


def _values(option: Mapping[str, Any]) -> Iterator[str]:
    """The values of an option, also where they come in groups."""
    for each in option.get("options") or []:
        if isinstance(each, dict):
            yield from _values(each) if "options" in each else _ids([each], "value")


def _ids(told: Any, name: str) -> Iterator[str]:
    for each in told if isinstance(told, list) else []:
        if isinstance(each, dict) and isinstance(each.get(name), str):
            yield each[name]
