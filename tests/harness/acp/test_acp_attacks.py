"""ACP agents that try to get something past whoever decides: by ids, kinds, names, parts, and by the order of things."""

from __future__ import annotations

import asyncio

import pytest

from trueup.core.errors import Kind
from trueup.core.protocols import Action, Decision
from trueup.core.usage import Usage
from trueup.harness import Mode, PermissionDecided, Status
from trueup.policy import Policies, PolicyGate, load_policies

PUSH = {"command": "git push"}
NO_PUSH = "{name: no-push, rule: deny_command, pattern: git push, target: shell}"


def policies(*rules: str, root="/w") -> PolicyGate:
    text = "policies:\n" + "".join(f"- {rule}\n" for rule in rules)
    return PolicyGate(Policies(load_policies(text.encode(), "policy.yaml")), root=root)


def update(call_id: str = "t", **more):
    told = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **more}
    return ["send", {"method": "session/update", "params": {"sessionId": "session-1", "update": told}}]


# What is asked for


@pytest.mark.parametrize("kind", ["read", "search", "edit", "fetch", "think", "other", "EXECUTE", None, 7])
async def test_what_has_a_command_is_a_command_whatever_it_is_called(kind, ground, script):
    script.asks({"kind": kind, "rawInput": {"path": "a", **PUSH}})
    await ground.run(ground.agent(script.ends()), policies(NO_PUSH))
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]


@pytest.mark.parametrize(("mode", "kind"), [(Mode.READ_ONLY, "read"), (Mode.READ_ONLY, "search"), (Mode.EDIT, "edit")])
async def test_no_mode_is_left_by_a_command_under_another_name(mode, kind, ground, script):
    script.asks({"kind": kind, "rawInput": {"path": "a", "command": "rm -rf ."}})
    await ground.run(ground.agent(script.ends()), mode=mode)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]


async def test_a_verb_of_an_editor_is_no_command(ground, script):
    script.asks({"kind": "edit", "rawInput": {"command": "str_replace", "path": "a"}})
    await ground.run(ground.agent(script.ends()), mode=Mode.EDIT)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "b"}]


async def test_files_that_are_told_apart_are_not_hidden_by_what_the_input_says(ground, script):
    call = {"kind": "edit", "rawInput": {"paths": ["a"]}, "locations": [{"path": "/w/keys/b.pem"}]}
    rule = "{name: keys, rule: deny_path, pattern: '*.pem'}"
    await ground.run(ground.agent(script.asks(call).ends()), policies(rule))
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]


async def test_a_command_of_an_earlier_part_does_not_stand_for_an_input_without_one(ground, script, allowing):
    script.then(update(title="x", kind="execute", rawInput={"command": "ls"}))
    await ground.run(ground.agent(script.asks({"rawInput": {"shell": "git push"}}).ends()), allowing)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]
    assert allowing.asked == []


async def test_a_tool_of_which_neither_kind_nor_name_is_told_is_refused(ground, script, allowing):
    script.asks_all([{"rawInput": {"x": "git push"}}, {"kind": "other", "title": "Run it", "rawInput": {"x": "y"}}])
    await ground.run(ground.agent(script.ends()), allowing)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}] * 2
    assert allowing.asked == []


async def test_a_tool_without_a_kind_is_named_by_a_title_that_is_a_name(ground, script, allowing):
    """opencode asks for its list of things to do by `todowrite`."""
    script.asks({"kind": "other", "title": "todowrite", "rawInput": {"todos": []}})
    await ground.run(ground.agent(script.ends()), allowing)
    assert allowing.asked == [Action("todowrite", {"todos": []})]


@pytest.mark.parametrize(
    ("kind", "name"), [("read", "mcp__vault__open"), ("execute", "run_terminal_cmd"), ("fetch", "browse")]
)
async def test_a_rule_for_the_agents_own_name_of_a_tool_holds_beside_its_kind(kind, name, ground, script):
    call = {"kind": kind, "name": name, "rawInput": {"command": "ls"} if kind == "execute" else {"path": "a"}}
    await ground.run(ground.agent(script.asks(call).ends()), policies(f"{{name: n, rule: deny_tool, target: {name}}}"))
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]


async def test_a_call_with_a_name_and_a_kind_counts_once(ground, script):
    calls = [{"kind": "execute", "name": "run_terminal_cmd", "rawInput": {"command": "ls"}}] * 2
    limit = "{name: slowly, rule: rate_limit_tool, target: shell, value: {calls: 2, secs: 60}}"
    everything = "{name: all, rule: rate_limit_tool, target: '*', value: {calls: 2, secs: 60}}"
    await ground.run(ground.agent(script.asks_all(calls).ends()), policies(limit, everything))
    assert ground.outcomes == [{"outcome": "selected", "optionId": "b"}] * 2


@pytest.mark.parametrize(
    "path",
    ["~/.bashrc", "file:///etc/passwd", "FILE:/etc/passwd", "sub/../../x", "out/x", "a\0b", "vscode://file/etc/passwd"],
)
async def test_mode_edit_is_not_left_by_another_spelling_or_a_link(path, ground, script, tmp_path):
    (ground.work / "out").symlink_to(tmp_path)
    script.asks({"kind": "edit", "rawInput": {"path": path}})
    await ground.run(ground.agent(script.ends()), mode=Mode.EDIT)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "c"}]


async def test_mode_edit_goes_through_links_that_stay_inside(ground, script):
    (ground.work / "src").mkdir()
    (ground.work / "lib").symlink_to("src")
    script.asks({"kind": "edit", "rawInput": {"path": "lib/new.py"}})
    await ground.run(ground.agent(script.ends()), mode=Mode.EDIT)
    assert ground.outcomes == [{"outcome": "selected", "optionId": "b"}]


# What is offered


@pytest.mark.parametrize("other", ["allow_always", "allow_once", "anything", None])
async def test_an_option_whose_id_means_two_things_is_not_chosen(other, ground, script, allowing):
    options = [{"optionId": "x", "kind": "allow_once"}, {"optionId": "x", "kind": other}]
    call = {"kind": "execute", "rawInput": {"command": "make"}}
    await ground.run(ground.agent(script.asks(call, options).ends()), allowing)
    assert ground.outcomes == [{"outcome": "cancelled"}]


async def test_a_refusal_is_not_told_by_an_id_that_also_allows(ground, script, refusing):
    options = [{"optionId": "x", "kind": "reject_once"}, {"optionId": "x", "kind": "allow_once"}]
    call = {"kind": "execute", "rawInput": {"command": "make"}}
    await ground.run(ground.agent(script.asks(call, options).ends()), refusing)
    assert ground.outcomes == [{"outcome": "cancelled"}]


# What is done


async def stopped(ground, script, gate, **request):
    script.then(["hear", "session/cancel"]).ends("cancelled")
    result = await ground.run(ground.agent(script), gate, timeout_secs=5, **request)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.REFUSED), result.error
    return result


async def test_what_was_denied_and_done_all_the_same_ends_the_run(ground, script):
    script.asks({"kind": "execute", "rawInput": PUSH}).then(update(status="completed"))
    result = await stopped(ground, script, policies(NO_PUSH))
    assert "did what it was denied: git push" in result.error


async def test_what_a_mode_denied_and_was_done_all_the_same_ends_the_run(ground, script):
    script.asks({"kind": "edit", "rawInput": {"path": "a"}}).then(update(status="completed"))
    await stopped(ground, script, None, mode=Mode.READ_ONLY)


async def test_a_yes_is_for_what_was_asked_and_for_nothing_that_takes_its_place(ground, script):
    script.asks({"kind": "execute", "rawInput": {"command": "ls"}})
    script.then(update(rawInput=PUSH, status="in_progress"), update(status="completed"))
    await stopped(ground, script, policies(NO_PUSH))


async def test_a_yes_for_one_file_is_none_for_another(ground, script):
    script.asks({"kind": "edit", "rawInput": {"path": "a"}})
    script.then(update(locations=[{"path": "/etc/passwd"}], status="completed"))
    await stopped(ground, script, None, mode=Mode.EDIT)


async def test_what_becomes_of_a_question_while_it_is_decided_does_not_count(ground, script):
    """The command is exchanged while somebody thinks about the first."""

    class Thinking:
        def __init__(self) -> None:
            self.asked: list[Action] = []
            self.gate = policies(NO_PUSH)

        async def decide(self, action: Action) -> Decision:
            self.asked.append(action)
            if len(self.asked) == 1:
                await asyncio.sleep(0.2)
            return await self.gate.decide(action)

    gate = Thinking()
    script.asks({"kind": "execute", "rawInput": {"command": "ls"}})
    script[-1:-1] = [update(rawInput=PUSH)]
    script.then(update(status="completed"))
    await stopped(ground, script, gate)
    assert [action.params for action in gate.asked] == [{"command": "ls"}, PUSH]


async def test_what_is_allowed_and_done_as_asked_is_decided_once(ground, script, allowing):
    script.asks({"kind": "execute", "rawInput": {"command": "ls"}})
    script.then(update(rawInput={"command": "ls", "cwd": "/w"}, status="in_progress"), update(status="completed"))
    result = await ground.run(ground.agent(script.ends()), allowing)
    assert (result.status, len(allowing.asked)) == (Status.OK, 1)


async def test_a_command_that_is_begun_unasked_and_never_ended_is_looked_at_too(ground, script):
    script.then(update(title="x", kind="execute", status="in_progress", rawInput=PUSH))
    result = await ground.run(ground.agent(script.ends()), policies(NO_PUSH))
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.REFUSED)
    assert not ground.told(PermissionDecided)[-1].allowed


async def test_a_call_is_not_forgotten_among_many_others(ground, script):
    script.then(update(title="x", kind="execute", status="in_progress", rawInput=PUSH))
    script.then(*(update(str(number), kind="read", status="in_progress") for number in range(1001)))
    script.then(update(status="completed"))
    await stopped(ground, script, policies(NO_PUSH))


async def test_a_turn_is_not_over_before_what_was_done_in_it_is_looked_at(ground, script):
    """The agent ends its turn while somebody still thinks about what it did last."""

    class Thinking:
        async def decide(self, action: Action) -> Decision:
            await asyncio.sleep(0.3)
            return Decision(allowed=False, reason="not today")

    script.then(update(title="x", kind="execute", status="completed", rawInput=PUSH))
    result = await ground.run(ground.agent(script.ends()), Thinking())
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.REFUSED)


async def test_what_is_told_under_another_session_is_not_taken_for_this_one(ground, script, allowing):
    told = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}
    script.then(["send", {"method": "session/update", "params": {"sessionId": "other", "update": told}}])
    await ground.run(ground.agent(script.asks({}).ends()), allowing)
    assert (ground.outcomes, allowing.asked) == ([{"outcome": "selected", "optionId": "c"}], [])


@pytest.mark.parametrize("option", [{"id": "allow_all", "currentValue": "on"}, {"id": "m", "category": "mode"}])
async def test_an_agent_that_turns_its_asking_off_by_an_option_is_ended(option, ground, script, allowing):
    options = [
        {"id": "allow_all", "currentValue": "off"},
        {"id": "m", "category": "mode", "currentValue": "ask", "options": [{"value": "ask"}, {"value": "yolo"}]},
    ]
    script[3][2]["configOptions"] = options
    changed = [
        {**each, **({"currentValue": "yolo", **option} if each["id"] == option["id"] else {})} for each in options
    ]
    told = {"sessionUpdate": "config_option_update", "configOptions": changed}
    script.then(["send", {"method": "session/update", "params": {"sessionId": "session-1", "update": told}}])
    script.then(["hear", "session/cancel"]).ends("cancelled")
    agent = ground.agent(script, asking_modes=("ask",), options={"allow_all": "off"})
    result = await ground.run(agent, allowing, timeout_secs=5)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.REFUSED)


async def test_nothing_that_was_used_is_given_back(ground, script):
    """A budget for several would grow by it."""
    quota = {"quota": {"token_count": {"input_tokens": -1000, "output_tokens": 5}}}
    result = await ground.run(ground.agent(script.ends(_meta=quota)))
    assert result.usage == Usage(incomplete=True)
