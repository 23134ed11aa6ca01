"""A project with one skill, for cases beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueup.core.errors import InputError
from trueup.skills._case import Case, load_case

SKILL = "---\nname: greeter\ndescription: Greets people.\n---\nGreet whoever is named.\n"


class Project:
    """A folder with `skills/greeter` and `cases`."""

    evals = "evals:\n- type: boolean\n  criterion: it greets\n"
    plain = f"skill: ../skills/greeter\ninput: Greet Ada.\n{evals}"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cases = root / "cases"
        self.cases.mkdir()
        self.write("skills/greeter/SKILL.md", SKILL)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def case(self, text: str) -> Case:
        return load_case(self.write("cases/c.yaml", text))

    def with_evals(self, evals: str, more: str = "") -> Case:
        return self.case(f"skill: ../skills/greeter\ninput: Greet Ada.\n{more}evals:\n{evals}")

    def complaint(self, evals: str, more: str = "") -> str:
        """What is said about evals, which begin in line 4 of `c.yaml` where there is nothing more; without the folder."""
        with pytest.raises(InputError) as caught:
            self.with_evals(evals, more)
        return str(caught.value).replace(f"{self.cases}/", "")


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path)
