"""Tools on every wire: offered, asked for, answered, and the conversation going on."""

from __future__ import annotations

from vendor_bodies import CLAUDE, HELLO, anthropic, openai, text

from trueup.model import Message, Request, Role, Tool, ToolOutput, ToolUse, chat

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Tool("read", "Read a file.", SCHEMA)
THOUGHT = {"type": "thinking", "thinking": "", "signature": "EqQBCgIYAhIM"}
ASKED = {"type": "tool_use", "id": "toolu_01", "name": "read", "input": {"path": "a.py"}}


def openai_call(arguments: str | dict) -> dict:
    function = {"name": "read", "arguments": arguments}
    return openai(None, finish="tool_calls", tool_calls=[{"id": "call_1", "type": "function", "function": function}])


def response(*output: dict, **more: object) -> dict:
    return {
        "id": "resp_67ccd2bed1ec8190b14f964abc054267",
        "object": "response",
        "created_at": 1741476542,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-6.1-sol",
        "output": list(output),
        "usage": {
            "input_tokens": 1000,
            "input_tokens_details": {"cached_tokens": 400, "cache_write_tokens": 100},
            "output_tokens": 100,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 1100,
        },
        **more,
    }


REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAAB"}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_9",
    "name": "read",
    "arguments": '{"path":"a.py"}',
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "done", "annotations": []}],
}


async def test_anthropic_is_offered_tools_and_asks_for_one(vendor):
    vendor.says(anthropic(text("I look."), ASKED, stop="tool_use"))
    answer = await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO, tools=[READ]))
    assert vendor.asked[0]["tools"] == [{"name": "read", "description": "Read a file.", "input_schema": SCHEMA}]
    assert answer.tool_calls == [ToolUse("toolu_01", "read", {"path": "a.py"})]
    assert (answer.text, answer.stop_reason) == ("I look.", "tool_use")


async def test_anthropic_gets_its_own_thoughts_back_with_the_result(vendor):
    vendor.says(anthropic(THOUGHT, ASKED, stop="tool_use"))
    vendor.says(anthropic(text("done")))
    model = f"{CLAUDE}@{vendor.url}"
    first = await chat(Request(model=model, messages=HELLO, tools=[READ]))
    result = Message(tool_results=[ToolOutput("toolu_01", "no such file", ok=False)], text="go on")
    await chat(Request(model=model, messages=[*HELLO, first.message, result], tools=[READ]))
    assert vendor.asked[1]["messages"][1:] == [
        {"role": "assistant", "content": [THOUGHT, ASKED]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_01", "content": "no such file", "is_error": True},
                {"type": "text", "text": "go on"},
            ],
        },
    ]


async def test_another_model_gets_the_words_without_the_thoughts(vendor):
    vendor.says(anthropic(THOUGHT, text("I look."), ASKED, stop="tool_use"))
    vendor.says(anthropic(text("done")))
    first = await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO, tools=[READ]))
    result = Message(tool_results=[ToolOutput("toolu_01", "x = 1")])
    await chat(Request(model=f"claude-haiku-5-5@{vendor.url}", messages=[*HELLO, first.message, result], tools=[READ]))
    assert vendor.asked[1]["messages"][1]["content"] == [{"type": "text", "text": "I look."}, ASKED]


async def test_a_turn_made_plain_goes_on_without_the_thoughts(vendor):
    vendor.says(anthropic(THOUGHT, ASKED, stop="tool_use"))
    model = f"{CLAUDE}@{vendor.url}"
    first = await chat(Request(model=model, messages=HELLO, tools=[READ]))
    result = Message(tool_results=[ToolOutput("toolu_01", "x = 1")])
    await chat(Request(model=model, messages=[*HELLO, first.message.plain, result], tools=[READ]))
    assert vendor.asked[1]["messages"][1]["content"] == [ASKED]


async def test_a_call_without_a_word_beside_it_is_no_blank_reply(vendor):
    vendor.says(anthropic(ASKED, stop="tool_use"))
    answer = await chat(Request(model=f"{CLAUDE}@{vendor.url}", messages=HELLO, tools=[READ]))
    assert answer.text == ""


async def test_chat_completions_offers_tools_and_takes_results(vendor):
    vendor.says(openai_call('{"path": "a.py"}'))
    vendor.says(openai("done"))
    model = f"openai-compatible:qwen3@{vendor.url}/v1"
    first = await chat(Request(model=model, messages=HELLO, tools=[READ]))
    assert (first.tool_calls, first.stop_reason) == ([ToolUse("call_1", "read", {"path": "a.py"})], "tool_use")
    result = Message(tool_results=[ToolOutput("call_1", "x = 1")])
    await chat(Request(model=model, messages=[*HELLO, first.message, result], tools=[READ]))
    assert vendor.asked[0]["tools"] == [
        {"type": "function", "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA}}
    ]
    function = {"name": "read", "arguments": '{"path":"a.py"}'}
    assert vendor.asked[1]["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "x = 1"},
    ]


async def test_a_failed_tool_says_so_in_words_where_there_is_no_field_for_it(vendor):
    vendor.says(openai("done"))
    turns = [
        *HELLO,
        Message(role=Role.ASSISTANT, tool_calls=[ToolUse("call_1", "read", {"path": "a"})]),
        Message(tool_results=[ToolOutput("call_1", "no such file", ok=False)]),
    ]
    await chat(Request(model=f"gpt-4.1@{vendor.url}/v1", messages=turns, tools=[READ]))
    assert vendor.asked[0]["messages"][-1]["content"] == "The tool failed: no such file"


async def test_arguments_that_are_no_json_come_with_the_reason_and_not_as_a_failure(vendor):
    vendor.says(openai_call('{"path": "a.'))
    answer = await chat(Request(model=f"gpt-4.1@{vendor.url}/v1", messages=HELLO, tools=[READ]))
    [call] = answer.tool_calls
    assert call.input == {}
    assert "not a JSON object" in call.error


async def test_arguments_may_come_as_the_object_itself(vendor):
    vendor.says(openai_call({"path": "a.py"}))
    answer = await chat(Request(model=f"gpt-4.1@{vendor.url}/v1", messages=HELLO, tools=[READ]))
    assert answer.tool_calls[0].input == {"path": "a.py"}


async def test_a_server_that_says_stop_although_it_asks_for_a_tool_is_understood(vendor):
    body = openai_call("{}")
    body["choices"][0]["finish_reason"] = "stop"
    body["choices"][0]["message"]["tool_calls"][0].pop("id")
    vendor.says(body)
    answer = await chat(Request(model=f"gpt-4.1@{vendor.url}/v1", messages=HELLO, tools=[READ]))
    assert answer.stop_reason == "tool_use"
    assert answer.tool_calls[0].id


async def test_a_reasoning_model_of_openais_uses_tools_over_responses(vendor):
    vendor.says(response(REASONING, CALL))
    request = Request(model=f"gpt-6.1-sol@{vendor.url}/v1", system="be brief", messages=HELLO, tools=[READ])
    answer = await chat(request)
    assert vendor.paths == ["/v1/responses"]
    asked = vendor.asked[0]
    assert (asked["instructions"], asked["store"]) == ("be brief", False)
    assert asked["input"] == [{"role": "user", "content": "hello"}]
    assert asked["tools"][0]["name"] == "read"
    assert answer.tool_calls == [ToolUse("call_9", "read", {"path": "a.py"})]
    assert answer.stop_reason == "tool_use"


async def test_responses_gets_its_sealed_reasoning_back_with_the_result(vendor):
    vendor.says(response(REASONING, CALL))
    vendor.says(response(SAID))
    model = f"gpt-6.1-sol@{vendor.url}/v1"
    first = await chat(Request(model=model, messages=HELLO, tools=[READ]))
    result = Message(tool_results=[ToolOutput("call_9", "x = 1")])
    second = await chat(Request(model=model, messages=[*HELLO, first.message, result], tools=[READ]))
    assert vendor.asked[1]["input"][1:] == [
        REASONING,
        CALL,
        {"type": "function_call_output", "call_id": "call_9", "output": "x = 1"},
    ]
    assert (second.text, second.stop_reason) == ("done", "end_turn")


async def test_the_tokens_of_responses_are_counted_and_priced(vendor):
    vendor.says(response(SAID))
    usage = (await chat(Request(model=f"gpt-6.1-sol@{vendor.url}/v1", messages=HELLO, tools=[READ]))).usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (1000, 400, 100)
    assert round(usage.estimated_cost_usd * 1e6) == 500 * 2 + 400 * 0.1 + 100 * 2.5 + 100 * 10


async def test_a_whole_endpoint_of_chat_completions_is_taken_at_its_word(vendor):
    vendor.says(openai("done"))
    await chat(Request(model=f"gpt-6.1-sol@{vendor.url}/v1/chat/completions", messages=HELLO, tools=[READ]))
    assert vendor.paths == ["/v1/chat/completions"]
