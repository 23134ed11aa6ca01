"""`trueup skill`: validate skills, begin a project, and the provider that needs no model."""

from __future__ import annotations

import json

import pytest

GOOD = "---\nname: good\ndescription: Does good.\n---\nDo it.\n"
DOUBTFUL = "---\nname: doubtful\ndescription: Uses <b>.\n---\nRun scripts/missing.py.\n"
BAD = "---\nname: Bad\ndescription: Is bad.\nlicence: MIT\n---\nDo it.\n"


@pytest.fixture
def skills(tmp_path):
    for name, text in (("good", GOOD), ("doubtful", DOUBTFUL), ("bad", BAD)):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(text)
    return tmp_path / "skills"


async def test_validate_names_file_line_rule_and_fix_and_exits_1(trueup, skills):
    finished = await trueup("skill", "validate", "skills")
    assert finished.exit_code == 1
    lines = finished.stdout.text.splitlines()
    assert lines[2] == "skills/bad/SKILL.md:4: error [key-unknown] unknown key 'licence'; did you mean 'license'?"
    assert lines[-1] == "3 skills: 3 errors, 2 warnings"


async def test_validate_as_json(trueup, skills):
    finished = await trueup("skill", "validate", "skills/doubtful", "skills/good", "--json")
    told = json.loads(finished.stdout.text)
    assert (finished.exit_code, told["valid"]) == (0, True)
    assert told["skills"] == ["skills/doubtful/SKILL.md", "skills/good/SKILL.md"]
    assert told["findings"][1] == {
        "rule": "reference-missing",
        "severity": "warning",
        "path": "skills/doubtful/SKILL.md",
        "line": 5,
        "message": "'scripts/missing.py' is not there",
        "fix": "add the file, or correct the reference",
    }


async def test_warnings_fail_only_where_that_is_wanted(trueup, skills):
    assert (await trueup("skill", "validate", "skills/doubtful")).exit_code == 0
    finished = await trueup("skill", "validate", "skills/doubtful", "--strict", "--json")
    assert (finished.exit_code, json.loads(finished.stdout.text)["valid"]) == (1, False)
    finished = await trueup("skill", "validate", "skills/good", "--strict")
    assert (finished.exit_code, finished.stdout.text) == (0, "1 skill: valid\n")


@pytest.mark.parametrize("path", ["nowhere", "empty"])
async def test_no_skill_at_all_is_bad_input(trueup, tmp_path, path):
    (tmp_path / "empty").mkdir()
    finished = await trueup("skill", "validate", path)
    assert finished.exit_code == 2
    assert finished.stderr.text.startswith(f"error: {path}: no ")
    assert (await trueup("skill", "validate")).exit_code == 2


async def test_a_skill_that_acts_on_terminals_is_shown_harmlessly(trueup, skills):
    (skills / "bad" / "SKILL.md").write_text('---\nname: "a\\e[2Jb"\ndescription: x\n---\nText\n')
    finished = await trueup("skill", "validate", "skills/bad")
    assert (finished.exit_code, "\x1b" in finished.stdout.text) == (1, False)


async def test_init_writes_a_project_whose_skill_is_valid(trueup, tmp_path):
    finished = await trueup("skill", "init", "mine")
    assert finished.exit_code == 0
    assert finished.stdout.text.endswith("\nNext:\n  cd mine\n  trueup test cases\n")
    written = sorted(str(path.relative_to(tmp_path / "mine")) for path in (tmp_path / "mine").rglob("*.*"))
    assert written == [
        "cases/confirms.skilltest.yaml",
        "cases/greets.skilltest.yaml",
        "skills/greeter/SKILL.md",
        "skilltest.yaml",
    ]
    assert (await trueup("skill", "validate", "mine", "--strict")).exit_code == 0


async def test_init_overwrites_nothing_and_then_writes_nothing(trueup, tmp_path):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "greets.skilltest.yaml").write_text("mine")
    finished = await trueup("skill", "init", "--json")
    assert finished.exit_code == 2
    assert "cases/greets.skilltest.yaml" in json.loads(finished.stdout.text)["error"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["greets.skilltest.yaml"]
    assert (tmp_path / "cases" / "greets.skilltest.yaml").read_text() == "mine"


async def test_init_where_a_file_is_in_the_way_is_bad_input(trueup, tmp_path):
    (tmp_path / "file").touch()
    finished = await trueup("skill", "init", "file")
    assert (finished.exit_code, "file" in finished.stderr.text) == (2, True)
    (tmp_path / "skills").touch()
    finished = await trueup("skill", "init")
    assert (finished.exit_code, "skills" in finished.stderr.text) == (2, True)


async def test_the_provider_answers_as_the_program_does(trueup):
    request = {"op": "user", "model": "m", "persona": "say: Hello", "messages": []}
    finished = await trueup("skill", "provider", stdin=json.dumps(request).encode())
    assert (finished.exit_code, json.loads(finished.stdout.text)) == (0, {"message": "Hello", "stop": False})
    finished = await trueup("skill", "provider", stdin=b"nonsense")
    assert (finished.exit_code, finished.stdout.text) == (1, "")
    assert "not valid JSON" in finished.stderr.text
