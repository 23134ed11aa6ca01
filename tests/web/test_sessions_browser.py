"""Sessions in a real browser: decided about by keyboard, kept up to date, and nothing that an agent wrote is run."""

from __future__ import annotations

from browser import DESK, PHONE, expect
from sessions_on_pages import begun, cheat, daemon, project, recorded, verdict
from trueup.coder import Outcome, State, events

__all__ = ["daemon", "project", "recorded"]


async def test_a_contract_is_confirmed_and_its_change_approved_by_keyboard_alone(browser_page, front, project):
    page, session_id = browser_page, await begun(front, project)
    await page.goto("/sessions")
    await press_on(page, f'a[href="/sessions/{session_id}"]')
    await press_on(page, "#confirm")
    await expect(page.locator("#standing")).not_to_contain_text("contract proposed")
    await page.evaluate("window.stays = true")
    await expect(page.locator("#approve")).to_be_visible()
    await expect(page.locator("#iterations")).to_contain_text("verified")
    await expect(page.locator("#diff .line.add .k").first).to_have_text("return ")
    await expect(page.locator("#diff")).to_contain_text("<script>alert(3)</script>")
    assert await page.evaluate("window.stays"), "all of that came without asking for the page again"
    for size in (PHONE, DESK):
        await page.set_viewport_size(size)
        assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    await press_on(page, "#approve")
    await expect(page.get_by_role("heading", name="Approve this change?")).to_be_visible()
    await expect(page.locator("dl.facts")).to_contain_text("main")
    await press_on(page, "#sure")
    await expect(page.locator("#standing")).to_contain_text("merged")
    commit = await project.bash("git rev-parse HEAD")
    await expect(page.locator("#state")).to_contain_text(commit)


async def press_on(page, selector: str) -> None:
    """Go to something with the tabulator, see that it can be seen where one is, and press Enter there."""
    await expect(page.locator(selector)).to_be_visible()
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            break
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert (outline, selector) == ("solid", selector)
    await page.keyboard.press("Enter")


async def test_a_key_that_is_held_down_decides_nothing(browser_page, recorded):
    page, session_id = browser_page, await recorded.session(State.NEEDS_APPROVAL)
    await recorded.iteration(session_id, 1, verdict(Outcome.VERIFIED))
    await page.goto(f"/sessions/{session_id}")
    await page.locator("#discard").focus()
    await page.keyboard.down("Enter")
    await expect(page.get_by_role("heading", name="Discard this change?")).to_be_visible()
    for _ in range(5):
        await page.keyboard.down("Enter")
    await page.goto(f"/sessions/{session_id}")
    await expect(page.locator("#standing")).to_contain_text("needs approval")


async def test_what_somebody_types_or_unfolds_stays_while_the_session_goes_on(browser_page, recorded):
    page = browser_page
    session_id = await recorded.session(State.RUNNING)
    await recorded.iteration(session_id, 1, verdict(Outcome.REFUSED, findings=[cheat()]))
    await page.goto(f"/sessions/{session_id}")
    fold = page.locator('details[data-fold="result-suite"]')
    await fold.locator("summary").click()
    await page.locator("#words").fill("mind the")
    await page.keyboard.press("End")
    await recorded.iteration(session_id, 2, verdict(Outcome.VERIFIED))
    await recorded.tell(
        session_id,
        events.StateChanged(state=State.VERIFYING, previous=State.RUNNING),
        events.StateChanged(state=State.NEEDS_APPROVAL, previous=State.VERIFYING),
    )
    await expect(page.locator("#respond")).to_have_text("Send back")
    await expect(fold).to_have_attribute("open", "")
    await expect(fold).to_contain_text("green")
    await page.keyboard.type(" gap")
    await expect(page.locator("#words")).to_have_value("mind the gap")


async def test_the_list_keeps_itself_up_to_date(browser_page, recorded):
    page = browser_page
    await page.goto("/sessions")
    await page.evaluate("window.stays = true")
    session_id = await recorded.session(State.CONTRACT_PROPOSED, intent="<b>bold</b>" + "long" * 100)
    row = page.locator(f"#session-{session_id}")
    await expect(row).to_contain_text("contract proposed")
    await expect(row).to_contain_text("<b>bold</b>")
    changed = events.StateChanged(state=State.ABANDONED, previous=State.CONTRACT_PROPOSED, message="enough")
    await recorded.tell(session_id, changed)
    await expect(row).to_contain_text("abandoned")
    for size in (PHONE, DESK):
        await page.set_viewport_size(size)
        assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert await page.evaluate("window.stays")
