"""A harness that skills are tested on: what it can do, whether it is ready, and what it cannot be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import Capabilities, Harness, HarnessResult, Mode, Probe, capabilities_of, find_harness

from .._case import HarnessProviderConfig
from .._model import Delivery, Needs, ProviderError
from ._gate import possible_actions


class Platform(Struct, frozen=True):
    """A harness by the name that a configuration gives it."""

    name: str
    harness: Harness
    capabilities: Capabilities

    @property
    def context(self) -> str:
        """How errors name it."""
        return f"harness:{self.name}"

    @property
    def least_mode(self) -> Mode:
        """The mode in which it may do least."""
        return next(mode for mode in Mode if mode in self.capabilities.modes)


def find_platform(name: str, environ: Mapping[str, str], folder: Path) -> Platform:
    """The platform of a name; an `InputError` where there is none."""
    capabilities = capabilities_of(name, environ, folder)
    return Platform(name, find_harness(name, environ, folder), capabilities)


def lacking(platform: Platform, config: HarnessProviderConfig, needs: Needs) -> Iterator[str]:
    """What cases need that the platform cannot do."""
    able, mode, name = platform.capabilities, Mode(config.mode), platform.name
    if mode not in able.modes:
        yield f"{name} has no mode {mode.value!r}: set `provider.mode` to one of {', '.join(able.modes)}"
    is_installed = Delivery(config.delivery) is Delivery.INSTALL
    if is_installed and able.skills is None:
        yield (
            f"no place is known at which {name} finds skills by itself and none of yours: use `delivery: system`, "
            "or another platform"
        )
    if needs.activation and not is_installed:
        yield f"whether {name} activates a skill can be seen only with `provider.delivery: install`"
    if (needs.tool_events or needs.activation or needs.mocks) and not able.tool_events:
        yield f"{name} does not tell which tools it calls, and cases have evals about that"
    missing = sorted(set(needs.mock_actions) - possible_actions(able, mode))
    if missing:
        yield f"mocks with {' or '.join(missing)} cannot be done on {name} in mode {mode.value!r}{_instead(able, mode)}"


def _instead(able: Capabilities, mode: Mode) -> str:
    possible = sorted(possible_actions(able, mode))
    return f": it can {' and '.join(possible)}" if possible else ": it does not ask before it uses a tool"


def unready(platform: Platform, probe: Probe) -> ProviderError | None:
    """Why the platform cannot be used here; None where it can, as far as is known."""
    if not probe.installed:
        return ProviderError(platform.context, f"{platform.name} is not installed: {probe.note}", kind=Kind.SPAWN)
    if probe.logged_in is False:
        what = probe.note.removeprefix("not logged in: ")
        return ProviderError(platform.context, f"{platform.name} is not logged in: {what}", kind=Kind.AUTH)
    return None


def failure(context: str, result: HarnessResult, spent: Usage) -> ProviderError:
    """A run that did not answer, as an error; what it cost all the same comes with it."""
    return ProviderError(context, f"{result.harness}: {result.error}", kind=result.failure_kind, usage=spent)
