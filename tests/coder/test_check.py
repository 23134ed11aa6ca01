"""A check from what a person names to a verdict: what is told on the way, and what is never read from the change."""

from __future__ import annotations

import json

import pytest

from trueup.coder import CheckRequest, Outcome, Step, check_change
from trueup.contract import CheckStarted
from trueup.core.errors import InputError
from trueup.core.trust import trust
from trueup.testing import EventLog

SUITE = "python3 -m unittest discover -s tests -t . -q"
MEND = "sed -i \"s/'_')/'-')/\" slug.py"


def contract(*commands: str, **more) -> str:
    checks = [{"name": f"check_{number}", "command": command} for number, command in enumerate(commands)]
    return json.dumps({"contract": {"description": "slug joins by dashes", "checks": checks, **more}})


async def test_what_is_done_is_told_in_order_with_the_estimate_first(project):
    await project.commit({"trueup.yaml": contract(SUITE)})
    await project.bash(MEND)
    log = EventLog()
    verdict = await check_change(CheckRequest(folder=project.root), log)
    assert verdict.outcome is Outcome.VERIFIED
    steps = [
        event.text if isinstance(event, Step) else event.name
        for event in log.events
        if isinstance(event, Step | CheckStarted)
    ]
    assert [step.partition(":")[0] for step in steps[1:6]] == [
        "baseline",
        "check_0",
        "check_0",
        "the change, in a pristine checkout, judged by the base's tests and configuration",
        "check_0",
    ]
    assert steps[1] == "baseline: at most 2 runs of 1 check on the base"


async def test_a_broken_check_is_told_before_anything_runs_on_the_change(project):
    await project.commit({"trueup.yaml": contract("eslint .", SUITE)})
    await project.bash(MEND)
    log = EventLog()
    verdict = await check_change(CheckRequest(folder=project.root), log)
    assert verdict.outcome is Outcome.UNPROVEN
    assert not [event for event in log.events if isinstance(event, Step) and "pristine" in event.text]


async def test_checks_side_by_side_come_to_the_same_verdict(project):
    await project.bash(MEND)
    checks = [
        {
            "command": f'sleep 0.2; python3 -c \'import slug; assert slug.slug("{word} b") == "{word}-b"\'',
            "parallel": True,
        }
        for word in "xyz"
    ]
    verdict = await project.check(*checks, jobs=3)
    assert verdict.outcome is Outcome.VERIFIED
    assert [check.name for check in verdict.checks] == ["check_0", "check_1", "check_2"]


async def test_a_named_base_is_what_the_change_is_compared_with(project):
    first = await project.bash("git rev-parse HEAD")
    await project.bash(f"{MEND} && git commit -qam mended")
    assert (await project.check(SUITE)).outcome is Outcome.UNPROVEN
    assert (await project.check(SUITE, base=first)).outcome is Outcome.VERIFIED
    with pytest.raises(InputError, match="'nothing' names no commit"):
        await project.check(SUITE, base="nothing")


async def test_a_contract_that_the_change_brings_along_is_not_there_yet(project):
    (project.root / "trueup.yaml").write_text(contract(SUITE))
    with pytest.raises(InputError, match="has no trueup.yaml"):
        await check_change(CheckRequest(folder=project.root), EventLog())


async def test_a_link_into_the_repository_is_no_way_around_the_base(project):
    (project.root / "mine.json").write_text(contract("true"))
    (project.outside / "link.json").symlink_to(project.root / "mine.json")
    with pytest.raises(InputError, match="inside the repository but not in the base"):
        await check_change(CheckRequest(folder=project.root, contract_file=project.outside / "link.json"), EventLog())


async def test_a_contract_of_the_repository_that_widens_says_how_to_agree(project):
    text = contract(SUITE, setup=["true"])
    await project.commit({"trueup.yaml": text, "other.json": text + "\n"})
    with pytest.raises(InputError, match="agree once with `trueup trust`"):
        await check_change(CheckRequest(folder=project.root), EventLog())
    with pytest.raises(InputError, match="name a copy of it outside of the repository"):
        await check_change(CheckRequest(folder=project.root, contract_file=project.root / "other.json"), EventLog())
    await project.bash(MEND)
    trust(text.encode(), "trueup.yaml")
    assert (await check_change(CheckRequest(folder=project.root), EventLog())).outcome is Outcome.VERIFIED
