"""A real browser for tests: one for each worker, with pages that are private to a test.

The browser lives on a thread with a loop of its own, since every test has another loop. What a test asks of a page is
done there; it reads as if the page were here: `await page.goto("/runs")`, `await expect(page.get_by_text("…")).to_be_visible()`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from functools import wraps
from typing import Any

from playwright import async_api
from playwright.async_api import async_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# A machine that runs a whole suite can be slow.
WAITING_MS = 15_000
PHONE = {"width": 375, "height": 800}
DESK = {"width": 1600, "height": 1000}


def expect(what: Abroad) -> Any:
    """Playwright's `expect`: waits until something holds, and fails where it does not."""
    return Abroad(async_api.expect(what._it), what._home)


class Home:
    """The thread and the loop on which the browser lives."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="browser")
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Do something there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Abroad:
    """Something that lives with the browser."""

    def __init__(self, it: Any, home: Home) -> None:
        self._it = it
        self._home = home

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._it, name)
        return _asked_there(value, self._home) if callable(value) else _brought(value, self._home)


def _asked_there(ask: Callable[..., Any], home: Home) -> Callable[..., Any]:
    @wraps(ask)
    def from_here(*args: Any, **kwargs: Any) -> Any:
        there = [each._it if isinstance(each, Abroad) else each for each in args]
        if inspect.iscoroutinefunction(ask):
            return _awaited(home.start(ask(*there, **kwargs)), home)

        async def at_home() -> Any:
            return ask(*there, **kwargs)

        return _brought(home.start(at_home()).result(), home)

    return from_here


async def _awaited(future: Future[Any], home: Home) -> Any:
    return _brought(await asyncio.wrap_future(future), home)


def _brought(value: Any, home: Home) -> Any:
    if isinstance(value, list):
        return [_brought(each, home) for each in value]
    return Abroad(value, home) if type(value).__module__.startswith("playwright.") else value


class Browser:
    """Chromium without a window. `with Browser() as browser`."""

    def __enter__(self) -> Browser:
        self._home = Home()
        try:
            self._playwright, self._browser = self._home.start(self._launch()).result()
        except BaseException:
            self._home.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._home.start(self._end()).result()
        self._home.close()

    def new_context(self, **options: Any) -> Awaitable[Any]:
        """A browser without a past: `async with` is not needed, `close()` is."""

        async def make() -> Any:
            context = await self._browser.new_context(**options)
            context.set_default_timeout(WAITING_MS)
            return context

        return _awaited(self._home.start(make()), self._home)

    async def _launch(self) -> tuple[Any, Any]:
        async_api.expect.set_options(timeout=WAITING_MS)
        playwright = await async_playwright().start()
        # Root has no namespace to be confined in.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            return playwright, await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        except BaseException:
            await playwright.stop()
            raise

    async def _end(self) -> None:
        await self._browser.close()
        await self._playwright.stop()


class Complaints:
    """What a page said that it should not have: errors of scripts, what the policy refused, dialogs."""

    def __init__(self, page: Any) -> None:
        self.told: list[str] = []
        page.on("pageerror", lambda error: self.told.append(f"script: {error}"))
        page.on("console", self._console)
        page.on("dialog", self._dialog)

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.told.append(f"console: {message.text}")

    async def _dialog(self, dialog: Any) -> None:
        self.told.append(f"dialog: {dialog.message}")
        await dialog.dismiss()


def missing() -> str | None:
    """Why there is no browser to test with, if so."""
    return None if os.access(CHROMIUM, os.X_OK) else f"{CHROMIUM} is not there: install chromium, or set CHROMIUM"
