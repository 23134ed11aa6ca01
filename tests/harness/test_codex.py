"""How codex is spoken to, and what its words mean: on output that it once gave."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from trueup.core.errors import Kind
from trueup.core.process import Finished, Output
from trueup.core.protocols import Decision
from trueup.core.usage import Usage
from trueup.harness import (
    Ask,
    HarnessRequest,
    Message,
    Mode,
    PermissionDecided,
    Reasoning,
    Retried,
    Say,
    SessionNamed,
    ToolCall,
    ToolKind,
    ToolResult,
    UsageReported,
)
from trueup.harness._codex import Codex
from trueup.harness._codex_exec import ExecConversation
from trueup.harness._codex_failures import failure
from trueup.harness._codex_rpc import AppServerConversation

RECORDED = Path(__file__).parent / "recorded" / "codex"
ONE_CALL = Usage(input_tokens=1200, output_tokens=50, cache_read_tokens=200, cache_write_tokens=0)
TWO_CALLS = ONE_CALL + ONE_CALL


def lines_of(name: str) -> list[str]:
    return (RECORDED / f"{name}.jsonl").read_text().splitlines()


def ended(exit_code: int = 0, stderr: str = "") -> Finished:
    data = stderr.encode()
    return Finished(exit_code=exit_code, duration_secs=1, stderr=Output(data, len(data)))


def asked(**more) -> HarnessRequest:
    return HarnessRequest(**{"prompt": "do it", **more})


def heard(conversation, lines) -> list:
    return [said for line in lines for said in conversation.feed(line)]


# `codex exec`


def executed(name: str, **request):
    conversation = ExecConversation(asked(**request))
    return conversation, heard(conversation, lines_of(f"exec_{name}"))


def test_a_good_run_is_told_in_the_words_of_all_agents():
    conversation, events = executed("ok")
    session = "01a1de14-e0e0-7ac0-82f1-b65b2ec78a35"
    assert events == [
        SessionNamed(session),
        Message("Running a command."),
        ToolCall("command_execution", "item_2", ToolKind.SHELL, {"command": "echo hi > m7cc927.txt"}),
        ToolResult("item_2", True, ""),
        Message("DONE"),
        UsageReported(TWO_CALLS),
    ]
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.text, outcome.session_id, outcome.usage) == (True, "DONE", session, TWO_CALLS)
    assert conversation.is_over


def test_an_item_of_type_error_is_only_a_warning():
    conversation, _ = executed("x_empty")
    assert "metadata" in "\n".join(lines_of("exec_x_empty"))
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.text, outcome.error) == (True, "", "")


def test_of_a_tool_that_codex_does_not_have_nothing_is_told_but_what_it_used():
    conversation, events = executed("x_badtool")
    assert [type(event) for event in events] == [SessionNamed, Message, UsageReported]
    assert (conversation.outcome(ended()).ok, conversation.outcome(ended()).usage) == (True, TWO_CALLS)


def test_a_patch_is_a_tool_that_writes_and_a_thought_is_a_thought():
    _, patched = executed("patch")
    [call] = [event for event in patched if isinstance(event, ToolCall)]
    assert (call.name, call.tool_kind) == ("file_change", ToolKind.WRITE)
    assert call.input == {"changes": [{"path": "/repo/in.txt", "kind": "add"}]}
    assert ToolResult("item_0", True) in patched
    assert Reasoning("Hmm.") in executed("thinking")[1]


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("401", Kind.AUTH, "unexpected status 401 Unauthorized"),
        ("429", Kind.RATE_LIMIT, "last status: 429"),
        ("500", Kind.OVERLOADED, "high demand"),
        ("garbage", Kind.NETWORK, "stream disconnected"),
        ("refused", Kind.NETWORK, "waiting for network"),
        ("refused_bounded", Kind.NETWORK, "error sending request"),
        ("400", Kind.MODEL_NOT_FOUND, "The model `gpt-9` does not exist"),
        ("quota", Kind.QUOTA, "Quota exceeded"),
        ("context", Kind.CONTEXT_LENGTH, "exceeds the context window"),
    ],
)
def test_a_turn_that_failed_is_no_success_whatever_the_exit_code(name, kind, told):
    conversation, _ = executed(name)
    outcome = conversation.outcome(ended(exit_code=0))
    assert conversation.is_over
    assert (outcome.ok, outcome.failure_kind, outcome.usage) == (False, kind, Usage(incomplete=True))
    assert told in outcome.error


def test_tries_are_counted_as_codex_counts_them():
    message = "unexpected status 401 Unauthorized: scripted 401, url: http://127.0.0.1:PORT/m/401/v1/responses"
    assert [event for event in executed("401")[1] if isinstance(event, Retried)] == [
        Retried(1, f"Reconnecting... 1/1 ({message})")
    ]


def test_waiting_for_the_network_forever_is_left_after_a_few_times():
    conversation = ExecConversation(asked())
    over = []
    for line in lines_of("exec_refused"):
        conversation.feed(line)
        over.append(conversation.is_over)
    assert over == [False] * (len(over) - 1) + [True]


def test_without_its_last_record_a_run_is_no_success_and_what_it_used_is_unknown():
    conversation = ExecConversation(asked())
    heard(conversation, lines_of("exec_ok")[:-1])
    assert not conversation.is_over
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.usage) == (False, Usage(incomplete=True))


def test_a_run_that_says_nothing_on_stdout_is_explained_by_stderr_without_the_trace():
    stderr = (
        "Error: thread/resume failed: no rollout found for thread id 1 (code -32600)\n\nStack backtrace:\n 0: <unknown>"
    )
    outcome = ExecConversation(asked()).outcome(ended(1, stderr))
    assert outcome.failure_kind is Kind.SESSION_NOT_FOUND
    assert outcome.error == "thread/resume failed: no rollout found for thread id 1 (code -32600)"


NO_HELPER = (
    "WARNING: proceeding, even though we could not create PATH aliases: Refusing to create helper binaries under "
    'temporary dir "/tmp" (codex_home: AbsolutePathBuf("/tmp/home/.codex"))'
)


def test_words_on_stdout_that_are_no_records_explain_a_run_that_says_nothing_else():
    said = b'{"type":"thread.started","thread_id":"t"}\nNot logged in. Run codex login.\n'
    finished = Finished(exit_code=0, duration_secs=1, stdout=Output(said, len(said)))
    outcome = ExecConversation(asked()).outcome(finished)
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.AUTH)
    assert outcome.error == "Not logged in. Run codex login."


def test_a_codex_that_was_killed_is_told_to_have_been():
    outcome = ExecConversation(asked()).outcome(Finished(exit_code=None, signal=9, duration_secs=1))
    assert (outcome.failure_kind, outcome.error) == (
        Kind.PROTOCOL,
        "codex ended (signal 9) and said nothing of its turn",
    )


def test_a_record_that_is_only_half_kept_explains_nothing():
    said = json.dumps({"type": "item.completed", "item": {"text": "please run codex login " * 500}}).encode()
    finished = Finished(exit_code=0, duration_secs=1, stdout=Output(said, len(said)))
    assert ExecConversation(asked()).outcome(finished).failure_kind is Kind.PROTOCOL


@pytest.mark.parametrize("name", ["x_sandbox_ww", "x_sandbox_fails"])
def test_a_sandbox_that_could_not_be_set_up_is_told_although_codex_calls_it_a_success(name):
    conversation, _ = executed(name, mode=Mode.EDIT)
    outcome = conversation.outcome(ended(0, NO_HELPER))
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.INFRASTRUCTURE)
    assert "TMPDIR" in outcome.error


def test_a_sandbox_that_is_not_used_may_be_broken():
    conversation, _ = executed("x_sandbox_ww", mode=Mode.FULL)
    assert conversation.outcome(ended(0, NO_HELPER)).ok


def broken(value) -> Iterator:
    """A value with one thing in it, at any depth, replaced by what does not belong there."""
    yield from (5, "x", None, [], [None], {}, {"x": []}, True)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        for wrong in broken(inner):
            copy = value.copy()
            copy[key] = wrong
            yield copy


@pytest.mark.parametrize("recorded", sorted(RECORDED.iterdir()), ids=lambda file: file.stem)
def test_no_line_is_too_broken_to_be_read(recorded):
    lines = recorded.read_text().splitlines()
    for number, line in enumerate(lines):
        conversation = _reader(recorded.stem)
        heard(conversation, lines[:number])
        heard(conversation, [line[: len(line) // 2], "", "Warning: no JSON", '"text"', "[]"])
        heard(conversation, [json.dumps(wrong) for wrong in broken(json.loads(line))])
        conversation.outcome(ended())


def _reader(name: str):
    if name.startswith("exec"):
        return ExecConversation(asked())
    return AppServerConversation(asked(mode=Mode.EDIT), asks=name not in {"app_resume", "app_no_session"})


# `codex app-server`


def spoken(name: str, decide=lambda _: True, *, asks: bool = True, **request):
    """A recorded conversation, played with answers: what was heard, and what was said, in order."""
    conversation = AppServerConversation(asked(**request), asks=asks)
    told, said = [], [json.loads(line) for line in conversation.opening.splitlines()]
    for line in lines_of(f"app_{name}"):
        for heard_now in conversation.feed(line):
            told.append(heard_now)
            if isinstance(heard_now, Say):
                said += [json.loads(piece) for piece in heard_now.data.splitlines()]
            elif isinstance(heard_now, Ask):
                allowed = decide(heard_now.action)
                said.append(json.loads(conversation.answer(heard_now, Decision(allowed))))
    return conversation, told, said


def test_the_conversation_begins_a_thread_and_a_turn_of_it():
    _, told, said = spoken("gate", model="gpt-5", system="be brief")
    assert [message.get("method") for message in said[:5]] == [
        *("initialize", "initialized", "config/read", "thread/start", "turn/start")
    ]
    wanted = said[3]["params"]
    assert (wanted["approvalPolicy"], wanted["approvalsReviewer"]) == ("untrusted", "user")
    assert (wanted["sandbox"], wanted["model"]) == ("danger-full-access", "gpt-5")
    assert wanted["developerInstructions"] == "be brief"
    assert said[4]["params"]["input"] == [{"type": "text", "text": "do it"}]
    assert told[1] == SessionNamed(said[4]["params"]["threadId"])


def test_every_command_is_put_to_the_gate_and_a_denied_one_is_named():
    conversation, told, said = spoken("gate", lambda action: "forbidden" not in action.params["command"])
    asks = [ask.action for ask in told if isinstance(ask, Ask)]
    assert [(action.tool, action.params["command"], action.params["cwd"]) for action in asks] == [
        ("command_execution", "touch forbidden.txt", "/repo"),
        ("command_execution", "echo hi | tee allowed.txt", "/repo"),
    ]
    assert said[5:] == [{"id": 0, "result": {"decision": "decline"}}, {"id": 1, "result": {"decision": "accept"}}]
    results = [event for event in told if isinstance(event, ToolResult)]
    assert [(came.ok, came.output) for came in results] == [(False, "declined"), (True, "hi\n")]
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.text, outcome.denied) == (True, "Done.", ["touch forbidden.txt"])
    assert outcome.usage == TWO_CALLS + ONE_CALL
    assert [event.usage for event in told if isinstance(event, UsageReported)] == [ONE_CALL] * 3


def test_a_question_is_about_the_tool_that_was_called():
    _, told, _ = spoken("gate")
    calls = [event.id for event in told if isinstance(event, ToolCall)]
    assert [ask.id for ask in told if isinstance(ask, Ask)] == calls


def test_in_mode_edit_a_patch_beyond_the_workspace_is_declined_and_nobody_is_asked():
    conversation, told, said = spoken("patch", mode=Mode.EDIT)
    assert [ask.action.params["paths"] for ask in told if isinstance(ask, Ask)] == [["/repo/in.txt"]]
    [decided] = [event for event in told if isinstance(event, PermissionDecided)]
    assert (decided.tool, decided.allowed) == ("file_change", False)
    assert {"id": 1, "result": {"decision": "decline"}} in said
    assert conversation.outcome(ended()).denied == ["/place/out.txt"]


def test_in_mode_read_only_everything_that_is_asked_for_is_too_much():
    conversation, told, said = spoken("read_only", mode=Mode.READ_ONLY)
    assert [ask for ask in told if isinstance(ask, Ask)] == []
    assert said[3]["params"]["sandbox"] == "read-only"
    assert said[-1] == {"id": 0, "result": {"decision": "decline"}}
    assert conversation.outcome(ended()).denied == ["echo 2 > b.txt"]


def test_a_resumed_thread_counts_its_own_run_only():
    totals = [json.loads(lines_of(f"exec_{name}")[-1])["usage"]["input_tokens"] for name in ("ok", "resume")]
    assert totals == [2400, 4800], "codex exec counts the thread"
    assert Codex().invoke(asked(resume="T"), asks=False).argv[1] == "app-server"
    conversation, _, said = spoken("resume", asks=False, resume="T", system="be brief")
    assert conversation.outcome(ended()).usage == TWO_CALLS
    assert (said[3]["method"], said[3]["params"]["threadId"]) == ("thread/resume", "T")
    assert said[3]["params"]["approvalPolicy"] == "never"
    assert said[4]["method"] == "thread/inject_items", "a thread keeps the instructions that it began with"
    assert said[4]["params"]["items"][0]["content"][0]["text"] == "be brief"


def test_a_call_that_is_told_twice_is_counted_once():
    conversation = AppServerConversation(asked(), asks=True)
    for line in lines_of("app_gate"):
        for _ in range(1 + ("tokenUsage" in line)):
            conversation.feed(line)
    assert conversation.outcome(ended()).usage == TWO_CALLS + ONE_CALL


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("401", Kind.AUTH),
        ("429", Kind.RATE_LIMIT),
        ("500", Kind.OVERLOADED),
        ("400", Kind.OTHER),
        ("quota", Kind.QUOTA),
        ("refused", Kind.NETWORK),
        ("no_session", Kind.SESSION_NOT_FOUND),
    ],
)
def test_a_turn_that_failed_has_a_kind(name, kind):
    conversation, _, _ = spoken(name, resume="T" if name == "no_session" else None, asks=name != "no_session")
    outcome = conversation.outcome(ended())
    assert conversation.is_over
    assert (outcome.ok, outcome.failure_kind, outcome.usage.incomplete) == (False, kind, True)


def test_a_command_that_was_run_without_asking_stops_the_run():
    conversation, _, said = spoken("unasked")
    assert said[-1]["method"] == "turn/interrupt"
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.failure_kind) == (False, Kind.PROTOCOL)
    assert "'ls' without asking" in outcome.error


def test_servers_of_the_user_are_put_off_by_name_unless_they_are_wanted():
    _, _, said = spoken("unasked")
    assert said[3]["params"]["config"] == {"mcp_servers": {"mine": {"enabled": False}}}
    wanted = AppServerConversation(asked(), asks=True, user_config=True)
    [start] = [said for line in lines_of("app_unasked")[:3] for said in wanted.feed(line)][:1]
    assert "config" not in json.loads(start.data)["params"]


def test_a_tool_that_leaves_no_trace_is_told_to_have_vanished():
    conversation, told, _ = spoken("vanished")
    [came] = [event for event in told if isinstance(event, ToolResult)]
    assert (came.ok, "carried out none" in came.output) == (False, True)
    assert conversation.outcome(ended()).ok


def begun(**request) -> AppServerConversation:
    """A conversation whose turn has begun."""
    conversation = AppServerConversation(asked(**request), asks=True)
    for line in lines_of("app_gate"):
        conversation.feed(line)
        if json.loads(line).get("id") == "turn/start":
            return conversation
    raise AssertionError("no turn was recorded")


def test_a_codex_that_will_not_ask_is_not_begun():
    conversation = AppServerConversation(asked(), asks=True)
    told = heard(conversation, [line.replace('"untrusted"', '"never"') for line in lines_of("app_gate")])
    assert b"turn/start" not in b"".join(said.data for said in told if isinstance(said, Say))
    assert conversation.is_over
    assert conversation.outcome(ended()).failure_kind is Kind.PROTOCOL


def test_keys_that_are_typed_into_a_running_command_stop_the_run():
    conversation = begun()
    thread = json.loads(conversation.cancel())["params"]["threadId"]
    params = {"threadId": thread, "itemId": "c", "processId": "1", "stdin": "rm -rf .\n"}
    line = json.dumps({"method": "item/commandExecution/terminalInteraction", "params": params})
    [said] = conversation.feed(line)
    assert json.loads(said.data)["method"] == "turn/interrupt"
    assert conversation.outcome(ended()).failure_kind is Kind.PROTOCOL
    assert begun().feed(line.replace("rm -rf .\\n", "")) == [], "nothing typed is a look at its output"


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("item/fileChange/requestApproval", {"result": {"decision": "decline"}}),
        ("item/commandExecution/requestApproval", {"result": {"decision": "decline"}}),
        ("item/permissions/requestApproval", {"result": {"permissions": {}}}),
        ("mcpServer/elicitation/request", {"result": {"action": "decline"}}),
        ("item/tool/requestUserInput", {"result": {"answers": {}}}),
        ("what/isThis", {"error": {"code": -32601, "message": "trueup has no what/isThis"}}),
    ],
)
def test_what_is_not_described_or_not_known_is_declined(method, answer):
    told = begun().feed(json.dumps({"id": 7, "method": method, "params": {"itemId": "unheard-of"}}))
    assert [said for said in told if isinstance(said, Ask)] == []
    assert json.loads(told[-1].data) == {"id": 7, **answer}


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/bin/bash -lc 'rm -rf x'", "rm -rf x"),
        ("/usr/bin/zsh -c ls", "ls"),
        ("./bash -lc ls", "./bash -lc ls"),
        ("/repo/bin/bash -lc ls", "/repo/bin/bash -lc ls"),
        ("python3 -c 'import os'", "python3 -c 'import os'"),
        ("/bin/bash -lc 'unclosed", "/bin/bash -lc 'unclosed"),
    ],
)
def test_only_the_systems_own_shell_is_taken_off_a_command(command, shown):
    params = {"itemId": "c", "command": command, "cwd": "/repo"}
    [ask] = begun().feed(json.dumps({"id": 7, "method": "item/commandExecution/requestApproval", "params": params}))
    assert ask.action.params["command"] == shown


def test_it_is_told_to_stop_by_its_own_protocol_once_there_is_something_to_stop():
    assert AppServerConversation(asked(), asks=True).cancel() == b""
    assert json.loads(begun().cancel())["method"] == "turn/interrupt"


# Why it failed


@pytest.mark.parametrize(
    ("info", "kind"),
    [
        ("contextWindowExceeded", Kind.CONTEXT_LENGTH),
        ("usageLimitExceeded", Kind.QUOTA),
        ("rateLimitExceeded", Kind.RATE_LIMIT),
        ("serverOverloaded", Kind.OVERLOADED),
        ("unauthorized", Kind.AUTH),
        ("cyberPolicy", Kind.REFUSED),
        ({"httpConnectionFailed": {"httpStatusCode": 503}}, Kind.OVERLOADED),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, Kind.RATE_LIMIT),
        ({"responseStreamDisconnected": {"httpStatusCode": None}}, Kind.TIMEOUT),
        ("other", Kind.TIMEOUT),
        (None, Kind.TIMEOUT),
    ],
)
def test_a_code_counts_before_the_words(info, kind):
    assert failure("it timed out", info).kind is kind


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("You've hit your usage limit. Upgrade to Pro or try again at 9 PM.", Kind.QUOTA),
        ("Not logged in. Run `codex login` first.", Kind.AUTH),
        ("Missing environment variable: `OPENAI_API_KEY`.", Kind.AUTH),
        ("Your access token could not be refreshed. Please log out and sign in again.", Kind.AUTH),
        ("Codex ran out of room in the model's context window.", Kind.CONTEXT_LENGTH),
        ("Not inside a trusted directory and --skip-git-repo-check was not specified.", Kind.UNTRUSTED_DIRECTORY),
        ("The 'gpt-9' model is not supported when using Codex with a ChatGPT account.", Kind.MODEL_NOT_FOUND),
        ("Input exceeds the maximum length of 1048576 characters.", Kind.INPUT_TOO_LARGE),
        ("Selected model is at capacity. Please try a different model.", Kind.OVERLOADED),
        ("error: unexpected argument '--jsonl' found", Kind.PROTOCOL),
        ('{"error": {"message": "no such thing", "code": "model_not_found"}}', Kind.MODEL_NOT_FOUND),
        ("invalid session id: invalid character: found `n` at 1", Kind.SESSION_NOT_FOUND),
        ("something else entirely", Kind.OTHER),
    ],
)
def test_words_have_a_kind(said, kind):
    assert failure(said).kind is kind


# How a request is put


def settings_of(argv) -> dict:
    """What the options of a command line make of codex's configuration."""
    options = [argv[number + 1] for number, word in enumerate(argv) if word == "-c"]
    return tomllib.loads("\n".join(options))


def put(*, asks: bool = False, user_config: bool = False, **request):
    return Codex(user_config=user_config).invoke(asked(**request), asks=asks)


def test_a_prompt_is_never_among_the_words():
    prompt = "do it " * 20_000
    for invocation in (put(prompt=prompt), put(prompt=prompt, asks=True)):
        assert not any("do it" in word for word in invocation.argv)
    plain = put(prompt=prompt)
    assert (plain.argv[-1], plain.stdin, plain.converses) == ("-", prompt.encode(), False)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (Mode.READ_ONLY, ("--sandbox", "read-only")),
        (Mode.EDIT, ("--sandbox", "workspace-write")),
        (Mode.FULL, ("--dangerously-bypass-approvals-and-sandbox",)),
    ],
)
def test_a_mode_is_a_sandbox_of_codex_or_none(mode, words):
    argv = put(mode=mode).argv
    assert argv[argv.index(words[0]) :][: len(words)] == words
    assert ("--sandbox" in argv) is (mode is not Mode.FULL)


def test_instructions_are_quoted_as_toml():
    system = 'say "yes",\\ a tab\t, a line\n, \x7f and \x00 and ü'
    assert settings_of(put(system=system).argv)["developer_instructions"] == system


def test_instructions_that_are_too_long_for_a_command_line_are_told_by_conversation():
    invocation = put(system="s" * 70_000)
    assert (invocation.argv[1], invocation.converses) == ("app-server", True)
    assert not any("sss" in word for word in invocation.argv)


def test_what_the_user_configured_is_off_unless_it_is_wanted():
    assert {"--ignore-user-config", "--ignore-rules"} < set(put().argv)
    off = settings_of(put(asks=True).argv)
    assert (off["features"]["hooks"], off["features"]["plugins"], off["notify"]) == (False, False, [])
    wanted = settings_of(put(user_config=True).argv)
    assert "notify" not in wanted
    assert "hooks" not in wanted["features"]
    assert "--ignore-user-config" not in put(user_config=True).argv


@pytest.mark.parametrize("asks", [True, False])
def test_it_calls_nobody_but_the_model_and_does_not_wait_forever(asks):
    settings = settings_of(put(asks=asks).argv)
    assert settings["analytics"] == {"enabled": False}
    assert settings["check_for_update_on_startup"] is False
    assert settings["features"]["unbounded_connection_retries"] is False


def test_with_a_gate_commands_have_no_keyboard():
    assert settings_of(put(asks=True).argv)["features"]["unified_exec_tty"] is False
    assert "unified_exec_tty" not in settings_of(put().argv)["features"]


def test_a_base_url_and_a_key_become_a_provider():
    settings = settings_of(put(env={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "sk-x"}).argv)
    assert settings["model_provider"] == "trueup"
    provider = settings["model_providers"]["trueup"]
    assert (provider["base_url"], provider["env_key"]) == ("http://127.0.0.1:1/v1", "OPENAI_API_KEY")
    assert (provider["wire_api"], provider["supports_websockets"]) == ("responses", False)
    assert provider["request_max_retries"] <= 2
    assert provider["stream_max_retries"] <= 2


def test_a_key_is_named_and_never_shown():
    for asks in (True, False):
        invocation = put(asks=asks, env={"OPENAI_API_KEY": "sk-secret"})
        assert not any("sk-secret" in word for word in invocation.argv)
        assert b"sk-secret" not in invocation.stdin


@pytest.mark.parametrize(
    ("env", "url", "who"),
    [
        ({"CODEX_BASE_URL": "http://a", "OPENAI_BASE_URL": "http://b"}, "http://a", {"requires_openai_auth": True}),
        ({"CODEX_API_KEY": "1", "OPENAI_API_KEY": "2"}, "https://api.openai.com/v1", {"env_key": "CODEX_API_KEY"}),
    ],
)
def test_codexs_own_variables_come_first_and_the_rest_is_the_usual(env, url, who):
    provider = settings_of(put(env=env).argv)["model_providers"]["trueup"]
    assert provider["base_url"] == url
    assert who.items() <= provider.items()


def test_without_variables_it_is_the_users_own_login():
    settings = settings_of(put().argv)
    assert "model_provider" not in settings
    assert "model_providers" not in settings


@pytest.mark.parametrize(
    ("env", "moved"),
    [
        ({"CODEX_HOME": "/tmp/x/.codex"}, True),
        ({"HOME": "/tmp/x"}, True),
        ({"CODEX_HOME": "/home/x/.codex", "HOME": "/tmp/x"}, False),
        ({"CODEX_HOME": "/tmp/x/.codex", "TMPDIR": "/elsewhere"}, False),
        ({}, False),
    ],
)
def test_the_temporary_folder_is_moved_where_codexs_home_lies_in_it(env, moved):
    assert ("TMPDIR" in put(env=env).env) is moved


async def test_a_codex_that_is_not_there_is_said_to_be_missing(tmp_path):
    found = await Codex().probe({"PATH": str(tmp_path)})
    assert (found.installed, found.logged_in) == (False, None)
    assert "npm install" in found.note


@pytest.mark.parametrize("program", ["#!/no/such/interpreter\n", "garbage", "#!/bin/sh\necho no libc >&2\nexit 1\n"])
async def test_a_codex_that_is_broken_is_not_installed(tmp_path, program):
    (tmp_path / "codex").write_text(program)
    (tmp_path / "codex").chmod(0o755)
    found = await Codex().probe({"PATH": f"{tmp_path}:/bin"})
    assert (found.installed, found.path) == (False, str(tmp_path / "codex"))
    assert str(tmp_path / "codex") in found.note


async def test_only_codexs_own_words_are_a_login(tmp_path):
    program = tmp_path / "codex"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo codex-cli 9.9 || echo something else\n')
    program.chmod(0o755)
    assert (await Codex().probe({"PATH": f"{tmp_path}:/bin"})).logged_in is None
    program.write_text(program.read_text().replace("something else", "Logged in using ChatGPT"))
    assert (await Codex().probe({"PATH": f"{tmp_path}:/bin"})).logged_in is True


def test_the_version_is_in_the_name_by_which_codex_greets():
    conversation, _, _ = spoken("gate")
    assert conversation.outcome(ended()).version == "0.163.0"


async def test_a_codex_that_does_not_tell_whether_it_is_logged_in_may_be(tmp_path):
    program = tmp_path / "codex"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo codex-cli 9.9 || exit 3\n')
    program.chmod(0o755)
    found = await Codex().probe({"PATH": f"{tmp_path}:/bin"})
    assert (found.installed, found.version, found.logged_in) == (True, "9.9", None)
