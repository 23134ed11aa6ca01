"""Evaluating a contract: real commands in a real folder."""

from __future__ import annotations

import time

import pytest

from trueup.contract import Check, CheckCompleted, CheckStarted, Contract, TestCounts, evaluate
from trueup.core.protocols import Action, Decision
from trueup.testing import EventLog
from trueup.workspace import FolderShell


class NoDeleting:
    """A gate that refuses every `rm`."""

    async def decide(self, action: Action) -> Decision:
        refused = "rm " in action.params["command"]
        return Decision(not refused, rule="no_rm", reason="deleting is not allowed here" if refused else "")


@pytest.fixture
def results(tmp_path):
    async def evaluated(*checks: Check, log: EventLog | None = None, gate=None, jobs: int = 1):
        contract = Contract(description="d", checks=list(checks))
        return await evaluate(contract, FolderShell(tmp_path, gate), log or EventLog(), jobs=jobs)

    return evaluated


async def test_all_checks_run_in_order_even_after_a_failure(results, tmp_path):
    (tmp_path / "present.txt").write_text("hello needle")
    exists, content, missing, last = await results(
        Check(name="exists", command="test -f present.txt"),
        Check(name="content", command="cat present.txt", output_contains="needle"),
        Check(name="missing", command="test -f absent.txt"),
        Check(name="last", command="true"),
    )
    assert exists.passed
    assert content.passed
    assert (missing.passed, missing.exit_code, missing.reason) == (False, 1, "exit 1")
    assert last.passed


async def test_a_check_sees_what_the_earlier_ones_left(results):
    build, use = await results(
        Check(name="build", command="echo 42 > built"), Check(name="use", command="grep 42 built")
    )
    assert build.passed
    assert use.passed


async def test_a_missing_text_fails_a_check_that_exits_zero(results):
    (result,) = await results(Check(name="a", command="echo haystack", output_contains="needle"))
    assert (result.passed, result.exit_code, result.reason) == (False, 0, "output lacks 'needle'")


async def test_every_complaint_is_in_the_reason(results):
    (result,) = await results(Check(name="a", command="exit 2", output_contains="needle"))
    assert result.reason == "exit 2; output lacks 'needle'"


async def test_a_text_counts_wherever_it_stands_in_the_output(results):
    line = "echo needle; head -c 3000000 /dev/zero | tr '\\0' x; echo end"
    (result,) = await results(Check(name="a", command=line, output_contains="needle"))
    assert result.passed
    assert "needle" not in result.output_tail


async def test_a_text_on_stderr_counts(results):
    (result,) = await results(Check(name="a", command="echo needle >&2", output_contains="needle"))
    assert result.passed


async def test_the_tail_is_the_last_four_kibibytes_of_both_streams(results):
    (result,) = await results(Check(name="a", command="seq 1 5000; echo last words >&2"))
    assert result.output_tail.endswith("4999\n5000\nlast words\n")
    assert len(result.output_tail.encode()) == 4096


async def test_an_exit_code_may_be_of_no_interest(results):
    (result,) = await results(
        Check(name="a", command="echo usage; exit 64", expect_exit_zero=False, output_contains="usage")
    )
    assert (result.passed, result.exit_code, result.reason) == (True, 64, "")


async def test_a_time_out_fails_whatever_else_holds(results):
    check = Check(name="a", command="echo ok; sleep 60", expect_exit_zero=False, output_contains="ok", timeout_secs=1)
    (result,) = await results(check)
    assert (result.passed, result.timed_out, result.exit_code) == (False, True, None)
    assert result.reason == "timed out after 1 s"
    assert result.output_tail == "ok\n"


async def test_a_command_killed_by_a_signal_says_so(results):
    (result,) = await results(Check(name="a", command="kill -SEGV $$"))
    assert (result.exit_code, result.reason) == (None, "killed by SIGSEGV")


async def test_a_signal_without_a_name_is_told_by_its_number(results):
    (result,) = await results(Check(name="a", command="kill -40 $$"))
    assert (result.exit_code, result.reason) == (None, "killed by signal 40")


async def test_a_time_beyond_all_measure_is_a_result_too(results):
    (result,) = await results(Check(name="a", command="true", timeout_secs=10**400))
    assert result.passed


async def test_a_command_that_cannot_run_has_no_exit_code(results):
    (result,) = await results(Check(name="a", command="true", cwd="nowhere"))
    assert result.exit_code is None
    assert result.output_tail.startswith("check failed to run: could not start 'true' in folder")
    assert result.reason.startswith("could not run: ")


async def test_a_refused_command_is_a_result_and_did_not_run(results, tmp_path):
    (tmp_path / "precious").touch()
    (result,) = await results(Check(name="a", command="rm precious"), gate=NoDeleting())
    assert result.reason == "refused by policy: deleting is not allowed here"
    assert result.exit_code is None
    assert (tmp_path / "precious").exists()


async def test_a_failing_stage_of_a_pipe_fails_the_check(results):
    (result,) = await results(Check(name="a", command="false | cat"))
    assert not result.passed


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ("seq 1 100000 | grep -q 5", 0),
        ("seq 1 100000 | cat | head -1 | grep -q 1", 0),
        ("seq 1 100000 | grep -q nothing", 1),
        ("exit 3 | seq 1 100000 | head -1", 3),
        ("seq 1 100000 | head -1 | sh -c 'kill -PIPE $$'", 141),
        ("false | cat", 1),
        ('echo "a | b" | grep -q b', 0),
        ("seq 1 100000 | grep -q 5 && exit 4", 141),
    ],
)
async def test_a_stage_that_was_cut_off_by_a_later_one_is_no_failure(results, command, exit_code):
    (result,) = await results(Check(name="a", command=command))
    assert result.exit_code == exit_code


async def test_a_check_has_its_own_folder_and_variables(results, tmp_path):
    (tmp_path / "sub").mkdir()
    (result,) = await results(Check(name="a", command='echo "$PWD $COLOUR"', cwd="sub", env={"COLOUR": "teal"}))
    assert result.output_tail == f"{tmp_path}/sub teal\n"


async def test_test_counts_are_read_where_the_runner_is_known(results, tmp_path):
    (tmp_path / "test_a.py").write_text("import unittest\nclass T(unittest.TestCase):\n  def test_x(self): pass\n")
    (result,) = await results(Check(name="a", command="python3 -m unittest test_a"))
    assert result.counts == TestCounts(passed=1, runners=("unittest",))


async def test_events_tell_the_start_and_carry_the_whole_result(results):
    log = EventLog()
    (result,) = await results(Check(name="a", command="echo x"), log=log)
    assert log.events == [CheckStarted("a"), CheckCompleted(result)]


async def test_parallel_checks_run_side_by_side_and_report_in_order(results):
    checks = [Check(name=str(n), command=f"sleep {1 - n / 10}", parallel=True) for n in range(6)]
    started = time.monotonic()
    found = await results(*checks, jobs=6)
    assert [result.name for result in found] == ["0", "1", "2", "3", "4", "5"]
    assert time.monotonic() - started < sum(1 - n / 10 for n in range(6))


async def test_without_jobs_even_independent_checks_never_overlap(tmp_path):
    line = "mkdir busy && sleep 0.1 && rmdir busy"
    contract = Contract(description="d", checks=[Check(name=str(n), command=line, parallel=True) for n in range(3)])
    found = await evaluate(contract, FolderShell(tmp_path), EventLog())
    assert all(result.passed for result in found)


async def test_checks_that_do_not_say_they_are_independent_never_overlap(results):
    line = "mkdir busy && sleep 0.1 && rmdir busy"
    found = await results(*(Check(name=str(n), command=line) for n in range(4)), jobs=4)
    assert all(result.passed for result in found)


async def test_binary_output_is_no_problem(results):
    (result,) = await results(Check(name="a", command="head -c 10000 /dev/urandom"))
    assert result.passed
