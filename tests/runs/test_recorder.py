"""Events become records of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueup.contract import Check, CheckCompleted, CheckStarted
from trueup.core.errors import InfrastructureError
from trueup.core.protocols import Event
from trueup.runs import CheckRecord, Ended, EventRecord, RunRecorder, Started


class DiffReady(Event, frozen=True):
    path: Path
    lines: int


async def test_a_check_becomes_a_check_and_the_rest_events_of_their_kind(store):
    run = await store.start(Started("x"))
    recorder = RunRecorder(store, run.run_id)
    result = Check(name="suite", command="make test").could_not_run("no make", "could not run: no make", 3)
    await recorder.record(CheckStarted("suite"))
    await recorder.record(CheckCompleted(result))
    await recorder.record(DiffReady(Path("/repo"), 12))
    _, started, check, diff = [each.record for each in await store.trace(run.run_id)]
    assert started == EventRecord("check_started", {"name": "suite"})
    assert isinstance(check, CheckRecord)
    assert (check.result["name"], check.result["passed"]) == ("suite", False)
    assert diff == EventRecord("diff_ready", {"path": "/repo", "lines": 12})


async def test_an_event_that_cannot_be_kept_is_an_error(store):
    run = await store.start(Started("x"))
    await store.end(run.run_id, Ended("completed"))
    with pytest.raises(InfrastructureError, match="has ended: a CheckStarted was not recorded"):
        await RunRecorder(store, run.run_id).record(CheckStarted("suite"))
    with pytest.raises(InfrastructureError, match="does not exist"):
        await RunRecorder(store, "nowhere").record(CheckStarted("suite"))
