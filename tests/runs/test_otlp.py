"""Runs as OpenTelemetry sees them, received by a collector that is real but for what it does with them."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from contextlib import suppress

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trueup.core.errors import InfrastructureError, InputError
from trueup.core.process import Command, run
from trueup.core.usage import Usage
from trueup.runs import (
    CheckRecord,
    Ended,
    EventRecord,
    ModelTurn,
    Started,
    Turn,
    export_otlp,
    live_export,
    send_otlp,
)

CALL = {"id": "c1", "name": "read", "arguments": {"path": "a.py"}}


class Collector:
    """Keeps what it is sent, or refuses it."""

    def __init__(self) -> None:
        self.spans: list = []
        self.resources: list[dict] = []
        self.status = 200
        self.talks = False
        self.talked = 0
        self.url = ""

    async def receive(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if request.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.status == 200:
            sent = ExportTraceServiceRequest.FromString(body)
            for resource in sent.resource_spans:
                self.resources.append(values(resource.resource.attributes))
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        if self.talks:
            return await self._talk(request)
        return web.Response(status=self.status, headers={"Location": "/elsewhere"} if self.status == 302 else None)

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        """Answer without ever coming to an end."""
        answer = web.StreamResponse()
        await answer.prepare(request)
        with suppress(ConnectionError):
            while True:
                await answer.write(b"x" * 100_000)
                self.talked += 100_000
        return answer

    def named(self, name: str):
        [span] = [span for span in self.spans if span.name == name]
        return span


@pytest.fixture
async def collector():
    collector = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", collector.receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    collector.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    yield collector
    await runner.cleanup()


def values(attributes) -> dict:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


RECORDS = [
    ModelTurn(
        assistant_text="secret thoughts",
        requested_tool_calls=[CALL],
        model_id="claude-opus",
        token_usage=Usage(input_tokens=100, output_tokens=20, cost_usd=0.5, cache_read_tokens=7),
        duration_ms=1250.0,
    ),
    Turn(prompt="secret prompt", tool="drive_cli", parameters={"a": 1}, output="secret output",
         cli_outcome={"kind": "exited", "code": 3}, duration_ms=500),
    Turn(tool="check_outcome", output={"passed": False}, verifier_verdict="fail"),
    Turn(tool="shell", policy_rejected={"rule": "no-shell", "param": "command"}),
    Turn(tool="slow", cli_outcome={"kind": "timeout"}),
    CheckRecord({"name": "suite", "passed": False}),
    EventRecord("note", {"text": "secret note"}),
]  # fmt: skip


@pytest.fixture
async def recorded(store):
    run_ = await store.start(Started("secret intent", agent_id="a1", agent_name="Ada"))
    await store.append(run_.run_id, RECORDS)
    await store.end(run_.run_id, Ended("completed", "secret summary"))
    return await store.get(run_.run_id)


async def test_a_run_is_an_agent_with_its_turns_below_it(store, collector, recorded):
    assert await send_otlp(store, recorded, collector.url) == 6
    root = collector.named("invoke_agent Ada")
    children = [span for span in collector.spans if span is not root]
    assert {span.trace_id for span in collector.spans} == {root.trace_id}
    assert {span.parent_span_id for span in children} == {root.span_id}
    assert root.parent_span_id == b""
    assert len({span.span_id for span in collector.spans}) == 6
    told = values(root.attributes)
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert (told["gen_ai.agent.id"], told["gen_ai.conversation.id"]) == ("a1", recorded.run_id)
    assert (told["trueup.run.status"], told["trueup.run.turns"]) == ("completed", 5)
    assert (told["gen_ai.usage.input_tokens"], told["trueup.usage.cost_usd"]) == (100, 0.5)
    assert root.status.code == 0
    [evaluation] = root.events
    assert evaluation.name == "gen_ai.evaluation.result"
    assert values(evaluation.attributes) == {
        "gen_ai.evaluation.name": "suite",
        "gen_ai.evaluation.score.label": "fail",
    }
    assert collector.resources[0]["service.name"] == "trueup"


async def test_times_are_those_of_the_records(store, collector, recorded):
    await send_otlp(store, recorded, collector.url)
    chat, tool = collector.named("chat claude-opus"), collector.named("execute_tool drive_cli")
    assert chat.end_time_unix_nano - chat.start_time_unix_nano == 1_250_000_000
    assert tool.end_time_unix_nano - tool.start_time_unix_nano == 500_000_000
    at = (await store.trace(recorded.run_id))[1].at
    assert f"{chat.end_time_unix_nano % 10**9 // 1000:06}" == at[20:26]
    root = collector.named("invoke_agent Ada")
    assert root.end_time_unix_nano - root.start_time_unix_nano > 0


async def test_refusals_and_verdicts_are_told(store, collector, recorded):
    await send_otlp(store, recorded, collector.url)
    refused = collector.named("execute_tool shell")
    told = values(refused.attributes)
    assert (refused.status.code, told["error.type"]) == (2, "policy_rejected")
    assert (told["trueup.policy.rule"], told["trueup.policy.param"]) == ("no-shell", "command")
    failed = collector.named("execute_tool check_outcome")
    assert (failed.status.code, values(failed.attributes)["trueup.verdict"]) == (0, "fail")
    assert values(collector.named("execute_tool slow").attributes)["error.type"] == "timeout"
    assert values(collector.named("execute_tool drive_cli").attributes)["process.exit.code"] == 3
    chat = values(collector.named("chat claude-opus").attributes)
    assert chat["gen_ai.provider.name"] == "anthropic"
    assert chat["gen_ai.request.model"] == "claude-opus"
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 7


async def test_what_was_said_is_sent_on_request_only(store, collector, recorded):
    await send_otlp(store, recorded, collector.url)
    assert "secret" not in str(collector.spans)
    collector.spans.clear()
    await send_otlp(store, recorded, collector.url, content=True)
    tool = values(collector.named("execute_tool drive_cli").attributes)
    assert (tool["gen_ai.tool.call.arguments"], tool["gen_ai.tool.call.result"]) == ('{"a":1}', "secret output")
    [message] = json.loads(values(collector.named("chat claude-opus").attributes)["gen_ai.output.messages"])
    assert message == {
        "role": "assistant",
        "parts": [{"type": "text", "content": "secret thoughts"}, {"type": "tool_call", **CALL}],
    }


async def test_a_file_is_otlp_json(store, collector, recorded):
    text = "".join([piece async for piece in export_otlp(store, recorded)])
    [request] = [json.loads(line) for line in text.splitlines()]
    [scope] = request["resourceSpans"][0]["scopeSpans"]
    await send_otlp(store, recorded, collector.url)
    assert {span["spanId"] for span in scope["spans"]} == {span.span_id.hex() for span in collector.spans}
    root = next(span for span in scope["spans"] if span["name"] == "invoke_agent Ada")
    assert (len(root["traceId"]), root["kind"]) == (32, 1)
    assert root["startTimeUnixNano"].isdigit()


async def test_a_run_that_goes_on_is_told_so(store, collector):
    run_ = await store.start(Started("x"))
    await send_otlp(store, run_, collector.url)
    assert values(collector.named("invoke_agent").attributes)["trueup.run.status"] == "in_progress"


async def test_a_long_run_is_sent_in_parts(store, collector):
    run_ = await store.start(Started("x"))
    await store.append(run_.run_id, [Turn(tool="t")] * 1500)
    assert await send_otlp(store, await store.get(run_.run_id), collector.url) == 1501
    assert len(collector.spans) == 1501
    assert len(collector.resources) >= 3


async def test_a_collector_that_refuses_is_named(store, collector, recorded):
    collector.status = 400
    with pytest.raises(InfrastructureError, match="the collector took 0 spans"):
        await send_otlp(store, recorded, collector.url)
    with pytest.raises(InputError, match="'localhost:4318' is no collector: use http://HOST:4318"):
        await send_otlp(store, recorded, "localhost:4318")


async def test_what_the_collector_answered_is_told_and_no_password(store, collector, recorded):
    collector.status = 401
    address = collector.url.replace("//", "//ada:SECRET@")
    with pytest.raises(InfrastructureError, match="it answered 401") as caught:
        await send_otlp(store, recorded, address)
    assert "SECRET" not in str(caught.value)


async def test_spans_that_were_sent_elsewhere_are_not_taken_for_sent(store, collector, recorded):
    collector.status = 302
    with pytest.raises(InfrastructureError, match="it answered 302"):
        await send_otlp(store, recorded, collector.url)


async def test_an_answer_without_an_end_is_not_waited_for(store, collector, recorded):
    collector.talks = True
    async with asyncio.timeout(8):
        assert await send_otlp(store, recorded, collector.url) > 0
    assert collector.talked < 50_000_000


@pytest.mark.parametrize("address", ["http://[::1", "http://host:port", "http://host:99999", "http://u:SECRET@h:x"])
async def test_an_address_that_is_none_is_refused(store, recorded, address):
    with pytest.raises(InputError, match="is no collector") as caught:
        await send_otlp(store, recorded, address)
    assert "SECRET" not in str(caught.value)


async def test_runs_are_sent_while_they_happen(store, collector):
    before = await store.start(Started("x", agent_name="Before"))
    async with live_export(store, collector.url) as live:
        run_ = await store.start(Started("x", agent_name="Live"))
        await store.append(run_.run_id, [Turn(tool="t"), ModelTurn(model_id="m")])
        async with asyncio.timeout(10):
            while live.sent < 2:
                await asyncio.sleep(0.02)
        assert sorted(span.name for span in collector.spans) == ["chat m", "execute_tool t"]
        await store.end(before.run_id, Ended("incomplete"))
        await store.end(run_.run_id, Ended("completed"))
    assert (live.sent, live.failed, live.dropped) == (4, 0, 0)
    root = collector.named("invoke_agent Live")
    assert {span.parent_span_id for span in collector.spans[:2]} == {root.span_id}
    incomplete = collector.named("invoke_agent Before")
    assert (incomplete.status.code, values(incomplete.attributes)["error.type"]) == (2, "incomplete")


async def test_a_collector_that_is_down_costs_nothing_but_spans(store, collector):
    told: list[str] = []
    collector.status = 400
    async with live_export(store, collector.url, tell=told.append) as live:
        run_ = await store.start(Started("x"))
        for _ in range(20):
            assert (await store.append(run_.run_id, [Turn()] * 10)).count == 10
        async with asyncio.timeout(10):
            while live.failed < 200:
                await asyncio.sleep(0.02)
        collector.status = 200
        await store.append(run_.run_id, [Turn()])
        async with asyncio.timeout(10):
            while not live.sent:
                await asyncio.sleep(0.02)
    assert live.failed == 200
    assert [each.split(";")[0] for each in told] == [
        "the OTLP collector takes no spans",
        "the OTLP collector takes spans again",
    ]
    assert "200 spans and 0 records were not sent" in told[1]


async def test_what_comes_faster_than_it_can_be_sent_is_counted_and_told(store, collector):
    told: list[str] = []
    async with live_export(store, collector.url, tell=told.append, most_waiting=10) as live:
        run_ = await store.start(Started("x"))
        assert (await store.append(run_.run_id, [Turn()] * 50)).count == 50
    # The run's beginning may have been taken before the turns came.
    assert live.dropped in (40, 41)
    assert live.sent == 50 - live.dropped
    assert told == [f"{live.dropped} records came faster than the OTLP collector takes spans, and were not sent"]


async def test_a_collector_that_is_not_there_delays_neither_records_nor_the_end(store):
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with live_export(store, "http://127.0.0.1:9"):
        run_ = await store.start(Started("x"))
        for _ in range(50):
            await store.append(run_.run_id, [Turn()])
        assert loop.time() - started < 3
    assert loop.time() - started < 6


async def test_without_the_library_it_is_said_what_to_install():
    line = """
import sys
sys.modules["opentelemetry.sdk"] = None
from trueup.core.errors import InputError
from trueup.runs._otlp import _require
try:
    _require()
except InputError as error:
    print(error)
"""
    finished = await run(Command(argv=(sys.executable, "-c", line)))
    assert finished.stdout.text == "OpenTelemetry is not installed: pip install 'trueup[otlp]'\n"
