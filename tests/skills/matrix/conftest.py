"""Fixtures for runs of many cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueup.skills._case import CommandProviderConfig, Config


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "greeter"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: greeter\ndescription: Greets people.\n---\nGreet by name.\n")
    return folder


@pytest.fixture
def config() -> Config:
    provider = CommandProviderConfig(command=["scripted"])
    return Config(provider=provider, platforms=("p",), models=("m",), judge_model="judge")
