"""The door as a real browser meets it, which has other servers of this machine open beside it."""

from __future__ import annotations

import pytest
from aiohttp import web

from browser import expect


@pytest.fixture
async def another_server():
    """What an agent made and a person looks at: at another port, and curious about cookies."""
    cookies = []

    async def look(request: web.Request) -> web.Response:
        cookies.append(request.headers.get("Cookie"))
        link = request.query.get("link", "")
        return web.Response(text=f'<link rel="icon" href="data:,"><a href="{link}">look</a>', content_type="text/html")

    application = web.Application()
    application.router.add_get("/", look)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1], cookies
    await runner.cleanup()


async def test_another_server_of_this_machine_is_not_sent_the_cookie(browser_page, another_server):
    port, cookies = another_server
    await expect(browser_page.get_by_role("heading", name="Runs")).to_be_visible()
    for host in ("127.0.0.1", "localhost"):
        await browser_page.goto(f"http://{host}:{port}/")
    assert cookies == [None, None]


async def test_a_link_on_another_page_lets_in_too(front, browser, another_server):
    port, _ = another_server
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"http://localhost:{port}/?link={front.page_link}")
    await page.get_by_role("link", name="look").click()
    await expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    await context.close()


async def test_an_address_on_another_page_is_reached_with_one_more_click(front, browser, another_server):
    port, _ = another_server
    link = front.page_link
    context = await browser.new_context(base_url=link)
    page = await context.new_page()
    await page.goto(link)
    await page.goto("/sessions")
    await page.goto(f"http://localhost:{port}/?link={page.url}")
    await page.get_by_role("link", name="look").click()
    await page.get_by_role("link", name="go on").click()
    await expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    await context.close()
