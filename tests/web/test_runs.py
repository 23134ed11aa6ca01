"""The pages of runs, as they come over HTTP: everything that they show without a script."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from contextlib import AsyncExitStack, closing

import pytest

from page_visitors import let_in
from trueup.core.usage import Usage
from trueup.runs import CheckRecord, Ended, EventRecord, ModelTurn, Started, Turn
from trueup.web import _live, _run, _runs, _spending

SCRIPT = "<script>alert('ran')</script>"


async def text_of(session, path, status=200):
    async with session.get(path) as answer:
        text = await answer.text()
    assert answer.status == status, text
    return text


def shown_runs(page):
    return re.findall(r'<tr id="run-([^"]+)"', page)


def shown_records(page):
    return [int(seq) for seq in re.findall(r'<li id="r(\d+)"', page)]


async def priced(store, *costs, intent="mend it"):
    """A run with a model turn for each cost; None is one of which nothing is known."""
    run = await store.start(Started(intent))
    used = [None if cost is None else Usage(input_tokens=10, output_tokens=2, cost_usd=cost) for cost in costs]
    await store.append(run.run_id, [ModelTurn(token_usage=each) for each in used])
    return run.run_id


async def test_runs_are_listed_newest_first_with_what_is_known_of_them(human, store):
    first = await store.start(Started("mend it", agent_id="a1", agent_name="Ada"))
    second = await store.start(Started("look at it", agent_id="b2"), kind="code")
    await store.append(second.run_id, [Turn(), ModelTurn(token_usage=Usage(cost_usd=0.25))])
    await store.end(second.run_id, Ended("completed"))
    page = await text_of(human, "/runs")
    assert shown_runs(page) == [second.run_id, first.run_id]
    assert "Ada" in page
    assert "$0.2500" in page
    assert "running" in page
    assert '<td class="number" data-name="turns">2</td>' in page


@pytest.mark.parametrize(
    ("costs", "shown"),
    [
        ((), "unknown"),
        ((None,), "unknown"),
        ((0.5, 0.25), "$0.7500"),
        ((0.5, None), "≥ $0.5000"),
        ((0.0,), "$0.0000"),
    ],
)
async def test_a_cost_that_nobody_reported_is_not_zero(human, store, costs, shown):
    await priced(store, *costs)
    page = await text_of(human, "/runs")
    cell = re.search(r'data-name="cost">(.*?)</td>', page, re.DOTALL)[1]
    assert re.sub(r"<[^>]*>", "", cell).strip() == shown


async def test_a_session_costs_what_its_budget_says(human, store):
    run = await store.start(Started("mend it"), kind="code")
    await store.append(
        run.run_id,
        [
            EventRecord("budget", {"usage": {"cost_usd": 0.1}}),
            ModelTurn(token_usage=Usage(cost_usd=0.9)),
            EventRecord("budget", {"usage": {"cost_usd": 0.3}}),
        ],
    )
    page = await text_of(human, "/runs")
    assert "$0.3000" in page


async def test_a_filter_shows_what_was_asked_for(human, store):
    mine = await store.start(Started("x", agent_id="ada"), kind="code")
    other = await store.start(Started("y", agent_id="bob"))
    await store.end(other.run_id, Ended("cancelled"))
    for query, expected in (
        ("status=cancelled", [other.run_id]),
        ("status=in_progress", [mine.run_id]),
        ("kind=code", [mine.run_id]),
        ("agent=bob", [other.run_id]),
        ("agent=bob&kind=code", []),
        ("status=no-such", []),
    ):
        assert shown_runs(await text_of(human, f"/runs?{query}")) == expected
    assert "No run is like that" in await text_of(human, "/runs?kind=nothing")


async def test_older_runs_are_pages_further_and_none_is_shown_twice_or_left_out(human, store):
    started = [(await store.start(Started(f"run {number}"))).run_id for number in range(2 * _runs.PAGE + 3)]
    seen, path = [], "/runs"
    while path is not None:
        page = await text_of(human, path)
        seen += shown_runs(page)
        older = re.search(r'id="older"[^>]*href="([^"]+)"', page)
        path = None if older is None else older[1].replace("&amp;", "&")
        # What begins meanwhile does not move the pages.
        await store.start(Started("meanwhile"))
    assert seen == started[::-1]


async def test_a_search_shows_the_run_and_the_text(human, store):
    run = await store.start(Started("mend the parser"))
    await store.append(run.run_id, [EventRecord("note")] * 10 + [Turn(output=f"a rare zebra {SCRIPT}")])
    page = await text_of(human, "/runs?q=zebra")
    assert "<mark>zebra</mark>" in page
    assert f"/runs/{run.run_id}?after=5#r11" in page
    assert SCRIPT not in page
    assert "No record has all of these words" in await text_of(human, "/runs?q=giraffe")


async def test_a_search_that_has_to_wait_asks_again(human, store, tmp_path):
    await store.start(Started("mend the parser"))
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as another:
        another.execute("BEGIN IMMEDIATE")
        async with human.get("/runs?q=parser") as answer:
            assert answer.headers["Refresh"]
            assert "being made findable" in await answer.text()
        another.execute("ROLLBACK")
    assert "<mark>parser</mark>" in await text_of(human, "/runs?q=parser")


async def test_a_run_is_shown_turn_by_turn(human, store):
    run = await store.start(Started("mend it", agent_name="Ada", outcome_description="green", data={"repo": "here"}))
    await store.append(
        run.run_id,
        [
            ModelTurn(assistant_text="I try", model_id="m1", token_usage=Usage(input_tokens=7, cost_usd=0.5)),
            Turn(
                tool="bash",
                parameters={"command": "make\ntest"},
                output={"stdout": "one\ntwo"},
                verifier_verdict="fail",
            ),
            Turn(tool="rm", policy_rejected={"rule": "no-rm", "param": "path"}),
            ModelTurn(assistant_text="again", token_usage=Usage(input_tokens=5, cost_usd=0.25)),
            CheckRecord({"name": "suite", "passed": True}),
        ],
    )
    page = await text_of(human, f"/runs/{run.run_id}")
    assert shown_records(page) == [0, 1, 2, 3, 4, 5]
    assert '<b class="badge amber">fail</b>' in page
    assert '<b class="badge refused">refused by no-rm</b>' in page
    assert "$0.7500 in all" in page
    assert "command:\nmake\ntest" in page
    assert "stdout:\none\ntwo" in page
    assert "12 + ? <small>in + out" in page


async def test_a_run_is_named_by_the_beginning_of_its_id(human, store):
    run = await store.start(Started("mend it"))
    async with human.get(f"/runs/{run.run_id[:-1]}?after=3") as answer:
        assert (answer.status, answer.url.path, answer.url.query_string) == (200, f"/runs/{run.run_id}", "after=3")
    assert "there is no run" in await text_of(human, "/runs/nothing-like-it", 404)


async def test_any_place_of_a_long_run_is_a_page(human, store):
    run = await store.start(Started("count"))
    await store.append(run.run_id, [Turn(prompt=f"turn {number}") for number in range(3 * _run.PAGE)])
    address = f"/runs/{run.run_id}"
    last = 3 * _run.PAGE
    for query, expected in (
        ("", range(_run.PAGE)),
        ("?after=10", range(11, 11 + _run.PAGE)),
        ("?at=10", range(10, 10 + _run.PAGE)),
        ("?last", range(last - _run.PAGE + 1, last + 1)),
        ("?after=999999999", []),
        ("?after=-7", range(_run.PAGE)),
        ("?after=no-number", range(_run.PAGE)),
    ):
        assert shown_records(await text_of(human, address + query)) == list(expected)
    async with human.get(f"{address}/rows?after=5&until=8") as answer:
        assert answer.headers["Record-Count"] == str(last + 1)
        assert shown_records(await answer.text()) == [6, 7, 8]


async def test_what_was_spent_adds_up_over_pages(human, store):
    run_id = await priced(store, *[0.5] * (_run.PAGE + 1))
    page = await text_of(human, f"/runs/{run_id}?after={_run.PAGE}")
    assert shown_records(page) == [_run.PAGE + 1]
    assert f"${(_run.PAGE + 1) / 2:.4f} in all" in page


async def test_a_large_output_is_folded_and_there_as_a_whole(human, store):
    run = await store.start(Started("mend it"))
    output = "first line\n" + "x" * 100_000 + "\nlast line"
    await store.append(run.run_id, [Turn(tool="bash", output=output)])
    page = await text_of(human, f"/runs/{run.run_id}")
    assert "first line" in page
    assert len(page) < 20_000
    assert await text_of(human, f"/runs/{run.run_id}/records/1?part=output") == output
    assert "last line" in await text_of(human, f"/runs/{run.run_id}/records/1")
    assert "no record 7" in await text_of(human, f"/runs/{run.run_id}/records/7", 404)
    assert "no such part" in await text_of(human, f"/runs/{run.run_id}/records/1?part=soul", 404)


async def test_what_an_agent_wrote_is_text_wherever_it_stands(human, store):
    run = await store.start(
        Started(SCRIPT, agent_id=SCRIPT, agent_name=SCRIPT, outcome_description=SCRIPT, data={SCRIPT: SCRIPT}),
        kind=SCRIPT,
    )
    await store.append(
        run.run_id,
        [
            Turn(
                prompt=SCRIPT,
                tool=SCRIPT,
                parameters={SCRIPT: SCRIPT},
                output=SCRIPT * 200,
                policy_rejected={"rule": SCRIPT},
            ),
            ModelTurn(assistant_text=SCRIPT, model_id=SCRIPT, requested_tool_calls=[{"name": SCRIPT, "input": SCRIPT}]),
            CheckRecord({"name": SCRIPT, "reason": SCRIPT}),
            EventRecord(SCRIPT, {"text": SCRIPT, SCRIPT: SCRIPT}),
        ],
    )
    await store.end(run.run_id, Ended("incomplete", SCRIPT, {SCRIPT: SCRIPT}, SCRIPT))
    for path in ("/runs", f"/runs?kind={SCRIPT}", "/runs?q=alert", f"/runs/{run.run_id}", f"/runs/{run.run_id}/rows"):
        page = await text_of(human, path)
        assert "<script>alert" not in page
        assert "&lt;script&gt;" in page
    async with human.get(f"/runs/{run.run_id}/records/1") as answer:
        assert answer.content_type == "text/plain"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("field", ["intent", "outcome_description", "agent_id", "agent_name"])
async def test_an_agent_with_much_to_say_of_itself_does_not_fill_the_pages(human, store, field):
    run = await store.start(Started(**{"intent": "mend it", field: "<much>" * 100_000}))
    for path in ("/runs", "/runs?q=much", f"/runs/{run.run_id}"):
        assert len(await text_of(human, path)) < 60_000, path


@pytest.mark.parametrize("form", ["jsonl", "html"])
async def test_a_run_is_taken_away_as_a_file(human, store, form):
    run = await store.start(Started("mend it"))
    async with human.get(f"/runs/{run.run_id}/export/{form}") as answer:
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{run.run_id}.{form}"'
        assert "mend it" in await answer.text()
    for other in ("pdf", "%0d%0aSet-Cookie:a"):
        assert "exported as jsonl or html" in await text_of(human, f"/runs/{run.run_id}/export/{other}", 404)


async def test_a_run_of_a_session_leads_to_the_session(human, store):
    session = await store.start(Started("mend it"), kind="session")
    other = await store.start(Started("mend it"))
    assert f'href="/sessions/{session.run_id}"' in await text_of(human, f"/runs/{session.run_id}")
    assert "/sessions/" not in await text_of(human, f"/runs/{other.run_id}")


async def events(answer):
    """The events of a stream as they come: what kind, its id, its text."""
    name, event_id, data = "", "", []
    async for raw in answer.content:
        field, _, value = raw.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "id":
            event_id = value
        elif field == "data":
            data.append(value)
        elif not field and name:
            yield name, event_id, "\n".join(data)
            name, event_id, data = "", "", []


async def test_a_list_tells_of_new_runs_and_of_those_that_change(human, store):
    old = await store.start(Started("old one"))
    async with asyncio.timeout(20), human.get("/live/runs?status=in_progress") as answer:
        assert answer.content_type == "text/event-stream"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        told = events(answer)
        assert "old one" in (await anext(told))[2]
        new = await store.start(Started("new one"))
        assert new.run_id in (await anext(told))[2]
        await store.end(old.run_id, Ended("completed"))
        name, _, row = await anext(told)
        assert (name, "completed" in row, old.run_id in row) == ("row", True, True)


async def test_a_run_tells_what_is_new_until_it_has_ended(human, store):
    run = await store.start(Started("mend it"))
    async with asyncio.timeout(20), human.get(f"/live/runs/{run.run_id}?after=0") as answer:
        told = events(answer)
        assert (await anext(told))[0] == "facts"
        await store.append(run.run_id, [Turn(prompt="one\rtwo"), Turn()])
        name, event_id, rows = await anext(told)
        assert (name, event_id, shown_records(rows)) == ("rows", "2", [1, 2])
        assert (await anext(told))[0] == "facts"
        await store.end(run.run_id, Ended("completed"))
        assert [name async for name, _, _ in told] == ["rows", "facts", "ended"]
    async with asyncio.timeout(20), human.get(f"/live/runs/{run.run_id}", headers={"Last-Event-ID": "2"}) as answer:
        name, _, rows = await anext(events(answer))
        assert (name, shown_records(rows)) == ("rows", [3])


async def test_a_run_whose_records_are_being_removed_is_not_told_without_end(human, store, tmp_path):
    run = await store.start(Started("mend it"))
    await store.append(run.run_id, [Turn()] * 3)
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as another:
        another.execute("DELETE FROM records")
    async with human.get(f"/live/runs/{run.run_id}?after=0") as answer:
        told = events(answer)
        assert (await anext(told))[0] == "facts"


def test_no_text_makes_an_event_of_its_own():
    text = "half \ud800\u2028data: x\r\revent: ended\n\nid: 9"
    lines = _live.Fragment("rows", text, id="1").encode().decode().split("\n")
    assert lines[:2] == ["event: rows", "id: 1"]
    assert all(line.startswith("data: ") for line in lines[2:-2])
    assert not set("\r\u2028") & set("".join(lines))


async def test_streams_end_with_the_daemon(store, front_that_ends):
    run = await store.start(Started("mend it"))
    session, end = front_that_ends
    async with session.get(f"/live/runs/{run.run_id}?after=0") as answer:
        told = events(answer)
        await anext(told)
        async with asyncio.timeout(1.5):
            await end()
            assert [each async for each in told] == []


async def test_a_browser_that_does_not_read_holds_up_no_end(store, front_that_ends):
    session, end = front_that_ends
    run = await store.start(Started("talk much"))
    async with session.get(f"/live/runs/{run.run_id}?after=0") as answer:
        assert answer.status == 200
        await store.append(run.run_id, [Turn(prompt="x" * 2000)] * 5000)
        await asyncio.sleep(0.5)
        began = time.monotonic()
        await end()
    assert time.monotonic() - began < 3


async def test_a_browser_that_went_leaves_its_place_to_another(front, store):
    run = await store.start(Started("mend it"))
    async with let_in(front.page_link) as session, AsyncExitStack() as open_streams:
        address = f"/live/runs/{run.run_id}?after=0"
        answers = [await session.get(address) for _ in range(_live.MOST_STREAMS)]
        await text_of(session, address, 503)
        for answer in answers:
            answer.close()
        # It is noticed when there is something to tell.
        await store.append(run.run_id, [Turn()])
        async with asyncio.timeout(20):
            while (again := await open_streams.enter_async_context(session.get(address))).status == 503:
                await asyncio.sleep(0.05)
        assert again.status == 200


async def test_a_browser_that_does_not_read_holds_up_nothing_but_its_own_stream(front, human, store):
    run = await store.start(Started("talk much"))
    async with let_in(front.page_link) as session:
        async with session.get(f"/live/runs/{run.run_id}?after=0") as answer:
            assert answer.status == 200
            for _ in range(10):
                await store.append(run.run_id, [Turn(prompt="x" * 10_000)] * 100)
            async with asyncio.timeout(5):
                assert shown_records(await text_of(human, f"/runs/{run.run_id}?at=1000")) == [1000]


async def test_what_was_spent_is_known_at_every_place_of_a_long_run(store):
    part = _spending.PART
    run = await store.start(Started("spend"))
    for _ in range(3):
        await store.append(run.run_id, [ModelTurn(token_usage=Usage(cost_usd=0.5))] * (part - 1000))
    spending = _spending.Spending(store)
    # What takes longer than a page waits is gone on with, and every order of questions gives the same answers.
    for seq in (part + 1, 5, part, 2 * part + 7, part - 1, 2 * part, 2 * part + 7, 0):
        async with asyncio.timeout(20):
            while (spent := await spending.until(run.run_id, seq)) is None:
                pass
        assert (spent.usage.cost_usd or 0) == seq / 2, seq
    await store.append(run.run_id, [ModelTurn(token_usage=Usage(cost_usd=1.0))])
    info = await store.get(run.run_id)
    async with asyncio.timeout(20):
        while not (found := await spending.of([info])):
            pass
    assert found[run.run_id].usage.cost_usd == 3 * (part - 1000) / 2 + 1


async def test_nobody_comes_in_by_pretending_to_be_a_program(stranger, store):
    run = await store.start(Started("a secret"))
    for path in ("/runs", f"/runs/{run.run_id}", f"/live/runs/{run.run_id}", f"/runs/{run.run_id}/export/jsonl"):
        async with stranger.get(path, headers={"Upgrade": "websocket", "Connection": "Upgrade"}) as answer:
            assert answer.status == 401, path
