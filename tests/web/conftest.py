"""A daemon with pages, and visitors of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import pytest

from browser import Browser, Complaints, missing
from page_visitors import TOKENS, let_in, visitor
from trueup.daemon import Daemon, listen
from trueup.runs import RunStore
from trueup.web import pages


@pytest.fixture
async def store(tmp_path):
    async with await RunStore.open(f"sqlite:///{tmp_path}/runs.db") as store:
        yield store


@pytest.fixture
async def daemon(store):
    async with Daemon(store, tokens=TOKENS, grace_secs=0.1, token_within_secs=1) as daemon:
        yield daemon


@pytest.fixture
async def front(daemon):
    async with listen(daemon, 0, pages) as front:
        yield front


@pytest.fixture
async def stranger(front) -> AsyncIterator[aiohttp.ClientSession]:
    """Somebody who was not given the link."""
    async with visitor(front.port) as session:
        yield session


@pytest.fixture
async def human(front) -> AsyncIterator[aiohttp.ClientSession]:
    """Somebody who came by the link."""
    async with let_in(front.page_link) as session:
        yield session


@pytest.fixture
async def front_that_ends(daemon):
    """A visitor of a front, and what ends the front."""
    listening = listen(daemon, 0, pages)
    front = await listening.__aenter__()
    ended = asyncio.Event()

    async def end() -> None:
        ended.set()
        await listening.__aexit__(None, None, None)

    async with let_in(front.page_link) as session:
        yield session, end
    if not ended.is_set():
        await end()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real browser, one for all tests of a worker. CI has one."""
    if (why := missing()) and not os.environ.get("CI"):
        pytest.skip(why)
    with Browser() as browser:
        yield browser


@pytest.fixture
async def browser_page(front, browser) -> AsyncIterator[Any]:
    """A page of a browser whose user came by the link, to `goto` paths with. It must have nothing to complain about."""
    link = front.page_link
    context = await browser.new_context(base_url=link)
    page = await context.new_page()
    complaints = Complaints(page)
    await page.goto(link)
    yield page
    await context.close()
    assert complaints.told == []
