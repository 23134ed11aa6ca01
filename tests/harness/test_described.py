"""Agents that trueup does not know, by a description: started, read and judged."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from trueup.core.documents import Document
from trueup.core.errors import Kind
from trueup.core.process import Command, Finished, Output, Process
from trueup.core.usage import Usage
from trueup.harness import (
    HarnessRequest,
    Message,
    Retried,
    SessionNamed,
    Status,
    ToolCall,
    ToolKind,
    ToolResult,
    UsageReported,
)
from trueup.harness._described import Described, DescribedDialect, load_descriptions
from trueup.harness._driver import DrivenHarness
from trueup.testing import EventLog, ScriptedAgent

HERE = Path(__file__).parent
PATH = "/usr/local/bin:/usr/bin:/bin"
KNOWN = load_descriptions(Document.read(HERE / "described.yaml").part("agents"))


class Here:
    """A `Launcher` that starts programs where the test runs, and remembers what it started."""

    def __init__(self, path: str = PATH) -> None:
        self._path = path
        self.commands: list[Command] = []

    @asynccontextmanager
    async def launch(self, command: Command):
        self.commands.append(command)
        env = {"PATH": self._path, **(command.env or {})}
        async with Process(msgspec.structs.replace(command, env=env)) as process:
            yield process


def described(yaml: str) -> Described:
    document = Document.parse(f"agents:\n  it:\n{_indented(yaml)}".encode(), source="config.yaml", is_json=False)
    return load_descriptions(document.part("agents"))["it"]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.strip("\n").splitlines())


async def run(description: Described, here: Here | None = None, environ=None, **request):
    """A run of a described agent, and what it told meanwhile."""
    log = EventLog()
    harness = DrivenHarness(DescribedDialect("it", description, environ or {}), environ or {})
    asked = HarnessRequest(**{"prompt": "do it", "timeout_secs": 20, **request})
    result = await harness.run(asked, here or Here(), log)
    return result, log.events


async def run_script(script: str, yaml: str = "output: text", **request):
    """A run of a line of bash, whose description is `yaml` beside its words."""
    words = json.dumps(["bash", "-c", script])
    return await run(described(f"argv: {words}\n{yaml}"), **request)


JSON_RESULT = """
output: json
records:
- {text: result.text, session: id, usage: {input_tokens: "usage.in", cost_usd: cost}, error: error.message}
- {where: {ok: true}, success: true}
- {where: {ok: false}, success: false, code: error.status}
argv: [x, "{session}"]
"""


def json_agent(script: str) -> Described:
    return msgspec.structs.replace(described(JSON_RESULT), argv=["bash", "-c", script, "--", "{session}"])


# Text


async def test_what_a_program_prints_is_its_answer():
    result, events = await run_script("echo hello; echo; echo there")
    assert (result.status, result.text) == (Status.OK, "hello\n\nthere")
    assert events == [Message("hello"), Message("there")]
    assert result.usage == Usage(incomplete=True)


async def test_without_a_record_of_success_only_exit_0_is_one():
    result, _ = await run_script("echo all is well; exit 3")
    assert (result.status, result.exit_code) == (Status.FAILED, 3)
    assert "exit 3" in result.error


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("echo 'Error: 429 Too Many Requests' >&2; exit 1", Kind.RATE_LIMIT),
        ("echo 'ECONNREFUSED' ; exit 1", Kind.NETWORK),
        ("echo 'the flux is out of sync' >&2; exit 1", Kind.OVERLOADED),
        ("echo busy >&2; exit 75", Kind.OVERLOADED),
        ("no-such-agent-at-all", Kind.SPAWN),
        ("echo 'what was that?' >&2; exit 1", Kind.OTHER),
    ],
)
async def test_words_and_exit_codes_tell_the_kind_of_a_failure(script, kind):
    result, _ = await run_script(script, "failures: [{matches: flux is out, kind: overloaded}]")
    assert (result.status, result.failure_kind) == (Status.FAILED, kind)


async def test_an_error_that_is_dressed_as_an_answer_is_one_where_the_description_says_so():
    yaml = "failures: [{matches: '^Ran into this error', fails: true}]"
    result, _ = await run_script("echo 'Ran into this error: invalid api key'", yaml)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.AUTH)
    assert (result.text, result.error) == ("", "Ran into this error: invalid api key")


async def test_a_program_that_hangs_is_ended():
    result, _ = await run_script("echo hi; sleep 100", timeout_secs=0.5)
    assert (result.status, result.failure_kind) == (Status.TIMED_OUT, Kind.TIMEOUT)


async def test_a_missing_program_is_not_installed():
    result, _ = await run(described("argv: [no-such-agent]"))
    assert (result.status, result.failure_kind) == (Status.NOT_INSTALLED, Kind.SPAWN)


# JSON


@pytest.mark.parametrize("indent", [None, 2])
async def test_a_json_document_is_read_by_paths_however_it_is_laid_out(indent):
    told = {"ok": True, "result": {"text": "done"}, "id": "s-1", "usage": {"in": 7}, "cost": 0.25}
    script = f"echo '[info] starting'; cat <<'END'\n{json.dumps(told, indent=indent)}\nEND\necho bye"
    result, events = await run(json_agent(script))
    used = Usage(input_tokens=7, cost_usd=0.25)
    assert (result.status, result.text, result.session_id, result.usage) == (Status.OK, "done", "s-1", used)
    assert events == [SessionNamed("s-1"), UsageReported(used)]


async def test_an_unusual_layout_is_read_at_the_end():
    result, _ = await run(json_agent("""printf '{"ok": true, "result":\n {"text": "done"}}'"""))
    assert (result.status, result.text) == (Status.OK, "done")


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"ok": False, "error": {"message": "no", "status": 401}}, Kind.AUTH),
        ({"ok": False, "error": {"message": "You hit your usage limit", "status": 429}}, Kind.QUOTA),
        ({"ok": False, "error": {"message": "no", "status": 503}}, Kind.OVERLOADED),
        ({"ok": False, "error": {"message": "no", "status": "E_FLUX"}}, Kind.CONTEXT_LENGTH),
        ({"ok": False, "error": {"message": "No session abc found"}}, Kind.SESSION_NOT_FOUND),
        ({"ok": False}, Kind.OTHER),
        ({"ok": 1}, Kind.PROTOCOL),
        ({}, Kind.PROTOCOL),
    ],
)
async def test_exit_0_means_nothing_where_records_tell_success(told, kind):
    description = msgspec.structs.replace(
        json_agent(f"echo '{json.dumps(told)}'"), codes={"E_FLUX": Kind.CONTEXT_LENGTH}
    )
    result, _ = await run(description)
    assert (result.status, result.failure_kind, result.exit_code) == (Status.FAILED, kind, 0)


async def test_an_error_that_is_false_or_empty_is_none():
    rules = "output: json\nrecords: [{text: text, error: error}]"
    for error in ("false", "null", "{}", '""'):
        result, _ = await run_script(f"""echo '{{"text": "fine", "error": {error}}}'""", rules)
        assert (result.status, result.text) == (Status.OK, "fine")


async def test_garbage_and_exit_0_is_no_success_even_without_a_rule_for_it():
    rules = "output: json\nrecords: [{text: text}]"
    result, _ = await run_script("echo all done", rules)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.PROTOCOL)
    assert "nothing that its description knows" in result.error


# JSON lines


LINES = """
output: jsonl
tools: {sh: shell}
records:
- {where: {type: part}, piece: text}
- {where: {type: step}, usage: {of: call, input_tokens: "tokens[0]", output_tokens: "tokens[-1]"}}
- {where: {type: total}, usage: {input_tokens: in}}
- {where: {type: again}, retry: why}
- {where: {type: tool}, tool_call: {name: tool, id: id, input: input}}
- {where: {type: tool, state: [done, broken]}, tool_result: {id: id, output: out, ok: fine}}
- {where: {type: oops}, error: message}
- {where: {type: end}, success: true, last: true}
- {where: {type: refused}, each: names, denied: .}
"""


async def run_lines(*lines, tail: str = "", **request):
    told = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return await run_script(f"cat <<'END'\n{told}\nEND\n{tail}", LINES, **request)


async def test_lines_become_events_and_an_answer():
    result, events = await run_lines(
        {"type": "part", "text": "Hel"},
        {"type": "tool", "tool": "sh", "id": 4, "input": "ls -l"},
        {"type": "tool", "tool": "sh", "id": 4, "state": "done", "out": {"lines": 2}, "fine": True},
        {"type": "again", "why": "busy"},
        {"type": "part", "text": "lo"},
        {"type": "refused", "names": ["rm", "dd"]},
        {"type": "end"},
    )
    assert (result.status, result.text, result.denied) == (Status.OK, "Hello", ["rm", "dd"])
    called = ToolCall("sh", "4", ToolKind.SHELL, {"input": "ls -l"})
    assert events[1:3] == [called, ToolCall("sh", "4", ToolKind.SHELL)]
    assert events[3:5] == [ToolResult("4", True, '{"lines":2}'), Retried(1, "busy")]


async def test_calls_add_up_and_a_total_replaces():
    calls = [{"type": "step", "tokens": [100, 9, 5]}, {"type": "step", "tokens": [50, 1]}]
    result, events = await run_lines(*calls, {"type": "end"})
    assert result.usage == Usage(input_tokens=150, output_tokens=6)
    assert [event.usage.input_tokens for event in events] == [100, 50]
    result, events = await run_lines({"type": "total", "in": 100}, {"type": "total", "in": 130}, {"type": "end"})
    assert result.usage == Usage(input_tokens=130)
    assert [event.usage.input_tokens for event in events] == [100, 30]


@pytest.mark.parametrize("told", [-5, True, "5", 1.5, 10**40, None, [1]])
async def test_an_amount_that_is_none_is_not_told(told):
    result, _ = await run_lines({"type": "total", "in": told}, {"type": "end"})
    assert (result.status, result.usage) == (Status.OK, Usage(incomplete=True))


async def test_a_total_cannot_be_taken_back():
    result, _ = await run_lines({"type": "total", "in": 500}, {"type": "total", "in": 1}, {"type": "end"})
    assert result.usage == Usage(input_tokens=500)


async def test_the_last_word_counts():
    result, _ = await run_lines({"type": "oops", "message": "again"}, {"type": "end"})
    assert result.status is Status.OK
    result, _ = await run_lines({"type": "oops", "message": "rate limit"})
    assert (result.failure_kind, result.error) == (Kind.RATE_LIMIT, "rate limit")


async def test_a_record_of_success_counts_more_than_an_exit_code():
    result, _ = await run_lines({"type": "end"}, tail="exit 9")
    assert (result.status, result.exit_code) == (Status.OK, 9)


async def test_a_half_line_at_the_end_is_no_record():
    result, _ = await run_script("""printf '{"type": "part", "text": "x"}\n{"type": "e'""", LINES)
    assert (result.status, result.failure_kind, result.text) == (Status.FAILED, Kind.PROTOCOL, "x")


HOSTILE = [
    "[" * 100_000,
    '{"type": ' * 50_000,
    '{"type": "tool", "input": ' + '{"a":' * 500 + "1" + "}" * 501,
    '{"type": "part", "text": {"a": "\\ud800"}}',
    '{"type": "step", "tokens": {"0": 1}}',
    '{"type": "step", "tokens": "ab"}',
    '{"type": "refused", "names": {"a": 1}}',
    '{"type": "refused", "names": [[[]]]}',
    '{"type": "total", "in": 1e999}',
    '{"type": ["end"]}',
    "[1, 2]",
    '"end"',
    "\x00\ufffd\ud800",
    "",
]


@pytest.mark.parametrize("output", ["text", "json", "jsonl"])
def test_no_line_can_make_it_raise(output):
    description = (
        described(LINES.replace("jsonl", output) + "argv: [x]") if output != "text" else described("argv: [x]")
    )
    conversation = DescribedDialect("it", description, {}).converse(HarnessRequest(prompt="x"))
    for line in HOSTILE:
        msgspec.json.encode([event for event in conversation.feed(line) if not isinstance(event, Message)])
    data = "\n".join(HOSTILE).encode(errors="replace")
    outcome = conversation.outcome(Finished(exit_code=1, duration_secs=1, stdout=Output(data, len(data))))
    assert not outcome.ok


@pytest.mark.parametrize(("depth", "calls"), [(90, 1), (500, 0)])
async def test_a_record_that_is_nested_too_deeply_to_be_kept_is_none(depth, calls):
    deep = '{"a":' * depth + "1" + "}" * depth
    _, events = await run_lines(f'{{"type": "tool", "tool": "sh", "input": {deep}}}')
    assert len(events) == calls


async def test_a_line_of_many_megabytes_is_not_read_as_a_record():
    script = """python3 -c 'print("{\\"type\\": \\"end\\", \\"x\\": \\"" + "y" * 20_000_000 + "\\"}")'"""
    result, _ = await run_script(script, LINES)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.PROTOCOL)


async def test_bytes_that_are_no_text_are_passed_over():
    result, _ = await run_script(r"""printf '\xff\xfe{\x00}\n{"type": "end"}\n'""", LINES)
    assert result.status is Status.OK


# Agents that trueup knows, described


@pytest.fixture
def installed(tmp_path):
    """A folder with scripted agents by the names of real ones."""

    def install(name: str, script: str) -> Here:
        ScriptedAgent(script, speak=name).install(tmp_path / name)
        return Here(f"{tmp_path}:{PATH}")

    return install


@pytest.mark.parametrize(("name", "tool"), [("claude", "Bash"), ("codex", "command_execution")])
async def test_a_known_agent_can_be_described(installed, tmp_path, name, tool):
    here = installed(name, f"shell echo hi > {tmp_path}/made\nsay DONE")
    result, events = await run(KNOWN[f"like-{name}"], here, model="m-1")
    assert (result.status, result.text) == (Status.OK, "DONE")
    assert (tmp_path / "made").read_text() == "hi\n"
    assert result.usage.output_tokens == 100
    assert events[0] == SessionNamed(result.session_id)
    called = next(event for event in events if isinstance(event, ToolCall))
    assert (called.name, called.tool_kind) == (tool, ToolKind.SHELL)
    assert "echo hi" in called.input["command"]
    assert [event.ok for event in events if isinstance(event, ToolResult)] == [True]


@pytest.mark.parametrize("name", ["claude", "codex"])
async def test_a_described_agent_goes_on_with_its_session_and_counts_only_what_it_knows(installed, name):
    here = installed(name, "say again")
    session = "11111111-2222-4333-8444-555555555555"
    result, _ = await run(KNOWN[f"like-{name}"], here, resume=session)
    assert (result.status, result.session_id) == (Status.OK, session)
    assert result.usage.incomplete
    assert result.usage.cost_usd is None


@pytest.mark.parametrize("name", ["claude", "codex"])
@pytest.mark.parametrize("kind", ["auth", "rate_limit", "overloaded"])
async def test_failures_of_a_described_agent_have_their_kind(installed, name, kind):
    result, _ = await run(KNOWN[f"like-{name}"], installed(name, f"error {kind} nothing doing"))
    assert (result.status, result.failure_kind) == (Status.FAILED, kind)
    assert "nothing doing" in result.error
    assert result.text == ""
