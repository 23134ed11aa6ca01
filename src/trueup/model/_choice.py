"""Which model is asked, where none is named."""

from __future__ import annotations

from collections.abc import Mapping

from trueup.core.settings import Settings

from ._generate import default_model_for, generate_for
from ._keys import has_key
from ._target import resolve_model

COMMAND_PREFIX = "command:"


def command_spec(line: str) -> str:
    """A command line, as `generate_for` wants it."""
    return line if line.startswith(COMMAND_PREFIX) else f"{COMMAND_PREFIX}{line}"


def chosen_model(settings: Settings, environ: Mapping[str, str] | None = None) -> str | None:
    """The model that the settings name, else the usual one beside the engine where there is a key for it.

    Beside a command there is none: whoever pays for it is not known, and it is not called in their name unasked.
    """
    if settings.generate is not None:
        return command_spec(settings.generate)
    if settings.model is not None:
        # A name that nobody serves is better refused before there is work to lose.
        generate_for(settings.model)
        return settings.model
    return _usual_model(settings.engine, environ)


def _usual_model(engine: str | None, environ: Mapping[str, str] | None) -> str | None:
    is_command = engine is not None and engine.startswith(COMMAND_PREFIX)
    model = None if is_command else default_model_for(engine, environ)
    if model is None:
        return None
    return model if has_key(resolve_model(model, environ=environ).provider, environ) else None
