"""Baselines are remembered, and only where that is safe."""

from __future__ import annotations

import os

from trueup.coder import CheckRequest, Outcome, Step, check_change
from trueup.contract import CheckStarted
from trueup.testing import EventLog

SUITE = "python3 -m unittest discover -s tests -t . -q"
MEND = "sed -i \"s/'_')/'-')/\" slug.py"


async def steps(project, contract: str, **request) -> tuple[list[str], int]:
    """What was said, and how many checks were run."""
    file = project.outside / "contract.yaml"
    file.write_text(f"description: d\nchecks:\n- name: suite\n  command: {contract!r}\n")
    log = EventLog()
    await check_change(CheckRequest(folder=project.root, contract_file=file, **request), log)
    said = [event.text for event in log.events if isinstance(event, Step)]
    return said, sum(isinstance(event, CheckStarted) for event in log.events)


def remembered(said: list[str]) -> bool:
    return "baseline: remembered from an earlier run" in said


async def test_the_second_check_of_the_same_base_does_not_run_the_baseline_again(project):
    await project.bash(MEND)
    first, runs = await steps(project, SUITE)
    second, fewer_runs = await steps(project, SUITE)
    assert (remembered(first), remembered(second)) == (False, True)
    assert fewer_runs == runs - 2


async def test_another_contract_base_or_toolchain_is_another_baseline(project, monkeypatch, tmp_path):
    await steps(project, SUITE)
    assert not remembered((await steps(project, SUITE + " "))[0])
    shim = tmp_path / "bin"
    shim.mkdir()
    (shim / "make").write_text("#!/bin/sh\n")
    (shim / "make").chmod(0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH'].split(':')[0]}:{shim}:{os.environ['PATH']}")
    assert not remembered((await steps(project, SUITE))[0])
    await project.commit({"new.txt": "x"})
    assert not remembered((await steps(project, SUITE))[0])


async def test_fresh_means_fresh(project):
    await steps(project, SUITE)
    assert not remembered((await steps(project, SUITE, fresh=True))[0])


async def test_what_is_broken_is_not_remembered_since_it_may_be_mended(project):
    said, _ = await steps(project, "mocha tests")
    again, _ = await steps(project, "mocha tests")
    assert not remembered(said)
    assert not remembered(again)


async def test_a_damaged_memory_is_no_memory(project, tmp_path):
    await steps(project, SUITE)
    (file,) = (tmp_path / "cache").glob("trueup/repositories/*/baselines/*.json")
    file.write_text("{")
    assert not remembered((await steps(project, SUITE))[0])


async def test_a_verdict_from_a_remembered_baseline_rests_on_the_same(project):
    await project.bash(MEND)
    first, second = await project.check(SUITE), await project.check(SUITE)
    assert (first.outcome, second.outcome) == (Outcome.VERIFIED, Outcome.VERIFIED)
    assert [check.baseline for check in first.checks] == [check.baseline for check in second.checks]
