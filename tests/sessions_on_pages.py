"""Sessions for pages: written down as if somebody had worked on them, in any state, or really worked on."""

from __future__ import annotations

import asyncio
import shlex
from typing import Any

import msgspec
import pytest

from daemon_clients import over_a_socket
from page_visitors import TOKENS
from small_project import MEND, SUITE, project
from trueup.coder import CheckVerdict, CodeRequest, Finding, Outcome, Severity, State, Verdict, events
from trueup.contract import Baseline, Check, CheckClass, CheckResult, ClassedCheck, Contract
from trueup.core.protocols import Event
from trueup.core.usage import Usage
from trueup.daemon import Daemon
from trueup.runs import RunStore, Started, as_record

__all__ = ["SCRIPT", "Recorded", "begun", "cheat", "daemon", "project", "recorded", "result", "verdict", "waits"]

SCRIPT = "<script>alert(1)</script>"
BASE, TREE = "b" * 40, "7" * 40
WAYS: dict[State, list[State]] = {
    State.CREATED: [],
    State.CONTRACT_PROPOSED: [State.CONTRACT_PROPOSED],
    State.RUNNING: [State.CONTRACT_PROPOSED, State.CONTRACT_CONFIRMED, State.RUNNING],
    State.NEEDS_APPROVAL: [State.CONTRACT_PROPOSED, State.CONTRACT_CONFIRMED, State.RUNNING, State.NEEDS_APPROVAL],
    State.MERGED: [State.CONTRACT_PROPOSED, State.MERGED],
    State.FAILED: [State.FAILED],
    State.ABANDONED: [State.ABANDONED],
}


def result(*, passed: bool, output: str = "2 tests") -> CheckResult:
    return CheckResult(
        name="suite",
        passed=passed,
        exit_code=0 if passed else 1,
        output_tail=output,
        duration_ms=80,
        reason="" if passed else "exit 1",
    )


def verdict(outcome: Outcome, **more: Any) -> Verdict:
    passed = outcome is Outcome.VERIFIED
    check = CheckVerdict(
        name="suite", check_class=CheckClass.GOAL, baseline=result(passed=False), result=result(passed=passed)
    )
    about = {"base": BASE, "tree": TREE, "contract_digest": "", "dependencies": None, "sandbox": "bubblewrap"}
    reasons = [] if passed else ["suite is red"]
    return Verdict(outcome=outcome, reasons=reasons, checks=[check], **about, **more)


def cheat() -> Finding:
    said = "the change edits a file that decides the verdict"
    return Finding(severity=Severity.GATE, kind="protected_changed", message=said, path="tests/test_slug.py", line=9)


class Recorded:
    """Writes sessions into a store."""

    def __init__(self, store: RunStore) -> None:
        self.store = store

    async def session(self, state: State, *, folder: str = "/nowhere", check: str = "suite", **asked: Any) -> str:
        """A session that came to a state in the usual way; its id."""
        request = CodeRequest(**{"intent": "slugs join by dashes", "engine": "command:agent", **asked}, folder=folder)
        started = Started(
            intent=request.intent,
            agent_id="session",
            agent_name=request.engine,
            data={"request": msgspec.to_builtins(request), "base": BASE},
        )
        session_id = (await self.store.start(started, kind="session")).run_id
        await self.tell(session_id, events.SessionCreated(repository=folder, base=BASE, engine=request.engine))
        contract = Contract(description="slugs", checks=[Check(name=check, command="make test")])
        classed = ClassedCheck(name=check, check_class=CheckClass.GOAL, reason="red", results=[result(passed=False)])
        previous = State.CREATED
        for each in WAYS[state]:
            await self.tell(session_id, events.StateChanged(state=each, previous=previous))
            if each is State.CONTRACT_PROPOSED:
                proposed = events.ContractProposed(contract=contract, digest=contract.digest, source="given", notes=[])
                await self.tell(
                    session_id, proposed, events.ContractBaseline(baseline=Baseline([classed]), problems=[])
                )
            previous = each
        return session_id

    async def iteration(self, session_id: str, number: int, found: Verdict, *, output: str = "done") -> None:
        """The engine had a go."""
        usage = Usage(input_tokens=900, output_tokens=80, cost_usd=0.25)
        await self.tell(
            session_id,
            events.IterationStarted(number=number, prompt="do it", workspace="/w"),
            events.EngineEnded(number=number, exit_code=0, duration_secs=2, output_tail=output, usage=usage, turns=1),
            events.DiffReady(number=number, tree=TREE, files=2, insertions=3, deletions=1, ignored=[], ignored_total=0),
            events.BudgetSpent(
                usage=Usage.total([usage] * number), turns=number, engine_secs=2, iterations=number, unmetered=[]
            ),
            events.VerdictReached(found),
        )

    async def tell(self, session_id: str, *told: Event) -> None:
        """Let something have happened."""
        await self.store.append(session_id, [as_record(each) for each in told])


@pytest.fixture
async def daemon(store, tmp_path):
    url = f"sqlite:///{tmp_path}/runs.db"
    async with Daemon(store, tokens=TOKENS, grace_secs=0.1, database_url=url) as daemon:
        yield daemon


@pytest.fixture
def recorded(store, tmp_path, monkeypatch) -> Recorded:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Recorded(store)


async def begun(front, project) -> str:
    """A session that waits for its contract, whose engine mends the bug and leaves what no page may run."""
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    agent = project.outside / "agent.sh"
    agent.write_text(
        f"{MEND}\necho '{SCRIPT}'\necho '<script>alert(3)</script>' >> '<img src=x onerror=alert(2)>.py'\n"
    )
    async with over_a_socket(front.url) as client:
        await client.call("session.auth", {"token": "program-token"})
        await client.call("server.handshake", {"protocol_version": 3})
        wanted = {
            "repo": str(project.root),
            "intent": f"slugs join by dashes {SCRIPT}",
            "engine": f"command:bash {shlex.quote(str(agent))}",
            "contract": {"description": "slugs", "checks": [{"name": "suite", "command": SUITE}]},
        }
        return (await client.call("coder.start", wanted))["session_id"]


async def waits(daemon: Daemon, session_id: str, iterations: int) -> None:
    """Wait until a session waits for approval after so many goes."""
    async with asyncio.timeout(30):
        while True:
            story = await daemon.coding.sessions.story(session_id)
            if len(story.attempts) == iterations and story.waits_because:
                return
            await asyncio.sleep(0.1)
