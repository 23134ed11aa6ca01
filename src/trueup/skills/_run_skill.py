"""Skill tests out of Python code."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from trueup.core.errors import InputError

from ._case import Case, Config, config_folder, load_case, load_config, mistakes, override_config
from ._matrix import MatrixRequest, run_matrix
from ._providers import provider_for
from ._report import Report


def run_skill(
    case: Case | Path | str,
    *,
    config: Config | Path | str | None = None,
    folder: Path | None = None,
    repeat: int = 1,
    jobs: int = 4,
    **overrides: Any,
) -> Report:
    """Run one case on every platform and model, and wait for it.

    Without a `config` it is the nearest one, from the folder of the case upwards. A program that it names runs in its
    folder, or in `folder`. `overrides` are those of `override_config`: `platforms`, `models`, `judge_model`, `command`
    and the like. Nothing is recorded as a run.
    """
    _refuse_a_running_loop()
    case = _checked(case) if isinstance(case, Case) else load_case(Path(case))
    found, its_folder = _configuration(config, case.source.parent)
    chosen = override_config(found, **overrides)
    provider = provider_for(chosen, os.environ, folder or its_folder)
    return asyncio.run(run_matrix(MatrixRequest(cases=(case,), config=chosen, jobs=jobs, repeat=repeat), provider))


def _refuse_a_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InputError("run_skill waits for its cells; in async code call it by `await asyncio.to_thread(run_skill, …)`")


def _checked(case: Case) -> Case:
    """A case that was made in code, held to the rules of one in a file."""
    found = [f"{'.'.join(map(str, where))}: {what}" for where, what in mistakes(case)]
    if not case.evals:
        found.append("evals: there is none")
    if found:
        raise InputError("\n".join(f"case {case.name!r}: {each}" for each in found))
    named = tuple(replace(mock, name=mock.label(index)) for index, mock in enumerate(case.mocks))
    return replace(case, skill=case.skill.absolute(), mocks=named)


def _configuration(config: Config | Path | str | None, place: Path) -> tuple[Config, Path]:
    """The configuration and the folder that it stands in."""
    if isinstance(config, Config):
        return config, Path.cwd()
    if config is not None:
        path = Path(config)
        return load_config(path, path.parent), path.absolute().parent
    folder = config_folder(place)
    return load_config(None, folder), folder
