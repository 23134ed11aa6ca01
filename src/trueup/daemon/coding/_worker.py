"""The process that works on one session: `python -m trueup.daemon.coding._worker`, with a `Job` on stdin."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import deque

import msgspec

from trueup.coder import (
    Accept,
    Answer,
    Approve,
    Discard,
    Edit,
    Leave,
    Proposal,
    Revise,
    SendBack,
    Sessions,
    State,
    Story,
    Told,
    Verdict,
    events,
)
from trueup.core.errors import Kind, TrueupError
from trueup.core.text import written
from trueup.runs import RunStore

from ._job import GaveUp, GoOn, Job, Reached, Report, Respond, Start


class Distant:
    """A `Person` at the other end of a wire, who has said this much so far."""

    def __init__(self, answers: list[Answer]) -> None:
        self._answers = deque(answers)

    async def confirm(self, proposal: Proposal) -> Accept | Edit | Revise | Discard | Leave:
        answer = self._answers.popleft() if self._answers else None
        if isinstance(answer, Edit | Revise):
            return answer
        if proposal.problems:
            return Leave("the contract cannot be used: " + "; ".join(proposal.problems))
        return answer if isinstance(answer, Accept) else Leave("the contract waits for somebody to agree to it")

    async def approve(self, story: Story, verdict: Verdict) -> Approve | SendBack | Discard | Leave:
        answer = self._answers.popleft() if self._answers else None
        return answer if isinstance(answer, Approve | SendBack) else Leave("verified, and waits for approval")


class Teller:
    """A `Listener` that tells the daemon what it cannot wait to read: that there is a session, and its state."""

    async def hear(self, told: Told) -> None:
        match told.event:
            case events.SessionCreated():
                await tell_that(Reached(told.session_id, State.CREATED))
            case events.StateChanged(state=state):
                await tell_that(Reached(told.session_id, state))


async def tell_that(report: Report) -> None:
    """Tell the daemon something. It can be gone, and the session goes on to where it is safe."""
    line = msgspec.json.encode(report) + b"\n"

    def write() -> None:
        try:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        except OSError:
            pass

    await asyncio.to_thread(write)


async def work(job: Job) -> None:
    """Take a session as far as it goes."""
    async with await RunStore.open() as store:
        sessions, listener = Sessions(store), Teller()
        match job:
            case Start(request=request):
                await sessions.start(request, Distant([]), listener)
            case GoOn(session_id=session_id, answers=answers):
                await sessions.resume(session_id, Distant(answers), listener)
            case Respond(session_id=session_id, words=words):
                await sessions.respond(session_id, words, Distant([]), listener)


async def main() -> int:
    task = asyncio.current_task()
    if task is not None:
        # Cancelled, a session is left so that another process can go on with it.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    job = msgspec.json.decode(await asyncio.to_thread(sys.stdin.buffer.read), type=Job)
    try:
        await work(job)
    except TrueupError as error:
        await tell_that(GaveUp(written(str(error)), error.kind.value))
        return 1
    except asyncio.CancelledError:
        return 1
    # The end of this process, of which only the daemon is left to tell.
    except Exception as error:
        said = f"{type(error).__name__}: {error} (this is a mistake in trueup, please report it)"
        await tell_that(GaveUp(written(said), Kind.OTHER.value))
        raise
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
