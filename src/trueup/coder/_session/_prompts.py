"""What an engine is told. Hidden checks, their output included, never appear in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from trueup.contract import CheckClass, CheckResult, Contract

from .._verdict import CheckVerdict, Severity, Verdict
from ._story import Attempt

TAIL_CHARACTERS = 2000
ATTEMPTS_NAMED = 5

_RULES = """\
Rules:
- Work in this checkout. When you are done, stop; what is in the files then is your work. There is no need to commit.
- The checks are run again by somebody else, in a fresh checkout, with the tests and the configuration of the base.
  Changes to existing tests, test configuration, build scripts and lock files are undone for that, and shown to the
  person who asked. New tests are welcome, and run in addition.
- Do not make checks pass by other means than doing the task: skipped or weakened tests, patched runners, special
  cases for tests, and files that only exist here are looked for, and the work is refused.
- Files that git ignores are not part of your work."""

_OUTRO = "Make the checks pass by doing the task. The rules are as before."


def work_prompt(intent: str, contract: Contract, words: Iterable[str] = ()) -> str:
    """The first prompt: the task, what will be checked, and the rules."""
    parts = [f"The task:\n{intent.strip()}", *_said(words), _visible_checks(contract), _editable(contract), _RULES]
    return "\n\n".join(part for part in parts if part) + "\n"


def repair_prompt(
    intent: str, contract: Contract, verdict: Verdict | None, tried: list[Attempt], words: Iterable[str] = ()
) -> str:
    """A later prompt: what is still wrong, why, and what was tried already."""
    hidden = {check.name for check in contract.checks if check.hidden}
    parts = [
        f"The task is not done yet:\n{intent.strip()}",
        *_said(words),
        *(_problems(verdict, contract) if verdict is not None else []),
        _what_was_tried(tried, hidden),
        _OUTRO,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _visible_checks(contract: Contract) -> str:
    visible = [check for check in contract.checks if not check.hidden]
    shown = msgspec.structs.replace(contract, checks=visible).render().strip()
    more = "\nThere are further checks that are not shown." if len(visible) < len(contract.checks) else ""
    return f"It is done when this holds, each command run at the root of the checkout:\n{shown}{more}"


def _editable(contract: Contract) -> str:
    return f"You may change these, although checks depend on them: {', '.join(contract.editable)}" * bool(
        contract.editable
    )


def _said(words: Iterable[str]) -> Iterator[str]:
    for text in words:
        yield f"The person who asked adds:\n{text.strip()}"


def _problems(verdict: Verdict, contract: Contract) -> Iterator[str]:
    commands = {check.name: check.command for check in contract.checks if not check.hidden}
    told = [_failed_check(check, commands[check.name]) for check in verdict.checks if check.name in commands]
    yield from (text for text in told if text)
    hidden = {check.name for check in contract.checks if check.hidden}
    if any(check.name in hidden and _red(check) for check in verdict.checks):
        yield "A check that is not shown is red. Read the task again: something in it is not done, or was broken."
    gates = [finding for finding in verdict.findings if finding.severity is Severity.GATE]
    complaints = [finding.message for finding in gates if finding.check not in hidden]
    if complaints:
        yield "The work is refused because of this:\n" + "\n".join(f"- {complaint}" for complaint in complaints)
    if not any(map(_red, verdict.checks)) and not gates:
        yield "\n".join(verdict.reasons)


def _red(check: CheckVerdict) -> CheckResult | None:
    return next((each for each in (check.result, check.as_it_is) if each is not None and not each.passed), None)


def _failed_check(check: CheckVerdict, command: str) -> str:
    red = _red(check)
    if red is None:
        return ""
    was = "is still red" if check.check_class is CheckClass.GOAL else "was green before your change and is red now"
    where = " with your own versions of tests or configuration" if red is check.as_it_is else ""
    tail = red.output_tail[-TAIL_CHARACTERS:].strip()
    told = f"Check {check.name!r} (`{command}`) {was}{where}: {red.reason}"
    return f"{told}. The end of its output:\n{tail}" if tail else told


def _what_was_tried(tried: list[Attempt], hidden: set[str]) -> str:
    if len(tried) < 2:
        return ""
    lines = []
    for attempt in tried[-ATTEMPTS_NAMED:]:
        red = [check.name for check in (attempt.verdict.checks if attempt.verdict else []) if _red(check)]
        named = [name for name in red if name not in hidden] + ["a hidden check"] * any(name in hidden for name in red)
        lines.append(f"- attempt {attempt.number}: {', '.join(named) or 'refused'}")
    return "What was tried already, and what was red then:\n" + "\n".join(lines)
