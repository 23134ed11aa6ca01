"""Options and judges of `trueup test` that decide what is spent, through the program, with real providers."""

from __future__ import annotations

import json
import os
import sys

import pytest

import command_line
import trueup.testing.provider
from trueup.testing import ScriptedModel, Text

KEY = "sk-ant-0123456789abcdef"
PROVIDER = f"{sys.executable} -I -S {trueup.testing.provider.__file__}"
SKILL = """\
---
name: greeter
description: Greets people by name.
---
fake-reply: Hello, Ada.
fake-tool: Bash calendar find Ada
fake-usage: input_tokens=10 output_tokens=5 cost_usd=0.01
"""
JUDGED = "skill: ../greeter\ninput: Greet Ada.\nevals: [{type: boolean, criterion: it greets}]\n"


class Project:
    """A skill with its cases, whose provider needs no model."""

    def __init__(self, folder):
        self.folder = folder
        self.write("greeter/SKILL.md", SKILL)
        self.config()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def config(self, more="", name="skilltest.yaml"):
        command = json.dumps(PROVIDER.split())
        text = f"provider: {{kind: command, command: {command}}}\nplatforms: [p]\nmodels: [m]\njudge_model: j\n"
        self.write(name, text + more)

    async def test(self, *words, **environ):
        own = {**os.environ, **environ}
        asked = ("test", "cases", "--json", "--quiet", "--no-cache", "--no-record", *words)
        done = await command_line.call(*asked, cwd=self.folder, env=own)
        return done.exit_code, json.loads(done.stdout.text)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


async def test_a_judge_by_api_sees_tool_calls_is_paid_and_keeps_the_key_to_itself(project):
    project.write("cases/greets.yaml", JUDGED)
    verdict = Text(f'{{"value": true, "reason": "It greets. Your key is {KEY}."}}')
    async with ScriptedModel([verdict], is_aside=lambda request: False) as model:
        project.config(f"judge: {{kind: api, vendor: anthropic, base_url: {model.url}}}\n")
        code, report = await project.test("--judge-model", "claude-x", ANTHROPIC_API_KEY=KEY)
        (asked,) = model.requests
    assert code == 0
    assert "Tool call: Bash" in json.dumps(asked.body)
    assert "calendar find Ada" in json.dumps(asked.body)
    assert report["summary"]["judge_usage"]["input_tokens"] > 0
    assert report["summary"]["skill_usage"]["input_tokens"] == 10
    assert "It greets." in report["runs"][0]["evals"][0]["reason"]
    assert KEY not in json.dumps(report)


async def test_a_judge_without_a_key_is_told_before_anything_is_spent(project):
    project.write("cases/greets.yaml", JUDGED)
    project.config("judge: {kind: api, vendor: openai}\n")
    code, told = await project.test(OPENAI_API_KEY="")
    assert code == 3
    assert told["kind"] == "auth"
    assert "OPENAI_API_KEY" in told["error"]


async def test_turns_are_bounded_and_a_configuration_can_be_named(project):
    project.write("cases/talks.yaml", JUDGED + "user: {persona: 'say: go on'}\n")
    project.config("max_turns: 2\n", "other.yaml")
    (project.folder / "skilltest.yaml").unlink()
    code, report = await project.test("--config", "other.yaml")
    assert (code, report["runs"][0]["turns"]) == (0, 2)
    code, report = await project.test("--config", "other.yaml", "--max-turns", "3")
    assert (code, report["runs"][0]["turns"]) == (0, 3)


async def test_a_call_that_takes_too_long_is_an_error_of_its_cell(project):
    project.write("cases/greets.yaml", JUDGED)
    project.write("slow.sh", "exec sleep 30\n")
    code, report = await project.test("--provider", "sh slow.sh", "--timeout", "0.3")
    assert code == 3
    assert report["runs"][0]["error"]["kind"] == "timeout"


async def test_a_budget_of_tokens_counts_every_call(project):
    for name in "abcd":
        project.write(f"cases/{name}.yaml", JUDGED.replace("Greet Ada.", f"Greet {name}."))
    code, report = await project.test("--budget-tokens", "35")
    assert code == 3
    assert [run["status"] for run in report["runs"]] == ["passed", "passed", "skipped", "skipped"]
    assert report["partial"]
    code, report = await project.test("--budget-tokens", "35", "--strict-budget")
    assert [run["status"] for run in report["runs"]] == ["passed", "skipped", "skipped", "skipped"]
