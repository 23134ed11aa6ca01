"""The pytest plugin: cells are tests, and cost nothing where there are none."""

from __future__ import annotations

import tomllib
from pathlib import Path
from xml.etree import ElementTree

REPOSITORY = Path(__file__).parents[3]


def outcomes(junit: Path) -> dict[str, tuple[str, str]]:
    """What became of each test, and what was said about it."""
    cases = ElementTree.fromstring(junit.read_text()).iter("testcase")
    return {
        case.get("name", ""): next(((each.tag, each.text or "") for each in case), ("passed", "")) for case in cases
    }


def test_cells_are_tests_that_pass_fail_or_err_also_in_several_processes(author):
    author.skill("crashing", "fake-usage: nonsense")
    author.case("good")
    author.case("bad", word="bye")
    author.case("crashed", skill="crashing")
    author.write("cases/misspelled.skilltest.yaml", author.case("good").read_text().replace("criterion", "critrion"))
    author.write("cases/other.yaml", "- no case, and not asked for\n")
    options = ("-p", "xdist", "-n", "2", "--continue-on-collection-errors", "--junitxml=junit.xml", "--skill-repeat=2")
    assert author.pytest(*options, ".").exit_code == 1
    found = outcomes(author.root / "junit.xml")
    assert {name: tag for name, (tag, _) in found.items()} == {
        "good[claude-code-m-1]": "passed",
        "good[claude-code-m-2]": "passed",
        "bad[claude-code-m-1]": "failure",
        "bad[claude-code-m-2]": "failure",
        "crashed[claude-code-m-1]": "error",
        "crashed[claude-code-m-2]": "error",
        "cases.misspelled.skilltest.yaml": "error",
    }
    _, told = found["cases.misspelled.skilltest.yaml"]
    assert told.endswith(
        "misspelled.skilltest.yaml:4:19: unknown key 'critrion' in evals[0]; did you mean 'criterion'?"
    )


def test_what_went_wrong_is_told_with_the_conversation_and_the_cost(author):
    author.skill("crashing", "fake-usage: nonsense")
    author.skill("expensive", "fake-reply: hello Ada\nfake-tool: Bash ls -l\nfake-usage: cost_usd=0.5")
    author.case("bad", word="bye", skill="expensive")
    author.case("crashed", skill="crashing")
    finished = author.pytest("--junitxml=junit.xml", ".")
    assert (
        """
1 of 1 evals failed:
  says `bye`: texts found: 0 of 1, replies: 1

the conversation:
  user: Greet Ada.
    > Bash {"command":"ls -l"}
  assistant: hello Ada
"""
        in finished.stdout.text
    )
    assert "ERROR at setup of crashed[claude-code-m-1]" in finished.stdout.text
    assert "'nonsense' is no NAME=NUMBER" in finished.stdout.text
    assert "Traceback" not in finished.stdout.text
    assert '<property name="cost_usd" value="0.5" />' in (author.root / "junit.xml").read_text()


def test_options_decide_about_the_cells(author):
    author.case("greets")
    author.write(
        "cheap.yaml", (author.root / "skilltest.yaml").read_text().replace("models: [m]", "models: [low, high]")
    )
    listed = author.pytest(
        "--collect-only", "-q", "--skill-platform=a", "--skill-platform=b", "--skill-config=cheap.yaml", "."
    )
    cells = [line.partition("::")[2] for line in listed.stdout.text.splitlines() if "::" in line]
    assert cells == ["greets[a-low-1]", "greets[a-high-1]", "greets[b-low-1]", "greets[b-high-1]"]
    refused = author.pytest("--skill-repeat=0", ".")
    assert refused.exit_code == 4
    assert "--skill-repeat: '0' is no number of at least 1" in refused.stderr.text


def test_where_there_is_no_case_nothing_is_loaded(author):
    author.write("test_plain.py", "import sys\ndef test_it():\n    print(*sorted(sys.modules), sep='\\n')\n")
    finished = author.pytest("-s", "-q", "test_plain.py")
    loaded = set(finished.stdout.text.split())
    assert "trueup.skills.pytest_plugin" in loaded
    assert {name for name in loaded if name.startswith("trueup.")} == {"trueup.skills", "trueup.skills.pytest_plugin"}
    assert loaded.isdisjoint({"msgspec", "yaml", "asyncio", "sqlalchemy"})


def test_pytest_finds_the_plugin_by_itself():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"trueup": "trueup.skills.pytest_plugin"}
