"""Pictures of the pages for the documents: `make pictures`. One function fills a store for each page and names it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import page_reports
import page_sessions
from playwright.async_api import Browser, async_playwright

from trueup.core.usage import Usage
from trueup.daemon import Daemon, listen
from trueup.runs import CheckRecord, Ended, EventRecord, ModelTurn, RunStore, Started, Turn
from trueup.web import pages

FOLDER = Path(__file__).parent / "pages"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
SIZES = {375: 812, 1600: 1000}

Scene = Callable[[Daemon], Awaitable[str]]


async def runs(daemon: Daemon) -> str:
    """A few runs, one of which goes on."""
    for agent, intent in (("codex", "Speed up the importer"), ("claude-code", "Add a --json flag to `list`")):
        await _run(daemon.store, intent, agent, "completed")
    await _run(daemon.store, "Find out why the nightly build is red, and say so in the issue", "opencode", "incomplete")
    await _run(daemon.store, "Make add() correct", "claude-code", None)
    return "/runs"


async def run(daemon: Daemon) -> str:
    """A run with a refusal, a failed verdict, and what it cost."""
    return f"/runs/{await _run(daemon.store, 'Make add() correct', 'claude-code', None)}"


# One function a page, by the name of its picture.
SCENES: dict[str, Scene] = {
    "runs": runs,
    "run": run,
    "sessions": page_sessions.sessions,
    "session": page_sessions.session,
    "session-approval": page_sessions.session_approval,
    "reports": page_reports.reports,
    "report": page_reports.report,
    "report-cell": page_reports.report_cell,
    "report-comparison": page_reports.report_comparison,
}


async def _run(store: RunStore, intent: str, agent: str, status: Any) -> str:
    info = await store.start(
        Started(intent, agent_id=agent, agent_name=agent, outcome_description="the suite is green")
    )
    output = {
        "exit_code": 1,
        "stdout": "F....\ntests/test_calc.py::test_add: assert 1 == 5\n1 failed, 4 passed in 0.12s\n",
    }
    await store.append(
        info.run_id,
        [
            _answer("I look at the failing test first.", ["bash"], 1200, 80, 0.0042),
            Turn(
                tool="bash",
                parameters={"command": "pytest -q"},
                output=output,
                cli_outcome={"code": 1},
                duration_ms=840,
            ),
            _answer("The test expects 5, so I could change it.", ["edit"], 1900, 120, 0.0067),
            Turn(
                tool="edit",
                parameters={"path": "tests/test_calc.py", "old": "== 5", "new": "== -1"},
                policy_rejected={"rule": "tests-are-protected", "param": "path"},
            ),
            _answer("That is refused. The mistake is in add() itself.", ["edit"], 2300, 150, 0.0081),
            Turn(
                tool="edit",
                parameters={"path": "calc.py", "old": "a - b", "new": "a + b"},
                output="1 replacement in calc.py",
                verifier_verdict="fail",
                duration_ms=31,
            ),
            CheckRecord({"name": "suite", "passed": False, "reason": "exit 1: 1 failed, 4 passed"}),
            EventRecord("message", {"text": "One test is left: the one about negative numbers."}),
            Turn(
                tool="edit",
                parameters={"path": "calc.py", "old": "abs(b)", "new": "b"},
                output="1 replacement in calc.py",
                verifier_verdict="pass",
                duration_ms=28,
            ),
            CheckRecord({"name": "suite", "passed": True}),
        ],
    )
    if status is not None:
        await store.end(info.run_id, Ended(status, "the suite is green" if status == "completed" else "gave up"))
    return info.run_id


def _answer(text: str, tools: list[str], tokens_in: int, tokens_out: int, dollars: float) -> ModelTurn:
    used = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cost_usd=dollars)
    calls = [{"name": name} for name in tools]
    return ModelTurn(
        assistant_text=text, requested_tool_calls=calls, model_id="scripted", token_usage=used, duration_ms=2100
    )


@asynccontextmanager
async def _daemon(folder: Path) -> AsyncIterator[Daemon]:
    async with await RunStore.open(f"sqlite:///{folder}/runs.db") as store, Daemon(store) as daemon:
        yield daemon


async def _take(browser: Browser, name: str, scene: Scene, folder: Path, scheme: Any) -> None:
    with tempfile.TemporaryDirectory(prefix="trueup-pictures-") as scratch:
        # No report of whoever takes the pictures is on them.
        os.environ["XDG_DATA_HOME"] = scratch
        async with _daemon(Path(scratch)) as daemon, listen(daemon, 0, pages) as front:
            path = await scene(daemon)
            for width, height in SIZES.items():
                context = await browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                    base_url=f"http://127.0.0.1:{front.port}",
                )
                page = await context.new_page()
                await page.goto(path)
                await page.wait_for_timeout(300)
                await page.screenshot(path=folder / f"{name}-{width}.png")
                await context.close()


async def take_all(folder: Path = FOLDER, scheme: str = "light", names: tuple[str, ...] = ()) -> None:
    """Take the pictures of these pages, or of all, at every width."""
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        for name in names or SCENES:
            await _take(browser, name, SCENES[name], folder, scheme)
        await browser.close()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    asyncio.run(take_all())
