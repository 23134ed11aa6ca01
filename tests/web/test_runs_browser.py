"""The pages of runs in a real browser: what is new comes in by itself, nothing that an agent wrote is run."""

from __future__ import annotations

import asyncio

import pytest

from browser import DESK, PHONE, expect
from trueup.core.usage import Usage
from trueup.runs import Ended, EventRecord, ModelTurn, Started, Turn

SCRIPT = '<script>window.ran = true; alert(1)</script><img src=x onerror="alert(2)"><b>bold</b>'
WORK = [
    ModelTurn(assistant_text="I look at it.", model_id="m1", token_usage=Usage(input_tokens=1200, cost_usd=0.5)),
    Turn(tool="bash", parameters={"command": "pytest -q"}, output="unfolded at last\n" * 3, verifier_verdict="fail"),
    Turn(tool="rm", parameters={"path": "/" + "a-long-name/" * 30}, policy_rejected={"rule": "no-rm", "param": "path"}),
]


async def test_the_list_keeps_itself_up_to_date(browser_page, store):
    page = browser_page
    first = await store.start(Started("the first one"))
    await page.goto("/runs")
    await page.evaluate("window.stays = true")
    second = await store.start(Started("the second one"))
    await expect(page.locator("tbody tr").first).to_contain_text("the second one")
    await store.append(first.run_id, WORK)
    await store.end(first.run_id, Ended("completed"))
    row = page.locator(f"#run-{first.run_id}")
    await expect(row).to_contain_text("completed")
    await expect(row).to_contain_text("$0.5000")
    await expect(page.locator(f"#run-{second.run_id}")).to_contain_text("running")
    assert await page.locator("tbody tr").count() == 2
    assert await page.evaluate("window.stays")


async def test_a_run_is_followed_until_it_ends(browser_page, store):
    page = browser_page
    run = await store.start(Started("mend it"))
    await page.goto(f"/runs/{run.run_id}")
    await page.evaluate("window.stays = true")
    await store.append(run.run_id, WORK)
    await expect(page.locator("#r2 .badge")).to_have_text("fail")
    await expect(page.locator("#r3 .badge")).to_have_text("refused by no-rm")
    await expect(page.locator("#facts")).to_contain_text("$0.5000")
    await store.end(run.run_id, Ended("completed", "all is well"))
    await expect(page.locator("#end")).to_have_text("The run has ended.")
    await expect(page.locator("#facts")).to_contain_text("all is well")
    assert await page.evaluate("window.stays")


async def test_a_reader_at_the_end_is_taken_along_and_another_is_left_in_peace(browser_page, store):
    page = browser_page
    run = await store.start(Started("count"))
    await store.append(run.run_id, [Turn(prompt=f"turn {number}") for number in range(100)])
    await page.goto(f"/runs/{run.run_id}")
    await page.get_by_label("Follow").check()
    await expect(page.locator("#end")).to_be_in_viewport()
    await store.append(run.run_id, [Turn(prompt="more")] * 50)
    await expect(page.locator("#r150")).to_be_in_viewport()
    await page.evaluate("window.scrollTo(0, 300)")
    await expect(page.get_by_label("Follow")).not_to_be_checked()
    await store.append(run.run_id, [Turn(prompt="and more")] * 50)
    await expect(page.locator("#r200")).to_be_attached()
    assert await page.evaluate("window.scrollY") == 300


async def test_a_long_run_is_read_a_part_at_a_time(browser_page, store):
    page = browser_page
    run = await store.start(Started("count"))
    await store.append(run.run_id, [Turn(prompt=f"turn {number}") for number in range(2500)])
    await store.end(run.run_id, Ended("completed"))
    await page.goto(f"/runs/{run.run_id}")
    assert await page.locator(".timeline li").count() <= 400
    async with asyncio.timeout(30):
        while not await page.locator("#r2501").count():
            assert await page.locator(".timeline li").count() <= 1000
            await page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
            await asyncio.sleep(0.05)
    assert await page.locator(".timeline li").count() == 1000
    await expect(page.locator("#end")).to_have_text("The run has ended.")
    before = await page.locator(".timeline li").first.get_attribute("data-seq")
    await page.get_by_role("link", name="Earlier records").click()
    # An `expect` that has to wait describes the whole page first.
    await page.wait_for_selector(f"#r{int(before) - 200}", state="attached")
    assert await page.locator(".timeline li").count() == 1000


async def test_what_an_agent_wrote_is_shown_and_never_run(browser_page, store):
    page = browser_page
    run = await store.start(Started(SCRIPT, agent_name=SCRIPT))
    await page.goto("/runs")
    await expect(page.locator(f"#run-{run.run_id} a")).to_contain_text("<script>")
    await page.goto(f"/runs/{run.run_id}")
    await store.append(
        run.run_id,
        [
            Turn(tool=SCRIPT, prompt=SCRIPT, output=SCRIPT + "x" * 20_000),
            ModelTurn(assistant_text=SCRIPT),
            EventRecord("message", {"text": SCRIPT}),
        ],
    )
    await expect(page.locator("#r3 .said")).to_have_text(SCRIPT)
    await page.locator("#r1 summary", has_text="output").click()
    await expect(page.locator("#r1 pre")).to_contain_text("<script>")
    await page.locator("#r1 details[open] a.whole").click()
    await expect(page.locator("#r1 pre")).to_contain_text("x" * 20_000)
    assert await page.locator("main :is(script, img, .said b)").count() == 0
    assert await page.evaluate("window.ran") is None
    await page.goto(f"/runs/{run.run_id}/records/1")
    assert await page.locator("body img").count() == 0


async def test_everything_is_reached_with_the_keyboard(browser_page, store):
    page = browser_page
    run = await store.start(Started("mend it"))
    await store.append(run.run_id, WORK)
    await store.end(run.run_id, Ended("completed"))
    await page.goto("/runs")
    await _tab_to(page, f"a[href='/runs/{run.run_id}']")
    assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{page.url.partition('/runs')[0]}/runs/{run.run_id}")
    await _tab_to(page, "#r2 details summary")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("unfolded at last")).to_be_visible()


async def _tab_to(page, selector):
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"no tab stop leads to {selector}")


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
async def test_nothing_is_wider_than_the_screen(browser_page, store, size):
    page = browser_page
    run = await store.start(Started("a " + "word" * 100, agent_name="agent" * 10), kind="k" * 60)
    await store.append(run.run_id, [*WORK, ModelTurn(assistant_text="long" * 500)])
    await page.set_viewport_size(size)
    for path in ("/runs", "/runs?q=look", f"/runs/{run.run_id}"):
        await page.goto(path)
        await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert await page.evaluate("document.documentElement.scrollWidth") <= size["width"], path
        assert len(await page.screenshot()) > 5_000


async def test_a_dark_room_gets_dark_pages(browser_page):
    colours = []
    for scheme in ("light", "dark"):
        await browser_page.emulate_media(color_scheme=scheme)
        await browser_page.goto("/runs")
        colours.append(await browser_page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(23, 25, 28)"]
