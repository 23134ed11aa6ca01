"""What an engine is told, and what never."""

from __future__ import annotations

from trueup.coder import Attempt, CheckVerdict, Finding, Outcome, Severity, Verdict
from trueup.coder._session._progress import failure_signature, why_stop
from trueup.coder._session._prompts import repair_prompt, work_prompt
from trueup.contract import Check, CheckClass, CheckResult, Contract

CONTRACT = Contract(
    description="It works.",
    checks=[Check(name="suite", command="make test"), Check(name="held_out", command="./hidden.sh", hidden=True)],
    editable=["CHANGELOG.md"],
)


def red(name: str, tail: str = "assert 1 == 2", reason: str = "exit 1") -> CheckVerdict:
    result = CheckResult(name=name, passed=False, exit_code=1, output_tail=tail, duration_ms=5, reason=reason)
    return CheckVerdict(name=name, check_class=CheckClass.GOAL, baseline=result, result=result)


def verdict(*checks: CheckVerdict, findings: tuple[Finding, ...] = (), tree: str = "t") -> Verdict:
    return Verdict(
        outcome=Outcome.REFUSED,
        reasons=[f"goal {check.name!r} is still red" for check in checks],
        base="b",
        tree=tree,
        contract_digest="d",
        dependencies=None,
        sandbox="none",
        checks=list(checks),
        findings=list(findings),
    )


def test_the_first_prompt_has_the_intent_the_visible_checks_and_the_rules():
    prompt = work_prompt("Add a flag", CONTRACT)
    assert "Add a flag" in prompt
    assert "make test" in prompt
    assert "CHANGELOG.md" in prompt
    assert "Rules:" in prompt


def test_a_hidden_check_appears_nowhere():
    failed = verdict(red("held_out", "SECRET OUTPUT"), red("suite"), findings=(gate("held_out"),))
    said = work_prompt("Add a flag", CONTRACT) + repair_prompt("Add a flag", CONTRACT, failed, [attempt(1, failed)] * 2)
    assert "not shown" in said
    for word in ("held_out", "hidden.sh", "SECRET"):
        assert word not in said


def test_a_repair_prompt_holds_only_what_failed():
    prompt = repair_prompt("Add a flag", CONTRACT, verdict(red("suite", "E   assert 1 == 2")), [])
    assert "E   assert 1 == 2" in prompt
    assert "make test" in prompt
    assert "exit 1" in prompt
    assert "Rules:" not in prompt


def test_a_repair_prompt_names_what_was_found_at_the_gate():
    prompt = repair_prompt("Add a flag", CONTRACT, verdict(findings=(gate(None),)), [])
    assert "conftest.py was rewritten" in prompt


def test_words_of_the_person_are_passed_on():
    assert "mind the tests" in repair_prompt("Add a flag", CONTRACT, None, [], ["mind the tests"])


def gate(check: str | None) -> Finding:
    return Finding(severity=Severity.GATE, kind="rewritten", message="conftest.py was rewritten", check=check)


def attempt(number: int, found: Verdict | None, tree: str = "t") -> Attempt:
    return Attempt(number=number, tree=tree, verdict=found)


def test_what_differs_from_run_to_run_is_no_progress():
    one = verdict(red("suite", "failed in 0.31s at 0x7f00aa"))
    other = verdict(red("suite", "failed in 2.5s at 0x7f11bb"))
    assert failure_signature(one) == failure_signature(other)


def test_another_failure_is_progress():
    tried = [attempt(n, verdict(red("suite", f"no such name {'abc'[n]}")), tree=str(n)) for n in range(3)]
    assert why_stop(tried) is None


def test_the_same_failure_three_times_is_none():
    tried = [attempt(n, verdict(red("suite")), tree=str(n)) for n in range(3)]
    assert "same way" in why_stop(tried)
    assert why_stop(tried[:2]) is None


def test_the_same_files_again_are_none():
    tried = [
        attempt(1, verdict(red("suite")), "one"),
        attempt(2, verdict(red("other")), "two"),
        attempt(3, None, "one"),
    ]
    assert "iteration 1" in why_stop(tried)
