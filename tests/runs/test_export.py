"""A run as a file that others can read."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from trueup.core.usage import Usage
from trueup.runs import (
    CheckRecord,
    Ended,
    EventRecord,
    ModelTurn,
    RunStore,
    Started,
    Turn,
    export_html,
    export_jsonl,
)

HOSTILE = '</pre><script>alert(1)</script><img src=x onerror="alert(2)">&amp;\x1b[31m\udcff'


@pytest.fixture
async def run(store: RunStore):
    run = await store.start(Started(HOSTILE, agent_id=HOSTILE))
    await store.append(
        run.run_id,
        [
            Turn(prompt=HOSTILE, tool=HOSTILE, parameters={HOSTILE: HOSTILE}, output=HOSTILE + "x" * 100_000),
            Turn(tool="check_outcome", output={"passed": False}, verifier_verdict="fail", duration_ms=1500),
            Turn(prompt="rm -rf /", tool="drive_cli", policy_rejected={"rule": "no-destructive", "param": "prompt"}),
            ModelTurn(assistant_text=HOSTILE, model_id="m", token_usage=Usage(10, 5, 0.25), duration_ms=250.0),
            CheckRecord({"name": HOSTILE, "passed": True}),
            EventRecord(HOSTILE, {"x": HOSTILE}),
        ],
    )
    await store.end(run.run_id, Ended("completed", HOSTILE))
    return await store.get(run.run_id)


async def test_every_record_is_a_whole_line_of_json(store, run):
    text = "".join([piece async for piece in export_jsonl(store, run)])
    lines = [json.loads(line) for line in text.splitlines()]
    assert [each["seq"] for each in lines] == list(range(8))
    assert lines[1]["record"]["output"] == HOSTILE + "x" * 100_000
    assert lines[2]["previous_hash"] == lines[1]["hash"]


async def test_an_export_ends_where_the_run_was_when_it_began(store):
    run = await store.start(Started("x"))
    pieces = export_jsonl(store, run)
    await store.append(run.run_id, [Turn()] * 5)
    assert len([piece async for piece in pieces]) == 1


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


async def test_nothing_that_was_recorded_can_act_in_a_page(store, run):
    text = "".join([piece async for piece in export_html(store, run)])
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert names <= set("html head meta title style body h1 dl dt dd ol li small b br details summary pre p".split())
    assert {name for _, attrs in page.tags for name in attrs} <= {
        "lang", "charset", "http-equiv", "content", "name", "id", "class",
    }  # fmt: skip
    assert "\x1b" not in text
    assert "alert(1)" in page.text
    text.encode()


async def test_a_page_loads_nothing_and_allows_its_own_style_alone(store, run):
    text = "".join([piece async for piece in export_html(store, run)])
    [policy] = [attrs["content"] for tag, attrs in Page(text).tags if tag == "meta" and "http-equiv" in attrs]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "http://" not in text
    assert "url(" not in text


async def test_a_page_tells_what_happened(store, run):
    page = Page("".join([piece async for piece in export_html(store, run)]))
    tones = [attrs["class"] for tag, attrs in page.tags if tag == "li"]
    assert tones == ["plain", "plain", "amber", "refused", "plain", "good", "plain", "good"]
    assert "refused by no-destructive" in page.text
    assert "took 1.5 s" in page.text
    assert "4 turns · 1 refused · 1 failed verdict · 10 + 5 tokens · $0.2500" in page.text
    assert "characters more; `--format jsonl` has them" in page.text


async def test_a_long_run_is_written_a_page_at_a_time(store):
    run = await store.start(Started("x"))
    await store.append(run.run_id, [Turn(prompt=str(number)) for number in range(2500)])
    run = await store.get(run.run_id)
    pieces = [piece async for piece in export_html(store, run)]
    assert len(pieces) == 5
    assert "".join(pieces).count("<li ") == 2501
