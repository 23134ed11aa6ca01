"""What a scripted model makes of its script, and what it remembers."""

from __future__ import annotations

import asyncio
import json
import re

import aiohttp
import pytest

from trueup.core.errors import InputError
from trueup.testing import Answer, Fault, ScriptedModel, Text, Thinking, Tokens, Tool, parse_script


class Client:
    """Speaks Chat Completions by hand, so that anything can be sent."""

    def __init__(self, http, model):
        self.http = http
        self.model = model
        self.messages = []
        self.tools = []

    async def post(self, path="/v1/chat/completions", body=None, **headers):
        asked = {"model": "m", "messages": self.messages, "tools": self.tools}
        async with self.http.post(
            self.model.url + path, json=asked if body is None else body, headers=headers
        ) as reply:
            return reply.status, await reply.json()

    async def ask(self, *messages):
        """Go on with the conversation, and give what the model said or called."""
        self.messages += messages
        status, body = await self.post()
        if status != 200:
            return status
        message = body["choices"][0]["message"]
        if message["content"] or message["refusal"] or "tool_calls" in message:
            self.messages.append(message)
        calls = [call["function"] for call in message.get("tool_calls", [])]
        return [(call["name"], json.loads(call["arguments"])) for call in calls] or message["content"]


def user(text):
    return {"role": "user", "content": text}


def result(text):
    return {"role": "tool", "tool_call_id": "x", "content": text}


def function(name, **properties):
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as session:
        yield session


async def test_steps_are_taken_in_order_and_then_the_script_is_over(http):
    async with ScriptedModel(["one", Text("two")], after="enough") as model:
        client = Client(http, model)
        said = [await client.ask(user("go")) for _ in range(4)]
    assert said == ["one", "two", "enough", "enough"]


async def test_a_function_answers_what_it_is_asked(http):
    async def shout(request):
        return Text(request.prompt.upper())

    async with ScriptedModel(shout) as model:
        assert await Client(http, model).ask(user("hello")) == "HELLO"


async def test_a_function_can_be_one_step(http):
    async with ScriptedModel([lambda request: f"saw {len(request.tool_results)}", "then"]) as model:
        client = Client(http, model)
        assert [await client.ask(user("a"), result("r")), await client.ask()] == ["saw 1", "then"]


async def test_each_conversation_takes_all_steps_and_its_own_failures(http):
    async with ScriptedModel([Fault(500), "one", "two"], per_conversation=True) as model:
        first, second = Client(http, model), Client(http, model)
        assert await first.ask(user("a")) == 500
        assert await first.ask() == "one"
        assert await second.ask(user("b")) == 500
        assert await second.ask() == "one"
        assert await second.ask(user("more")) == "two"


async def test_the_very_same_call_again_gets_the_same_answer(http):
    async with ScriptedModel(["one", "two"], per_conversation=True) as model:
        client = Client(http, model)
        client.messages.append(user("a"))
        assert [(await client.post())[1]["choices"][0]["message"]["content"] for _ in range(3)] == ["one"] * 3


async def test_an_answer_cut_short_is_one_of_the_conversation_and_an_empty_one_is_not(http):
    script = "fault max_tokens message=half\nfault empty\nsay two\nfault refusal message=no"
    async with ScriptedModel(script, per_conversation=True) as model:
        client = Client(http, model)
        said = [await client.ask(user("go")), await client.ask(user("on")), await client.ask()]
        await client.ask(user("on"))
        await client.ask(user("on"))
    assert said == ["half", None, "two"]
    assert [request.answered_by.what for request in model.asked[-2:]] == ["refusal", "refusal"]


async def test_an_agents_own_words_in_its_next_try_do_not_make_it_another_call(http):
    async with ScriptedModel() as model:
        client = Client(http, model)
        said = []
        for words in ("", "\nPlease continue.", "\nPlease continue."):
            body = {"metadata": {"user_id": "s1"}, "messages": [user(f"SCRIPT: fault empty\nSCRIPT: say one{words}")]}
            said.append((await client.post("/v1/messages", body))[1]["content"])
    assert said == [[], [{"type": "text", "text": "one"}], [{"type": "text", "text": "one"}]]


PROMPT = """Please do this:

```script
# first look
think where is it?
+ say Looking.
+ shell ls -l | head
fault 429 times=2 retry_after=0.5
write a/b.txt "line\\n"
say "DONE"
```
"""


async def test_a_prompt_can_be_the_script(http):
    async with ScriptedModel() as model:
        client = Client(http, model)
        client.tools = [function("Bash", command={"type": "string"})]
        assert await client.ask(user(PROMPT)) == [("Bash", {"command": "ls -l | head"})]
        assert [await client.ask(result("files")), await client.ask()] == [429, 429]
        assert (await client.ask())[0][1]["command"] == "mkdir -p -- a && printf %s 'line\n' > a/b.txt"
        assert await client.ask(result("")) == "DONE"


async def test_lines_marked_in_a_prompt_are_a_script_too(http):
    async with ScriptedModel() as model:
        assert await Client(http, model).ask(user("My task\n  SCRIPT: say hello there\nand so on")) == "hello there"


async def test_the_latest_script_counts(http):
    async with ScriptedModel() as model:
        client = Client(http, model)
        await client.ask(user("SCRIPT: say one\nSCRIPT: say never"))
        assert await client.ask(user("SCRIPT: say two")) == "two"


async def test_many_clients_are_scripted_by_their_prompts_at_once(http):
    async with ScriptedModel() as model:
        clients = [Client(http, model) for _ in range(50)]
        said = await asyncio.gather(*(c.ask(user(f"SCRIPT: say {n}")) for n, c in enumerate(clients)))
    assert said == [str(number) for number in range(50)]


async def test_a_script_with_a_mistake_is_an_error_that_names_it(http):
    async with ScriptedModel() as model:
        status, body = await Client(http, model).post(body={"messages": [user("SCRIPT: dance")]})
    assert status == 400
    assert "dance" in body["error"]["message"]
    assert model.requests[0].answered_by.what == 400


async def test_a_body_that_is_no_json_is_an_error(http):
    async with ScriptedModel(["never"]) as model:
        async with http.post(f"{model.url}/v1/messages", data=b"{") as reply:
            assert reply.status == 400
            assert (await reply.json())["type"] == "error"


def test_a_script_in_words_says_what_one_in_python_says():
    text = 'usage input=5 output=2\nsleep 1.5\nread a.txt\nedit a.txt "o\\"ld", "new"\ntool Grep {"pattern": "x"}\n'
    assert parse_script(text + 'fault cut\nfault 401 message="not you" code=c') == [
        Answer([Tool.read("a.txt")], Tokens(input=5, output=2), delay_secs=1.5),
        Answer([Tool.edit("a.txt", 'o"ld', "new")], Tokens(input=5, output=2)),
        Answer([Tool("Grep", {"pattern": "x"})], Tokens(input=5, output=2)),
        Fault("cut"),
        Fault(401, message="not you", code="c"),
    ]
    assert parse_script("think a\n+ say b") == [Answer([Thinking("a"), Text("b")])]


@pytest.mark.parametrize(
    "line", ["dance", "fault nonsense", "fault 500 colour=red", "tool X {", "sleep long", "usage a=1"]
)
def test_a_line_that_is_no_step_is_named(line):
    with pytest.raises(InputError, match=line.split()[-1].split("=")[0]):
        parse_script(line)


async def test_what_is_no_step_is_an_error_and_not_a_silence(http):
    async with ScriptedModel([42]) as model:
        assert (await Client(http, model).post())[0] == 400


BASH = function("Bash", command={"type": "string"}, description={"type": "string"})
OFFERS = [
    ([BASH], Tool.shell("ls"), ("Bash", {"command": "ls", "description": "a step of the script"})),
    ([function("exec_command", cmd={"type": "string"})], Tool.shell("ls"), ("exec_command", {"cmd": "ls"})),
    ([function("shell", command={"type": "array"})], Tool.shell("ls"), ("shell", {"command": ["bash", "-lc", "ls"]})),
    ([function("run_shell_command", command={})], Tool.shell("ls"), ("run_shell_command", {"command": "ls"})),
    (
        [function("Write", file_path={}, content={})],
        Tool.write("a.txt", "x"),
        ("Write", {"file_path": "/repo/a.txt", "content": "x"}),
    ),
    (
        [function("Edit", file_path={}, old_string={}, new_string={})],
        Tool.edit("/b", "o", "n"),
        ("Edit", {"file_path": "/b", "old_string": "o", "new_string": "n"}),
    ),
    ([function("read_file", absolute_path={})], Tool.read("a"), ("read_file", {"absolute_path": "/repo/a"})),
    ([function("exec_command", cmd={})], Tool.read("a b"), ("exec_command", {"cmd": "cat -- 'a b'"})),
    ([], Tool.shell("ls"), ("shell", {"command": "ls"})),
    ([BASH], Tool("NoSuchTool", {"a": 1}), ("NoSuchTool", {"a": 1})),
]


@pytest.mark.parametrize(("tools", "step", "expected"), OFFERS)
async def test_neutral_tools_become_the_ones_that_are_offered(http, tools, step, expected):
    async with ScriptedModel([step]) as model:
        client = Client(http, model)
        client.tools = tools
        system = {"role": "system", "content": "Primary working directory: /repo\n"}
        assert await client.ask(system, user("go")) == [expected]


async def test_a_tool_that_takes_text_is_called_with_text(http):
    async with ScriptedModel([Tool("apply_patch", {"input": "*** Begin Patch"})]) as model:
        body = {"model": "m", "input": "go", "tools": [{"type": "custom", "name": "apply_patch"}]}
        _, reply = await Client(http, model).post("/v1/responses", body)
    item = reply["output"][0]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", "*** Begin Patch")


SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "isNew": {"type": "boolean"}, "kind": {"enum": ["a", "b"]}},
    "required": ["title", "isNew", "kind"],
}
ASIDES = [
    ({"max_tokens": 1, "messages": [user("quota")]}, "python", "ok"),
    ({"max_tokens": 512, "messages": [user("topic?")]}, "claude-cli/2.1 (external, cli)", "ok"),
    # goose, which says over ACP who it is to nobody.
    ({"system": "Generate a short title (four words or less).", "messages": [user("go")]}, "", "ok"),
    (
        {"messages": [user("title")], "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        "claude-cli/2.1 (external, cli)",
        '{"title": "ok", "isNew": false, "kind": "a"}',
    ),
]


@pytest.mark.parametrize(("body", "agent", "said"), ASIDES)
async def test_calls_beside_the_work_use_up_no_step(http, body, agent, said):
    async with ScriptedModel(["the work"]) as model:
        client = Client(http, model)
        _, reply = await client.post("/v1/messages", body, **{"User-Agent": agent})
        assert reply["content"][0]["text"] == said
        assert await client.ask(user("go")) == "the work"
    assert [request.aside for request in model.requests] == [True, False]
    assert [request.prompt for request in model.asked] == ["go"]


async def test_what_is_beside_the_work_can_be_decided_otherwise(http):
    async with ScriptedModel(["the work"], is_aside=lambda request: "haiku" in request.model) as model:
        client = Client(http, model)
        _, small = await client.post("/v1/messages", {"model": "claude-haiku", "messages": []})
        _, large = await client.post("/v1/messages", {"model": "claude-opus", "max_tokens": 1, "messages": []})
    assert (small["content"][0]["text"], large["content"][0]["text"]) == ("ok", "the work")


async def test_the_log_has_what_was_sent_keys_included(http):
    async with ScriptedModel(["ok"]) as model:
        conversation = [
            user([{"type": "text", "text": "do it"}]),
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
            user([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "done"}]}]),
        ]
        body = {"model": "claude-x", "system": [{"type": "text", "text": "be good"}], "messages": conversation}
        await Client(http, model).post("/prefix/v1/messages?beta=true", body, **{"X-Api-Key": "sk-secret"})
    request = model.requests[0]
    assert (request.method, request.path, request.query) == ("POST", "/prefix/v1/messages", {"beta": "true"})
    assert request.headers["x-api-key"] == "sk-secret"
    assert request.body == body
    assert (request.system, request.prompt, request.tool_results) == ("be good", "do it", ["done"])
    assert (request.model, request.answers_so_far, request.stream) == ("claude-x", 1, False)


async def test_waiting_for_calls_that_never_come_ends():
    async with ScriptedModel(["ok"]) as model:
        with pytest.raises(TimeoutError):
            await model.wait_for(1, timeout_secs=0.1)


async def test_calls_can_be_watched_as_they_come(http):
    async with ScriptedModel(["a", "b"]) as model:
        seen = []

        async def watch():
            async for request in model.watch():
                seen.append(request.prompt)

        watching = asyncio.create_task(watch())
        await Client(http, model).ask(user("first"))
        await Client(http, model).ask(user("second"))
        await model.wait_for(2)
    await watching
    assert seen == ["first", "second"]


async def test_what_a_model_does_not_know_is_not_found(http):
    async with ScriptedModel(["a"]) as model:
        assert (await Client(http, model).post("/v1/embeddings"))[0] == 404
        async with http.head(model.url) as reply:
            assert reply.status == 200


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: Answer(["Hello."]), "'Hello.' is no part"),
        (lambda: Answer([Text("Hello.")], stop="tired"), "'tired'"),
        (lambda: Tool("shell", ["ls"]), "arguments of 'shell'"),
        (lambda: Tool("shell", {"command": b"ls"}), "arguments of 'shell'"),
        (lambda: Fault(429, retry_after=-1), "retry_after"),
        (lambda: parse_script("say a\ntool x [1]"), "`tool x [1]`"),
        (lambda: parse_script("fault 200"), "`fault 200`"),
    ],
)
def test_a_step_that_cannot_be_is_refused_when_it_is_written(wrong, told):
    with pytest.raises(InputError, match=re.escape(told)):
        wrong()


@pytest.mark.parametrize("stream", [False, True])
async def test_arguments_of_the_wrong_type_are_sent_as_they_are(http, stream):
    steps = [Tool("read", {"path": 7}), Tool("write", {"path": None, "content": ["x"]})]
    offered = [
        {"name": name, "input_schema": {"properties": {"path": {}, "content": {}}}} for name in ("read", "write")
    ]
    async with ScriptedModel(steps) as model:
        body = {"model": "m", "system": "Working directory: /here", "tools": offered, "messages": [], "stream": stream}
        for expected in (b"7", b"null"):
            async with http.post(f"{model.url}/v1/messages", json=body) as response:
                assert response.status == 200
                assert expected in await response.read()


async def test_a_function_that_fails_is_an_error_that_no_client_tries_again(http):
    def fail(request):
        raise KeyError("what I looked for")

    async with (
        ScriptedModel(fail) as model,
        http.post(f"{model.url}/v1/messages", json={"model": "m", "messages": []}) as response,
    ):
        assert response.status == 400
        assert "KeyError('what I looked for')" in await response.text()
