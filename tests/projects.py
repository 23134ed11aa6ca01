"""Repositories made of a few files, and what is proposed for them."""

from __future__ import annotations

import json
from pathlib import Path

from trueup.contract import OfflineDerivation


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def commands(derived: OfflineDerivation) -> list[str]:
    return [check.command for check in derived.contract.checks]


def checks(derived: OfflineDerivation) -> dict[str, tuple[str, str]]:
    return {check.name: (check.cwd, check.command) for check in derived.contract.checks}


def scripts(**named: str) -> str:
    return json.dumps({"scripts": named, "devDependencies": {"eslint": "9"}})
