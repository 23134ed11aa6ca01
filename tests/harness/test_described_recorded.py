"""Descriptions of agents, on output that the real ones once gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueup.core.documents import Document
from trueup.core.errors import Kind
from trueup.core.process import Finished
from trueup.core.usage import Usage
from trueup.harness import HarnessRequest, ToolCall, ToolKind, ToolResult
from trueup.harness._claude_talk import ClaudeConversation
from trueup.harness._codex_exec import ExecConversation
from trueup.harness._described import Described, DescribedDialect, load_descriptions

HERE = Path(__file__).parent
KNOWN = load_descriptions(Document.read(HERE / "described.yaml").part("agents"))
RECORDED = [
    *(("like-claude", ClaudeConversation, file) for file in sorted((HERE / "recorded" / "claude").glob("*.jsonl"))),
    *(("like-codex", ExecConversation, file) for file in sorted((HERE / "recorded" / "codex").glob("exec_*.jsonl"))),
]


@pytest.mark.parametrize(("name", "known", "file"), RECORDED, ids=lambda value: getattr(value, "stem", ""))
def test_a_description_reads_real_output_as_the_module_for_it_does(name, known, file):
    request = HarnessRequest(prompt="x")
    outcomes = []
    for conversation in (known(request), DescribedDialect(name, KNOWN[name], {}).converse(request)):
        for line in file.read_text().splitlines():
            conversation.feed(line)
        outcomes.append(conversation.outcome(Finished(exit_code=0, duration_secs=1)))
    expected, found = outcomes
    assert (found.ok, found.failure_kind) == (expected.ok, expected.failure_kind)
    assert (found.session_id, found.version) == (expected.session_id, expected.version)
    assert found.text == expected.text or not found.ok


@pytest.fixture(scope="module")
def goose() -> Described:
    """The example of the documentation."""
    text = (HERE.parents[1] / "docs" / "agents.md").read_text(encoding="utf-8")
    example = text.partition("## Any other agent")[2].partition("```yaml\n")[2].partition("```")[0]
    return load_descriptions(Document.parse(example.encode(), source="", is_json=False).part("agents"))["goose"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ok", None),
        ("401", Kind.AUTH),
        ("429", Kind.RATE_LIMIT),
        ("500", Kind.OVERLOADED),
        ("refused", Kind.NETWORK),
        ("garbage", Kind.OTHER),
    ],
)
def test_the_example_of_the_documentation_reads_an_agent_that_exits_with_0_whatever_happens(goose, name, kind):
    conversation = DescribedDialect("goose", goose, {}).converse(HarnessRequest(prompt="x"))
    lines = (HERE / "recorded" / "goose" / f"{name}.jsonl").read_text().splitlines()
    events = [event for line in lines for event in conversation.feed(line)]
    outcome = conversation.outcome(Finished(exit_code=0, duration_secs=1))
    assert (outcome.ok, outcome.failure_kind) == (kind is None, kind)
    if outcome.ok:
        assert (outcome.text, outcome.usage) == ("DONE", Usage(input_tokens=2400, output_tokens=100))
        assert ToolCall("shell", events[1].id, ToolKind.SHELL, {"command": "echo hi > m7c03c1.txt"}) == events[1]
        assert ToolResult(events[1].id, True, "(no output)") == events[2]
