"""A project of skilltest, as its documents have it, under `trueup test`: files, protocol, report and exit codes."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest

import command_line
import trueup.testing.provider

FILES = {
    "skilltest.yaml": """\
provider: {kind: command, command: [PYTHON, -I, -S, PROVIDER]}
platforms: [claude-code, codex]
models: [sonnet]
judge_model: haiku
max_turns: 3
""",
    "skills/deployer/SKILL.md": """\
---
name: deployer
description: Deploys a service and says how that went.
---
fake-tool: Bash git push origin main
fake-tool: Bash jobctl status
fake-tool: Bash jobctl status
fake-tool: Bash rm -rf build
fake-tool: Read config.prod
fake-reply: On it.
fake-reply-2: Deployed.
fake-usage: input_tokens=7 output_tokens=3 cost_usd=0.002
""",
    "cases/deploys.yaml": r"""
skill: ../skills/deployer
input: "Deploy the service, please."
user:
  persona: "You are terse. say: and now?"
  done_when: "`Deployed` was said"
  max_turns: 4
mocks:
  - name: push
    match: { tool: bash, pattern: "git push( --force)?\\b" }
    stub: Everything up-to-date
  - name: status
    match: { tool: bash, contains: "jobctl status" }
    stub: ["queued", { output: "failed", exit_code: 1 }, "passed"]
  - name: danger
    match: { contains: "rm -rf" }
    deny: destructive commands are blocked
  - name: config
    match: { tool: read, input: { command: { contains: "config.prod" } } }
    rewrite: { command: fixtures/config.yaml }
  - name: git
    match: { tool: bash, pattern: "\\bgit\\b" }
evals:
  - { type: boolean, name: says-so, criterion: "the reply says `Deployed`" }
  - { type: numeric, criterion: "how much of `Deployed` and `queued` was said", min: 0, max: 10, threshold: 7 }
  - { type: called, mock: push, times: 2, where: { command: { contains: "origin" } } }
  - { type: called, mock: status, times: 4 }
  - { type: called, mock: git }
  - { type: not_called, mock: danger, where: { command: { contains: "/" } } }
""",
    "cases/fails.yaml": """
name: never
skill: ../skills/deployer
input: "Deploy."
spy: true
evals:
  - { type: boolean, criterion: "it says `Deployed`" }
""",
}


@pytest.fixture
def project(tmp_path):
    programs = {"PYTHON": sys.executable, "PROVIDER": str(trueup.testing.provider.__file__)}
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(re.sub("|".join(programs), lambda found: programs[found[0]], text))
    return tmp_path


async def test_a_project_of_skilltest_runs_unchanged(project):
    done = await command_line.call(
        "test", "cases/", "--format", "json", "--no-cache", "--no-record", cwd=project, env=os.environ
    )
    assert done.exit_code == 1
    report = json.loads(done.stdout.text)
    assert report["passed"] is False
    assert report["summary"].items() >= {"cases": 2, "runs": 4, "passed": 2, "failed": 2}.items()
    assert [(run["case"], run["platform"], run["passed"], run["turns"]) for run in report["runs"]] == [
        ("deploys", "claude-code", True, 2),
        ("deploys", "codex", True, 2),
        ("never", "claude-code", False, 1),
        ("never", "codex", False, 1),
    ]
    deployed, never = report["runs"][0], report["runs"][2]
    assert deployed["evals"][0]["detail"] == {"kind": "boolean", "value": True, "expected": True}
    assert deployed["evals"][1]["detail"] == {"kind": "numeric", "value": 10, "threshold": 7, "comparator": ">="}
    assert deployed["evals"][2]["detail"] == {"kind": "calls", "count": 2, "negated": False, "times": 2}
    assert deployed["usage"].items() >= {"input_tokens": 14, "output_tokens": 6, "cost_usd": 0.004}.items()
    assert [each["role"] for each in deployed["transcript"]["messages"]] == ["user", "assistant", "user", "assistant"]
    asked = [(call["input"]["command"], call["action"], call["mock"]) for call in deployed["mock_calls"][:5]]
    assert asked == [
        ("git push origin main", "stub", "push"),
        ("jobctl status", "stub", "status"),
        ("jobctl status", "stub", "status"),
        ("rm -rf build", "deny", "danger"),
        ("config.prod", "rewrite", "config"),
    ]
    replies = [each["content"] for each in deployed["transcript"]["messages"] if each["role"] == "assistant"]
    assert "[Bash] queued\n[Bash] failed" in replies[0]
    assert "[Bash] passed\n[Bash] passed" in replies[1]
    assert [call["action"] for call in never["mock_calls"]] == ["allow"] * 5


@pytest.mark.parametrize(("words", "code"), [(["--filter", "deploys"], 0), (["--provider", "false"], 3)])
async def test_it_exits_as_skilltest_does(project, words, code):
    done = await command_line.call(
        "test", "cases", "--no-cache", "--no-record", "--quiet", *words, cwd=project, env=os.environ
    )
    assert done.exit_code == code
