"""A daemon with pages, and visitors of them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from page_visitors import TOKENS, visitor
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
    async with visitor(front.port) as session:
        async with session.get(front.page_link) as answer:
            assert answer.status == 200
        yield session
