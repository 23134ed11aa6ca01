"""The desk at which the provider is tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from skill_desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.add("claude", "codex")
    return desk
