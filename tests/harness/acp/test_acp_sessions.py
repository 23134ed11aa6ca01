"""How sessions with ACP agents are opened: where, which, in what mode, with which model, and who is asked at all."""

from __future__ import annotations

import json

import pytest

from trueup.core.errors import InputError, Kind
from trueup.core.usage import Usage
from trueup.harness import HarnessRequest, Message, Mode, Status, ToolCall
from trueup.harness.acp import NAMED, acp_harness, acp_words

DONE = [
    "send",
    {
        "method": "session/update",
        "params": {
            "sessionId": "session-1",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "DONE"}},
        },
    },
]
END = [["hear", "session/prompt"], DONE, ["answer", "session/prompt", {"stopReason": "end_turn"}]]


def introduced(capabilities, name="scripted"):
    told = {"protocolVersion": 1, "agentInfo": {"name": name, "version": "1"}, "agentCapabilities": capabilities}
    return [["hear", "initialize"], ["answer", "initialize", told]]


def opened(name="scripted", **session):
    return [
        *introduced({}, name),
        ["hear", "session/new"],
        ["answer", "session/new", {"sessionId": "session-1", **session}],
    ]


def modes(current, *others):
    return {"currentModeId": current, "availableModes": [{"id": each, "name": each} for each in (current, *others)]}


def option(name, current, *others, category=None):
    values = [{"value": each, "name": each} for each in (current, *others)]
    return {
        "id": name,
        "name": name,
        "type": "select",
        "category": category,
        "currentValue": current,
        "options": values,
    }


async def test_a_session_is_opened_where_the_agent_works(ground, script):
    (ground.work / "below").mkdir()
    await ground.run(ground.agent(script.then(["tell_folder"]).ends()), cwd="below")
    told, real = json.loads(ground.told(Message)[-1].text)
    assert told == real == str(ground.work / "below")


async def test_a_session_is_resumed_where_the_agent_can(ground):
    can = {"sessionCapabilities": {"resume": {}}, "loadSession": True}
    steps = [*introduced(can), ["hear", "session/resume"], ["answer", "session/resume", {}], *END]
    result = await ground.run(ground.agent(steps), resume="session-1")
    assert (result.status, result.session_id) == (Status.OK, "session-1")
    assert ground.heard_of("session/resume")[0]["sessionId"] == "session-1"


async def test_the_history_of_a_session_that_is_loaded_is_not_of_this_run(ground, allowing):
    old = [
        "send",
        {
            "method": "session/update",
            "params": {
                "sessionId": "session-1",
                "update": {
                    "sessionUpdate": "tool_call",
                    "toolCallId": "old",
                    "title": "x",
                    "kind": "execute",
                    "status": "completed",
                },
            },
        },
    ]
    cost = [
        [
            "send",
            {
                "method": "session/update",
                "params": {
                    "sessionId": "session-1",
                    "update": {
                        "sessionUpdate": "usage_update",
                        "used": 1,
                        "size": 2,
                        "cost": {"amount": amount, "currency": "USD"},
                    },
                },
            },
        ]
        for amount in (0.5, 0.75)
    ]
    steps = [
        *introduced({"loadSession": True}), ["hear", "session/load"], old, cost[0], ["answer", "session/load", None],
        ["hear", "session/prompt"], cost[1], DONE,
        ["answer", "session/prompt", {"stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}}],
    ]  # fmt: skip
    result = await ground.run(ground.agent(steps), allowing, resume="session-1")
    assert result.status is Status.OK
    assert ground.told(ToolCall) == []
    assert result.usage == Usage(3, 4, 0.25)


async def test_what_an_old_session_had_cost_before_is_not_guessed(ground):
    cost = [
        "send",
        {
            "method": "session/update",
            "params": {
                "sessionId": "session-1",
                "update": {
                    "sessionUpdate": "usage_update",
                    "used": 1,
                    "size": 2,
                    "cost": {"amount": 0.75, "currency": "USD"},
                },
            },
        },
    ]
    steps = [*introduced({"loadSession": True}), ["hear", "session/load"], ["answer", "session/load", {}]]
    result = await ground.run(ground.agent([*steps, END[0], cost, *END[1:]]), resume="session-1")
    assert result.usage.cost_usd is None


@pytest.mark.parametrize(
    "steps",
    [
        introduced({}),
        [*introduced({"loadSession": True}), ["hear", "session/load"], ["fail", "session/load", {"code": -32602, "message": "Invalid session identifier"}]],
        [*introduced({"loadSession": True}), ["hear", "session/load"], ["fail", "session/load", {"code": -32002, "message": "Resource not found"}]],
    ],
)  # fmt: skip
async def test_a_session_that_is_not_there_is_not_found(steps, ground):
    result = await ground.run(ground.agent(steps), resume="session-1")
    assert (result.status, result.failure_kind, result.session_id) == (Status.FAILED, Kind.SESSION_NOT_FOUND, None)


async def test_a_session_that_cannot_be_had_without_a_login_is_not_lost(ground):
    error = {"code": -32000, "message": "Authentication required"}
    steps = [*introduced({"loadSession": True}), ["hear", "session/load"], ["fail", "session/load", error]]
    result = await ground.run(ground.agent(steps), resume="session-1")
    assert result.failure_kind is Kind.AUTH


@pytest.mark.parametrize("is_here", [True, False])
async def test_a_session_goes_on_only_in_its_own_folder(is_here, ground, tmp_path):
    """copilot, goose, droid and vibe would go on in the old folder, without a word."""
    can = {"sessionCapabilities": {"list": {}}, "loadSession": True}
    folder = str(ground.work if is_here else tmp_path / "other")
    pages = [
        {"sessions": [{"sessionId": "x", "cwd": "/x"}], "nextCursor": "2"},
        {"sessions": [{"sessionId": "session-1", "cwd": folder}]},
    ]
    steps = [
        *introduced(can),
        *(step for page in pages for step in (["hear", "session/list"], ["answer", "session/list", page])),
    ]
    steps += [["hear", "session/load"], ["answer", "session/load", {}], *END]
    result = await ground.run(ground.agent(steps), resume="session-1")
    assert result.failure_kind is (None if is_here else Kind.SESSION_NOT_FOUND)
    assert is_here or f"began in {folder}" in result.error


async def test_an_agent_that_cannot_be_made_to_ask_is_not_given_its_prompt(ground, allowing):
    steps = opened("@mistralai/mistral-vibe", modes=modes("accept-edits", "auto-approve"))
    result = await ground.run(ground.agent([*steps, *END]), allowing)
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.PROTOCOL)
    assert "it must be in mode 'ask'" in result.error
    assert ground.heard_of("session/prompt") == []


async def test_a_mode_is_an_option_where_the_agent_has_no_modes(ground, allowing):
    steps = opened("gemini-cli", configOptions=[option("mode", "yolo", "default", category="mode")])
    steps += [
        ["hear", "session/set_config_option"],
        ["answer", "session/set_config_option", {"configOptions": []}],
        *END,
    ]
    assert (await ground.run(ground.agent(steps), allowing)).status is Status.OK
    [asked] = ground.heard_of("session/set_config_option")
    assert (asked["configId"], asked["value"]) == ("mode", "default")


async def test_an_option_by_which_everything_is_allowed_is_set_off(ground, allowing):
    steps = opened(
        "Copilot", modes=modes(NAMED["copilot"].asking_modes[0]), configOptions=[option("allow_all", "on", "off")]
    )
    steps += [
        ["hear", "session/set_config_option"],
        ["answer", "session/set_config_option", {"configOptions": []}],
        *END,
    ]
    assert (await ground.run(ground.agent(steps), allowing)).status is Status.OK
    assert ground.heard_of("session/set_config_option")[0]["value"] == "off"


async def test_codex_is_free_where_nothing_needs_to_be_asked(ground):
    steps = opened("@agentclientprotocol/codex-acp", modes=modes("agent", "read-only", "agent-full-access"))
    steps += [["hear", "session/set_mode"], ["answer", "session/set_mode", {}], *END]
    assert (await ground.run(ground.agent(steps))).status is Status.OK
    assert ground.heard_of("session/set_mode")[0]["modeId"] == "agent-full-access"


@pytest.mark.parametrize(("model", "kind"), [("big", None), ("huge", Kind.MODEL_NOT_FOUND)])
async def test_a_model_is_chosen_among_those_that_are_offered(model, kind, ground):
    steps = opened(configOptions=[option("llm", "small", "big", category="model")])
    steps += [
        ["hear", "session/set_config_option"],
        ["answer", "session/set_config_option", {"configOptions": []}],
        *END,
    ]
    result = await ground.run(ground.agent(steps), model=model)
    assert result.failure_kind is kind
    assert [asked["value"] for asked in ground.heard_of("session/set_config_option")] == ([] if kind else ["big"])


@pytest.mark.parametrize(
    ("model", "told"),
    [("big", "us/big"), ("us/small", "us/small"), ("small", Kind.INPUT), ("ig", Kind.MODEL_NOT_FOUND)],
)
async def test_a_model_of_one_vendor_needs_no_vendor(model, told, ground):
    steps = opened(configOptions=[option("llm", "us/small", "us/big", "eu/small", category="model")])
    steps += [
        ["hear", "session/set_config_option"],
        ["answer", "session/set_config_option", {"configOptions": []}],
        *END,
    ]
    result = await ground.run(ground.agent(steps), model=model)
    chosen = [asked["value"] for asked in ground.heard_of("session/set_config_option")]
    assert (result.failure_kind, chosen) == ((told, []) if isinstance(told, Kind) else (None, [told]))


async def test_a_model_that_cannot_be_told_is_an_error_before_the_prompt(ground):
    result = await ground.run(ground.agent([*opened(), *END]), model="big")
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.INPUT)
    assert ground.heard_of("session/prompt") == []


async def test_a_session_that_an_agent_would_lose_is_refused_before_anything_is_spent(ground):
    with pytest.raises(InputError, match="cannot go on with a session"):
        await ground.run(ground.agent([], "gemini"), resume="session-1")


@pytest.mark.parametrize("asked", [{"system": "be brief"}, {"turns": 3}, {"budget_usd": 1.0}])
async def test_what_acp_has_no_place_for_is_an_error_before_anything_is_spent(asked, ground):
    with pytest.raises(InputError, match="cannot do what is asked"):
        await ground.run(ground.agent([]), **asked)


async def test_opencode_is_told_to_ask_beside_what_it_is_told_anyway(ground, allowing):
    steps = [*opened(), *END]
    harness = ground.agent(steps, "opencode")
    command = harness._command(
        request(ground, {"OPENCODE_CONFIG_CONTENT": '{"model":"m","permission":{"bash":"allow"}}'}), must_ask=True
    )
    assert json.loads(command.env["OPENCODE_CONFIG_CONTENT"]) == {"model": "m", "permission": {"*": "ask"}}
    assert "OPENCODE_CONFIG_CONTENT" not in harness._command(request(ground, {}), must_ask=False).env


def request(ground, env):
    return HarnessRequest(prompt="p", cwd=str(ground.work), env=env)


async def test_a_probe_asks_who_it_is_and_nothing_else(ground):
    found = await ground.agent(introduced({})).probe()
    assert (found.installed, found.version, found.note) == (True, "1", "")
    assert [message["method"] for message in ground.heard] == ["initialize"]


async def test_a_probe_says_what_is_wrong(ground):
    missing = await acp_harness(("opencode",), {"PATH": "/nowhere"}).probe()
    assert not missing.installed
    assert missing.note.startswith("no `opencode` on PATH; install it with")
    broken = await ground.agent([["exit", 1]]).probe()
    assert (broken.installed, broken.note) == (False, "its program ended without an answer")


@pytest.mark.parametrize(
    ("spec", "name", "argv"),
    [
        ("acp:opencode", "acp:opencode", ("opencode", "acp")),
        ("acp:claude-code", "acp:claude-code", ("claude-agent-acp",)),
        ("acp:vibe-acp", "acp:vibe-acp", ("vibe-acp",)),
        ("acp:/opt/gemini --acp -m 'a b'", "acp:gemini", ("/opt/gemini", "--acp", "-m", "a b")),
        ("acp:my-agent --stdio", "acp:my-agent", ("my-agent", "--stdio")),
    ],
)
def test_an_agent_is_named_or_given_by_its_command_line(spec, name, argv):
    harness = acp_harness(acp_words(spec), {})
    assert (harness.name, harness.agent.argv) == (name, argv)


@pytest.mark.parametrize("spec", ["acp:", "acp:  ", "acp:'open"])
def test_a_command_line_that_cannot_be_read_is_an_input_error(spec):
    with pytest.raises(InputError, match=r"names no program|quote it"):
        acp_words(spec)


def test_what_is_known_of_a_program_holds_however_it_is_called():
    assert acp_harness(("/opt/bin/codex-acp", "--x"), {}).agent.asking_modes == ("read-only",)
    assert Mode.READ_ONLY not in acp_harness(("pi-acp",), {}).capabilities.modes
