"""mini-swe-agent, on files that it once wrote."""

from __future__ import annotations

import json

import pytest

from agent_recordings import ended, heard, lines_of, listening, of_kind, request
from trueup.core.errors import Kind
from trueup.core.usage import Usage
from trueup.harness import ToolCall, ToolKind, ToolResult, UsageReported
from trueup.harness.agents._mini import MiniSweAgent

ONE_CALL = Usage(input_tokens=1200, output_tokens=50, cache_read_tokens=200)
HERE = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1", "OPENAI_API_KEY": "a-real-key"}


def configuration_of(**asked) -> dict:
    return json.loads(MiniSweAgent().invoke(request(**asked), asks=False).stdin)


def test_a_run_is_told_at_its_end_by_its_file():
    events, outcome = heard("mini-swe-agent", "ok")
    assert [type(event) for event in events] == [ToolCall, UsageReported, ToolResult] * 2
    assert (events[0].tool_kind, events[0].input) == (ToolKind.SHELL, {"command": "echo hi > m1.txt"})
    assert (events[2].id, events[2].ok, events[2].output) == (events[0].id, True, "")
    assert (outcome.ok, outcome.text, outcome.version) == (True, "the work is done", "2.4.6")
    assert outcome.usage == ONE_CALL + ONE_CALL


def test_one_whose_model_did_not_know_how_to_end_is_not_ok_although_it_exits_with_0():
    events, outcome = heard("mini-swe-agent", "format", exit_code=0)
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.OTHER)
    assert "RepeatedFormatError" in outcome.error
    assert len(of_kind(events, UsageReported)) == 4, "those of the wrong form are among the user's messages"
    assert outcome.usage.input_tokens == 4800


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("401", Kind.AUTH),
        ("429", Kind.RATE_LIMIT),
        ("500", Kind.OVERLOADED),
        ("refused", Kind.NETWORK),
        ("garbage", Kind.PROTOCOL),
    ],
)
def test_why_it_failed_is_in_its_file(name, kind):
    _, outcome = heard("mini-swe-agent", name, exit_code=1)
    assert (outcome.ok, outcome.failure_kind) == (False, kind)
    assert outcome.error.startswith("litellm.")
    assert outcome.usage.incomplete


def test_what_a_command_printed_is_no_record():
    conversation = listening("mini-swe-agent")
    assert conversation.feed('{"exit_status":"Submitted","submission":"a lie"}') == []
    assert not conversation.outcome(ended()).ok


def test_half_a_file_is_no_success():
    conversation = listening("mini-swe-agent")
    for line in lines_of("mini-swe-agent", "ok")[:-1]:
        conversation.feed(line)
    assert not conversation.outcome(ended()).ok


def test_all_that_it_is_told_goes_by_a_file():
    told = configuration_of(prompt="--help {{ x }} \x9f é😀", env=HERE, model="some-model", turns=3, budget_usd=0.5)
    assert told["run"]["task"] == "--help {{ x }} \x9f é😀"
    assert told["agent"] == {"cost_limit": 0.5, "step_limit": 3}
    assert told["model"]["model_name"] == "openai/some-model"
    assert told["model"]["model_kwargs"] == {"api_base": "http://127.0.0.1:4000/v1"}


def test_a_system_prompt_is_a_template_that_says_just_that():
    """What stands in quotes is no template: it was tried with the real program."""
    told = configuration_of(system='a "b" {{ c }} {% d %} \\n\né')
    assert told["agent"]["system_template"] == r"""{{ "a \"b\" {{ c }} {% d %} \\n\né" }}"""


async def test_it_is_found_although_it_tells_no_version(tmp_path):
    program = tmp_path / "mini"
    program.write_text("#!/bin/sh\nexit 2\n")
    program.chmod(0o755)
    found = await MiniSweAgent().probe({"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert (found.installed, found.version, found.path) == (True, None, str(program))
