"""`run_skill`: skill tests out of Python code."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from trueup.core.errors import InputError
from trueup.skills._case import Boolean, Called, Case, Config, load_case
from trueup.skills._run_skill import run_skill

COMMAND = [sys.executable, "-m", "trueup.testing.provider"]


def test_a_file_is_run_with_the_nearest_configuration(author):
    report = run_skill(author.case("greets"))
    assert report.passed
    assert [(cell.case, cell.platform, cell.model) for cell in report.runs] == [
        ("greets.skilltest", "claude-code", "m")
    ]


def test_a_program_is_found_in_the_folder_of_the_configuration(author):
    author.write("provider.py", "from trueup.testing.provider import main\nmain()\n")
    author.write("skilltest.yaml", f"provider: {{kind: command, command: [{sys.executable}, provider.py]}}\n")
    assert run_skill(str(author.case("greets"))).passed


def test_what_is_said_in_code_comes_before_the_configuration(author):
    report = run_skill(author.case("greets", word="bye"), platforms=["a", "b"], models=["x"], repeat=2)
    assert not report.passed
    assert sorted((cell.platform, cell.model, cell.repeat) for cell in report.runs) == [
        ("a", "x", 1), ("a", "x", 2), ("b", "x", 1), ("b", "x", 2),
    ]  # fmt: skip


def test_a_case_can_be_made_in_code(author):
    case = Case(
        name="in code",
        source=author.root / "test_greeter.py",
        skill=author.root / "skills/greeter",
        input="Greet Ada.",
        evals=(Boolean(criterion="says `hello`"),),
    )
    assert run_skill(case, config=Config(), command=COMMAND).passed
    with pytest.raises(
        InputError, match=r"case 'in code': evals\.0\.mock: there is no mock 'x'; the case has no mocks"
    ):
        run_skill(replace(case, evals=(Called(mock="x"),)), config=Config(), command=COMMAND)
    with pytest.raises(InputError, match="case 'in code': evals: there is none"):
        run_skill(replace(case, evals=()), config=Config(), command=COMMAND)


def test_a_configuration_is_named_by_its_file(author):
    path = author.write("other/config.yaml", "provider: {kind: command, command: ['false']}\nmodels: [other]\n")
    (cell,) = run_skill(author.case("greets"), config=path).runs
    assert (cell.model, cell.status) == ("other", "error")


async def test_in_async_code_it_is_called_from_a_thread(author):
    path = author.case("greets")
    with pytest.raises(InputError, match="asyncio.to_thread"):
        run_skill(path)
    assert (await asyncio.to_thread(run_skill, path)).passed


def test_a_skill_that_is_no_skill_is_refused(author):
    case = load_case(author.case("greets"))
    (author.root / "skills/greeter/SKILL.md").write_text("no frontmatter")
    with pytest.raises(InputError, match=str(Path("skills/greeter/SKILL.md"))):
        run_skill(case)
