"""JSON Schemas of what authors of skill tests write."""

from __future__ import annotations

from typing import Any

from trueup.core.schemas import written_schema

from ._config import Config
from ._evals import COMPARATOR_WORDS
from ._model import CaseFile


def case_schema() -> dict[str, Any]:
    """The schema of a case."""
    schema = written_schema(CaseFile, "trueup skill test case")
    schema["$defs"]["Comparator"]["enum"] += list(COMPARATOR_WORDS)
    return schema


def config_schema() -> dict[str, Any]:
    """The schema of `skilltest.yaml`, and of `skills` in `trueup.yaml`."""
    return written_schema(Config, "trueup skill test configuration")
