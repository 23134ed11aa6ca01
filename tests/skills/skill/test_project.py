"""The project that `trueup skill init` writes runs at once, and so does one that was written for skilltest."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from trueup.skills._case import load_cases, load_config
from trueup.skills._matrix import MatrixRequest, run_matrix
from trueup.skills._providers import provider_for
from trueup.skills._skill import validate, write_project

# The program that `trueup skill provider` runs, which is up sooner by itself.
PROGRAM = json.dumps([sys.executable, "-m", "trueup.testing.provider"])
SKILLTEST = {
    "skilltest.yaml": f"provider: {{kind: command, command: {PROGRAM}}}\nplatforms: [demo]\nmodels: [fake]\n",
    "skills/releaser/SKILL.md": """\
---
name: releaser
description: Releases the app.
---
<!-- fake-reply: Released. -->
<!-- fake-tool: bash git push origin main -->
<!-- fake-tool: bash ci status -->
""",
    "cases/stubs.yaml": """\
skill: ../skills/releaser
input: Release it.
user:
  persona: "An operator. say: And now?"
  max_turns: 2
mocks:
- name: push
  match: {tool: Bash, pattern: 'git push( --force)?\\b'}
  stub: Everything up-to-date
- name: status
  match: {contains: ci status}
  stub: [queued, {output: "passed, at last", exit_code: 1}]
- name: all
  match: {tool: bash}
evals:
- {type: called, mock: push, times: 2}
- {type: called, mock: all, times: 4}
- {type: not_called, mock: push, where: {command: {contains: --force}}}
- {type: boolean, criterion: "it saw `Everything up-to-date`, `queued` and `passed, at last`"}
""",
    "cases/denied.yaml": """\
skill: ../skills/releaser
input: Release it.
mocks:
- name: push
  match: {input: {command: git push origin main}}
  deny: not today
evals:
- {type: not_called, mock: push}
- {type: numeric, criterion: "`denied: not today` and `never said`", min: 0, max: 10, threshold: 5}
""",
}


async def outcome(folder: Path) -> dict[str, list[bool]]:
    config = load_config(None, folder)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    request = MatrixRequest(cases=tuple(load_cases([folder / "cases"]).cases), config=config)
    report = await run_matrix(request, provider_for(config, {**os.environ, "PATH": path}, folder))
    assert [cell.error for cell in report.runs] == [None] * len(report.runs)
    return {cell.case: [each.passed for each in cell.evals] for cell in report.runs}


async def test_the_project_passes_without_a_model_and_fails_without_its_skill(tmp_path):
    write_project(tmp_path)
    assert validate([tmp_path]) == []
    assert await outcome(tmp_path) == {"greets": [True] * 6, "confirms": [True] * 4}
    config = tmp_path / "skilltest.yaml"
    config.write_text(config.read_text().replace("[trueup, skill, provider]", PROGRAM))
    skill = tmp_path / "skills" / "greeter" / "SKILL.md"
    skill.write_text(skill.read_text().replace("fake-", "never-"))
    assert await outcome(tmp_path) == {
        "greets": [False, False, False, True, False, True],
        "confirms": [False, False, False, False],
    }


async def test_a_project_of_skilltest_comes_to_the_same(tmp_path):
    for name, text in SKILLTEST.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert await outcome(tmp_path) == {"stubs": [True] * 4, "denied": [False, True]}
