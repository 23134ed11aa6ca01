"""Skill reports in a real browser."""

from __future__ import annotations

import pytest

from browser import DESK, PHONE, expect
from skill_reports import CASES, evil_report, full_report
from trueup.skills import keep_report

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def test_a_square_is_reached_by_keyboard_and_leads_to_a_transcript(browser_page):
    name = keep_report(full_report())
    await browser_page.goto(f"/reports/{name}")
    squares = browser_page.get_by_role("table", name="Matrix").get_by_role("link")
    await squares.first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft", "ArrowUp"):
        await browser_page.keyboard.press(key)
    await expect(squares.first).to_be_focused()
    await browser_page.keyboard.press("ArrowUp")
    await expect(squares.first).to_be_focused()
    await browser_page.keyboard.press("Enter")
    await expect(browser_page.get_by_role("heading", level=1)).to_have_text(CASES[0])
    first = browser_page.get_by_role("main").get_by_role("listitem").get_by_role("link").first
    await first.focus()
    await browser_page.keyboard.press("Enter")
    await expect(browser_page.get_by_role("heading", name="Transcript")).to_be_visible()
    call = browser_page.locator(".transcript summary").first
    await call.focus()
    await browser_page.keyboard.press("Enter")
    await expect(browser_page.locator(".transcript details pre").first).to_contain_text("cat calendar.json")


async def test_what_an_agent_wrote_does_not_run(browser_page):
    name = keep_report(evil_report())
    for place in ("", "/cells", f"/cells/{'e' * 64}-1"):
        await browser_page.goto(f"/reports/{name}{place}")
        await expect(browser_page.get_by_text("<script>document.title").first).to_be_attached()
        assert "taken" not in (await browser_page.title()).split("<")[0]
        assert await browser_page.evaluate("document.querySelectorAll('main script, main img').length") == 0


async def test_two_reports_are_chosen_and_compared(browser_page):
    before, after = sorted((keep_report(full_report()), keep_report(full_report(better=True))))
    await browser_page.goto("/reports")
    await browser_page.locator(f"input[name=before][value='{after}']").check()
    await browser_page.locator(f"input[name=after][value='{before}']").check()
    await browser_page.get_by_role("button", name="Compare").click()
    await browser_page.wait_for_url(f"**/reports/compare?before={after}&after={before}")
    await expect(browser_page.get_by_role("heading", name="Cases that moved")).to_be_visible()


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
async def test_no_page_scrolls_sideways(browser_page, size):
    await browser_page.set_viewport_size(size)
    first, evil = keep_report(full_report()), keep_report(evil_report())
    for path in (
        "/reports",
        f"/reports/{first}",
        f"/reports/{first}/cells",
        f"/reports/{first}/cells/00a-1",
        f"/reports/{evil}",
        f"/reports/{evil}/cells/{'e' * 64}-1",
        f"/reports/compare?before={first}&after={evil}",
    ):
        await browser_page.goto(path)
        assert await browser_page.evaluate(SIDEWAYS) == 0, path
