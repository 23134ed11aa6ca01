"""What an ACP agent may do: by the mode, by the gate, told by the kind of an option, and never unseen."""

from __future__ import annotations

import asyncio

import pytest

from trueup.core.errors import InputError, Kind
from trueup.core.protocols import Action, Decision
from trueup.harness import Mode, PermissionDecided, Status, ToolCall
from trueup.policy import Policies, PolicyGate, load_policies

SHELL = {"kind": "execute", "rawInput": {"command": "make"}}
PUSH = {"kind": "execute", "rawInput": {"command": "git push"}}
NO_PUSH = b"policies: [{name: no-push, rule: deny_command, pattern: git push}]"


def update(**more):
    return [
        "send",
        {"method": "session/update", "params": {"sessionId": "session-1", "update": {"toolCallId": "t", **more}}},
    ]


@pytest.fixture
def no_push() -> PolicyGate:
    return PolicyGate(Policies(load_policies(NO_PUSH, "policy.yaml")))


async def test_an_option_is_chosen_by_its_kind_whatever_it_is_called(ground, script, allowing):
    """The one that allows once is called `Reject` here, and is the second."""
    result = await ground.run(ground.agent(script.asks(SHELL).ends()), allowing, mode=Mode.FULL)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "b"}]
    assert result.denied == []


@pytest.mark.parametrize(
    "options",
    [
        [{"optionId": "x", "kind": "allow_always"}],
        [{"optionId": "x", "kind": "allow_once"}, {"optionId": "y", "kind": "allow_once"}],
        [{"optionId": "x", "kind": "allow_sometimes"}],
        ["allow_once", {"kind": "allow_once"}, {"optionId": 7, "kind": "allow_once"}, None],
        [],
        "allow_once",
        None,
    ],
)
async def test_nothing_is_allowed_for_more_than_once_or_by_a_guess(options, ground, script, allowing):
    result = await ground.run(ground.agent(script.asks(SHELL, options).ends()), allowing)
    assert ground.outcomes == [{"outcome": "cancelled"}]
    assert result.denied == ["make"]
    assert ground.told(PermissionDecided)[-1].reason == "the agent offers no way to allow this once"


async def test_a_refusal_is_told_for_ever_where_it_cannot_be_told_for_once(ground, script, refusing):
    options = [{"optionId": "x", "kind": "allow_once"}, {"optionId": "y", "kind": "reject_always"}]
    await ground.run(ground.agent(script.asks(SHELL, options).ends()), refusing)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "y"}]


async def test_policies_hold_for_what_an_agent_asks(ground, script, no_push, tmp_path):
    script.asks(PUSH, writes=str(tmp_path / "pushed")).ends()
    result = await ground.run(ground.agent(script), no_push)
    assert result.denied == ["git push"]
    assert "no-push" in ground.told(PermissionDecided)[0].reason
    assert not (tmp_path / "pushed").exists()


async def test_a_call_is_joined_from_its_parts_by_its_id(ground, script, no_push):
    """The question has an id and nothing else. Of another call there is a harmless command."""
    script.then(
        update(sessionUpdate="tool_call", title="x", kind="execute", status="pending", rawInput={}),
        [
            "send",
            {
                "method": "session/update",
                "params": {
                    "sessionId": "session-1",
                    "update": {
                        "sessionUpdate": "tool_call",
                        "toolCallId": "other",
                        "title": "y",
                        "kind": "execute",
                        "rawInput": {"command": "ls"},
                    },
                },
            },
        ],
        update(sessionUpdate="tool_call_update", rawInput={"command": "git push"}),
    )
    result = await ground.run(ground.agent(script.asks({}).ends()), no_push)
    assert result.denied == ["git push"]
    assert ground.told(ToolCall)[0].input == {"command": "git push"}


async def test_a_question_may_leave_out_what_was_told_before(ground, script, allowing):
    before = {"command": "ls", "cwd": "/w"}
    script.then(update(sessionUpdate="tool_call", title="x", kind="execute", rawInput=before))
    await ground.run(ground.agent(script.asks({"rawInput": {"cmd": "git push"}}).ends()), allowing)
    assert allowing.asked == [Action("shell", {"cwd": "/w", "cmd": "git push"})]


async def test_what_the_question_itself_says_is_what_counts(ground, script, no_push):
    script.then(update(sessionUpdate="tool_call", title="x", kind="execute", rawInput={"command": "ls", "cwd": "/w"}))
    await ground.run(ground.agent(script.asks(PUSH).ends()), no_push)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]


UNSEEN = [
    {},
    {"kind": "execute"},
    {"kind": "execute", "title": "ls"},
    {"kind": "execute", "title": "Bash", "rawInput": {"command": ""}},
    {"kind": "execute", "rawInput": "git push"},
    {"kind": "execute", "content": [{"type": "content", "content": {"type": "text", "text": '{"command": "ls"}'}}]},
    {"kind": "edit", "title": "Edit a file"},
    {"kind": "edit", "rawInput": {"patch": "*** Begin Patch"}},
    {"kind": "delete"},
    {"kind": "fetch", "title": "https://example.com"},
    {"kind": "read"},
]


async def test_what_cannot_be_seen_is_refused(ground, script, allowing):
    result = await ground.run(ground.agent(script.asks_all(UNSEEN).ends()), allowing)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}] * len(UNSEEN)
    assert allowing.asked == []
    assert len(result.denied) == len(UNSEEN)


SEEN = [
    (SHELL, Action("shell", {"command": "make"})),
    ({"kind": "other", "rawInput": {"command": ["git", "push"]}}, Action("shell", {"command": ["git", "push"]})),
    ({"rawInput": {"cmd": "make"}}, Action("shell", {"cmd": "make"})),
    ({"kind": "edit", "locations": [{"path": "/w/a"}]}, Action("write", {"paths": ["/w/a"]})),
    (
        {"kind": "edit", "content": [{"type": "diff", "path": "/w/a", "newText": ""}]},
        Action("write", {"paths": ["/w/a"]}),
    ),
    ({"kind": "move", "rawInput": {"file_path": "a"}}, Action("write", {"file_path": "a"})),
    ({"kind": "fetch", "rawInput": {"url": "u"}}, Action("web", {"url": "u"})),
    (
        {"kind": "other", "name": "developer__text_editor", "rawInput": {"command": "view", "path": "a"}},
        Action("write", {"command": "view", "path": "a"}, "developer__text_editor"),
    ),
    ({"name": "ask_oracle", "rawInput": {"question": "q"}}, Action("ask_oracle", {"question": "q"})),
]


async def test_a_gate_sees_tools_by_what_they_do(ground, script, allowing):
    await ground.run(ground.agent(script.asks_all([call for call, _ in SEEN]).ends()), allowing)
    assert allowing.asked == [seen for _, seen in SEEN]


FILE = {"rawInput": {"path": "a"}}
# What each mode allows, and what it does not.
MODES = {
    Mode.READ_ONLY: (
        [{"kind": "read", **FILE}, {"kind": "search"}],
        [{"kind": "edit", **FILE}, {"kind": "fetch", "rawInput": {"url": "u"}}, SHELL, {"kind": "switch_mode"}, {}],
    ),
    Mode.EDIT: (
        [{"kind": "edit", **FILE}, {"kind": "read"}],
        [
            {"kind": "edit", "rawInput": {"path": "../a"}},
            {"kind": "edit", "rawInput": {"path": "a"}, "locations": [{"path": "/etc/a"}]},
            {"kind": "edit"},
            SHELL,
        ],
    ),
    Mode.FULL: ([SHELL, {"kind": "execute"}, {}], []),
}


@pytest.mark.parametrize("mode", MODES)
async def test_a_mode_holds_without_a_gate(mode, ground, script):
    allowed, refused = MODES[mode]
    result = await ground.run(ground.agent(script.asks_all([*allowed, *refused]).ends()), mode=mode)
    chosen = [outcome["optionId"] for outcome in ground.outcomes]
    assert chosen == ["b"] * len(allowed) + ["c"] * len(refused)
    assert len(result.denied) == len(refused)


async def test_nobody_widens_the_mode_of_a_run(ground, script, allowing):
    await ground.run(ground.agent(script.asks({"kind": "switch_mode", "rawInput": {"plan": "p"}}).ends()), allowing)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]
    assert allowing.asked == []


async def test_what_was_done_unasked_is_put_to_the_gate_too(ground, script, no_push):
    script.then(
        update(
            sessionUpdate="tool_call", title="x", kind="execute", status="in_progress", rawInput={"command": "git push"}
        ),
        update(sessionUpdate="tool_call_update", status="completed"),
        ["hear", "session/cancel"],
    )
    result = await ground.run(ground.agent(script.ends("cancelled")), no_push)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.REFUSED)
    assert "did unasked what is refused: git push" in result.error


async def test_what_was_done_unasked_and_is_allowed_is_no_matter(ground, script, no_push):
    script.then(
        update(sessionUpdate="tool_call", title="x", kind="execute", status="completed", rawInput={"command": "ls"})
    )
    result = await ground.run(ground.agent(script.ends()), no_push)
    assert result.status is Status.OK


async def test_a_call_that_failed_before_it_was_asked_for_did_nothing(ground, script):
    """qwen looks at the arguments first: a path that is not whole is a failure."""
    script.then(update(sessionUpdate="tool_call", title="WriteFile", kind="edit", status="failed")).ends()
    result = await ground.run(ground.agent(script), mode=Mode.READ_ONLY)
    assert result.status is Status.OK


async def test_a_command_that_failed_has_been_run(ground, script, no_push):
    script.then(
        update(sessionUpdate="tool_call", title="x", kind="execute", status="failed", rawInput={"command": "git push"}),
        ["hear", "session/cancel"],
    )
    result = await ground.run(ground.agent(script.ends("cancelled")), no_push)
    assert result.failure_kind is Kind.REFUSED


async def test_what_was_read_unasked_may_be_told_by_a_title_alone(ground, script, allowing):
    """gemini tells no more of it."""
    script.then(update(sessionUpdate="tool_call", title="README.md", kind="read", status="completed")).ends()
    result = await ground.run(ground.agent(script), allowing)
    assert result.status is Status.OK
    assert allowing.asked == [Action("read", {"title": "README.md"})]


async def test_a_command_that_was_run_unasked_and_unseen_ends_the_run(ground, script, allowing):
    script.then(
        update(sessionUpdate="tool_call", title="x", kind="execute", status="completed"), ["hear", "session/cancel"]
    )
    result = await ground.run(ground.agent(script.ends("cancelled")), allowing)
    assert result.failure_kind is Kind.REFUSED


async def test_a_file_that_is_named_twice_is_one(ground, script, allowing):
    place = {"path": "/w/a"}
    call = {"kind": "edit", "locations": [place], "content": [{"type": "diff", "newText": "", **place}], "title": "x"}
    await ground.run(ground.agent(script.asks(call).ends()), allowing)
    assert allowing.asked[0].params["paths"] == ["/w/a"]


async def test_a_file_that_was_changed_unasked_ends_a_run_that_only_looks(ground, script):
    script.then(
        update(sessionUpdate="tool_call", title="x", kind="edit", status="completed", locations=[{"path": "a"}]),
        ["hear", "session/cancel"],
    )
    result = await ground.run(ground.agent(script.ends("cancelled")), mode=Mode.READ_ONLY)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.REFUSED)


async def test_an_agent_that_leaves_the_mode_in_which_it_asks_is_ended(ground, script, allowing):
    script.then(
        [
            "send",
            {
                "method": "session/update",
                "params": {
                    "sessionId": "session-1",
                    "update": {"sessionUpdate": "current_mode_update", "currentModeId": "yolo"},
                },
            },
        ],
        ["hear", "session/cancel"],
    )
    result = await ground.run(ground.agent(script.ends("cancelled")), allowing)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.REFUSED)
    assert "'yolo'" in result.error


async def test_a_question_after_the_end_is_not_answered_with_yes(ground, script, allowing, tmp_path):
    script.ends().asks(SHELL, writes=str(tmp_path / "written"))
    result = await ground.run(ground.agent(script), allowing)
    assert not (tmp_path / "written").exists()
    assert allowing.asked == []
    assert result.exit_code == 0


async def test_a_question_before_the_turn_is_not_answered_with_yes(ground, allowing, tmp_path, script):
    asked = {"sessionId": "s", "toolCall": {"toolCallId": "t", **SHELL}, "options": script.OPTIONS}
    early = [["ask", 5, asked], ["hear_answer", 5, str(tmp_path / "written"), "b"]]
    script[2:2] = early
    await ground.run(ground.agent(script.ends()), allowing)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]
    assert not (tmp_path / "written").exists()
    assert allowing.asked == []


class Slow:
    """A gate that never comes to a decision."""

    async def decide(self, action: Action) -> Decision:
        await asyncio.sleep(600)
        return Decision(allowed=True)


async def test_a_question_that_is_open_when_the_run_is_stopped_is_cancelled(ground, script, tmp_path):
    script.asks(SHELL, writes=str(tmp_path / "written")).then(["hear", "session/cancel"]).ends("cancelled")
    result = await ground.run(ground.agent(script), Slow(), timeout_secs=1.5)
    assert result.status is Status.TIMED_OUT
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]
    assert not (tmp_path / "written").exists()


async def test_time_in_which_the_agent_waits_for_us_is_no_silence(ground, script):
    class Considering:
        async def decide(self, action: Action) -> Decision:
            await asyncio.sleep(0.9)
            return Decision(allowed=True)

    script.asks(SHELL).then(update(sessionUpdate="tool_call_update", status="completed")).ends()
    result = await ground.run(ground.agent(script), Considering(), idle_secs=0.6)
    assert result.status is Status.OK


class BrokenError(Exception):
    pass


async def test_a_gate_that_breaks_breaks_the_run(ground, script):
    class Broken:
        async def decide(self, action: Action) -> Decision:
            raise BrokenError

    with pytest.raises(BrokenError):
        await ground.run(ground.agent(script.asks(SHELL).then(["stay"])), Broken())


async def test_an_agent_that_never_asks_is_not_begun_under_a_policy(ground, script, allowing):
    with pytest.raises(InputError, match="never asks"):
        await ground.run(ground.agent(script.ends(), asks=False), allowing)
    with pytest.raises(InputError, match="read_only"):
        await ground.run(ground.agent(script.ends(), asks=False), mode=Mode.READ_ONLY)
