"""From the options of `trueup test` to what is to be run, with everything that can be refused before it costs anything."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.settings import PROJECT_FILE
from trueup.skills import (
    Config,
    Form,
    Limits,
    Loaded,
    MatrixRequest,
    Provider,
    StoredBaseline,
    cells_of,
    config_folder,
    form_of,
    load_cases,
    load_config,
    matching,
    override_config,
    provider_for,
)


class Setup(Struct, frozen=True, kw_only=True):
    """Who answers and judges: the configuration with what was said for this run, and the provider that it means."""

    config: Config
    provider: Provider


class Output(Struct, frozen=True):
    """A file that gets the report, and in which form."""

    path: Path
    form: Form


def setup_of(asked: dict[str, Any]) -> Setup:
    """By the options that a run and a regrading share."""
    folder = _folder_of(asked["config"])
    config = override_config(
        load_config(asked["config"], folder),
        platforms=joined(asked.get("platform", ())),
        models=joined(asked.get("model", ())),
        max_turns=asked.get("max_turns"),
        command=_words(asked["provider"]),
        timeout_secs=asked["timeout"],
        **_judges(joined(asked["judge_model"])),
    )
    # A program that is named on the command line is named from here.
    place = Path.cwd() if asked["provider"] else folder
    return Setup(config=config, provider=provider_for(config, os.environ, place))


def request_of(paths: Sequence[Path], setup: Setup, asked: dict[str, Any]) -> tuple[MatrixRequest, Loaded]:
    """What is to be run, and what of it could not be read."""
    limits = Limits(usd=asked["budget_usd"], tokens=asked["budget_tokens"], strict=asked["strict_budget"])
    if limits.strict and limits.usd is None and limits.tokens is None:
        raise InputError("--strict-budget is about a budget: set --budget-usd or --budget-tokens")
    loaded = load_cases(paths, keep_going=asked["keep_going"])
    if not loaded.cases:
        raise InputError("\n".join(loaded.problems))
    stored = asked["baseline_from"]
    request = MatrixRequest(
        cases=tuple(matching(loaded.cases, asked["filter"])),
        config=setup.config,
        paths=tuple(str(path.absolute()) for path in paths),
        jobs=asked["jobs"],
        repeat=asked["repeat"],
        fail_fast=asked["fail_fast"],
        limits=limits,
        baseline=asked["baseline"],
        stored_baseline=None if stored is None else StoredBaseline(cells_of(stored)),
        earlier=() if asked["resume"] is None else tuple(cells_of(asked["resume"])),
    )
    return request, loaded


def outputs_of(paths: Iterable[Path]) -> list[Output]:
    """The files that were asked for. That one cannot be written is better known before the run than after it."""
    outputs = [Output(path, form_of(path)) for path in paths]
    for output in outputs:
        if output.path.is_dir():
            raise InputError(f"{output.path}: is a folder; name the file to write")
        if not output.path.absolute().parent.is_dir():
            raise InputError(f"{output.path}: there is no folder {output.path.absolute().parent}; make it first")
    return outputs


def joined(names: Iterable[str]) -> tuple[str, ...]:
    """What an option names that can be given several times, and with commas."""
    return tuple(dict.fromkeys(name.strip() for each in names for name in each.split(",")))


def _judges(names: tuple[str, ...]) -> dict[str, Any]:
    return {"judges": names} if len(names) > 1 else {"judge_model": names[0] if names else None}


def _words(command: str | None) -> tuple[str, ...]:
    if command is None:
        return ()
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise InputError(f"--provider {command!r}: {error}") from None
    if not words:
        raise InputError("--provider is empty; give the program that answers and its arguments")
    return words


def _folder_of(config: Path | None) -> Path:
    """Where a provider's program is run: beside the configuration; as skilltest does, here where one is named."""
    if config is None:
        return config_folder(Path.cwd())
    return config.absolute().parent if config.name == PROJECT_FILE else Path.cwd()
