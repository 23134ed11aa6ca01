"""The contract on the untouched base: what each of its checks is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.protocols import Recorder, Shell

from ._breakage import Breakage, find_breakage
from ._counts import TestCounts
from ._evaluate import evaluate
from ._model import Check, CheckResult, Contract
from ._named_files import Read, Tree
from ._shell_lines import simple_commands

# A red check counts as proof once it turns green, so even where nobody asked for repeats it is asked twice.
_RUNS_OF_A_RED_CHECK = 2
_LOOKS_ONLY = frozenset(
    "grep egrep fgrep rg ag test [ [[ ls stat find cat head tail wc diff cmp file true : echo printf".split()
)


class CheckClass(StrEnum):
    """What a check can show about a change.

    A goal is red on base and must turn green, a guard is green and must stay so. A flaky check disagrees with itself,
    and a broken one cannot be judged here.
    """

    GOAL = "goal"
    GUARD = "guard"
    FLAKY = "flaky"
    BROKEN = "broken"


class ClassedCheck(Struct, frozen=True, kw_only=True):
    """One check on base: its class and why, every run of it, and for a broken one what would mend it."""

    name: str
    check_class: CheckClass
    reason: str
    results: list[CheckResult]
    fix: str = ""

    @property
    def counts(self) -> TestCounts | None:
        return self.results[0].counts


class Baseline(Struct, frozen=True):
    """Every check of a contract, classed, in the contract's order."""

    checks: list[ClassedCheck]

    @property
    def goals(self) -> list[ClassedCheck]:
        return self._of(CheckClass.GOAL)

    @property
    def guards(self) -> list[ClassedCheck]:
        return self._of(CheckClass.GUARD)

    @property
    def flaky(self) -> list[ClassedCheck]:
        return self._of(CheckClass.FLAKY)

    @property
    def broken(self) -> list[ClassedCheck]:
        return self._of(CheckClass.BROKEN)

    def check(self, name: str) -> ClassedCheck:
        """The check of that name; a KeyError where there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def weak_goals(self, contract: Contract) -> list[ClassedCheck]:
        """Goals that only look at files or text, which a stub satisfies."""
        weak = {check.name for check in contract.checks if _only_looks(check.command)}
        return [goal for goal in self.goals if goal.name in weak]

    def _of(self, check_class: CheckClass) -> list[ClassedCheck]:
        return [check for check in self.checks if check.check_class is check_class]


def estimate(contract: Contract) -> int:
    """How many commands a baseline runs at most."""
    return sum(max(check.runs, _RUNS_OF_A_RED_CHECK) for check in contract.checks)


async def run_baseline(
    contract: Contract, shell: Shell, recorder: Recorder, *, base_paths: Iterable[str], read: Read, jobs: int = 1
) -> Baseline:
    """Evaluate the contract on base, in order, repeating red checks and those that ask for several runs.

    A check is repeated before the next one runs, so that it sees what it saw the first time. `base_paths` are the
    files of the base commit and `read` gives the text of one: they tell a missing dependency from a missing file.
    """
    judge = _Judge(contract, Tree(base_paths), read)
    classed: list[ClassedCheck] = []
    for checks in _stretches(contract.checks):
        first = await evaluate(_only(contract, checks), shell, recorder, jobs=jobs)
        for check, result in zip(checks, first, strict=True):
            results = [result]
            while judge.wants_another_run(check, results):
                results += await evaluate(_only(contract, [check]), shell, recorder)
            classed.append(judge.classify(check, results))
    return Baseline(classed)


def _stretches(checks: list[Check]) -> Iterator[list[Check]]:
    """Neighbours that may run side by side; every other check by itself."""
    for parallel, stretch in groupby(checks, key=lambda check: check.parallel):
        if parallel:
            yield list(stretch)
        else:
            yield from ([check] for check in stretch)


def _only(contract: Contract, checks: list[Check]) -> Contract:
    return replace(contract, checks=checks)


class _Judge:
    """Classes checks of one contract on one base."""

    def __init__(self, contract: Contract, tree: Tree, read: Read) -> None:
        self._contract = contract
        self._tree = tree
        self._read = read

    def wants_another_run(self, check: Check, results: list[CheckResult]) -> bool:
        last = results[-1]
        if last.timed_out or last.passed is not results[0].passed or self._breakage(check, last):
            return False
        return len(results) < (check.runs if last.passed else max(check.runs, _RUNS_OF_A_RED_CHECK))

    def classify(self, check: Check, results: list[CheckResult]) -> ClassedCheck:
        last = results[-1]
        if breakage := self._breakage(check, last):
            return _classed(check, CheckClass.BROKEN, breakage.reason, results, breakage.fix)
        if last.passed is not results[0].passed:
            outcomes = ", ".join("green" if result.passed else "red" for result in results)
            return _classed(check, CheckClass.FLAKY, f"disagrees with itself on base: {outcomes}", results)
        if last.passed:
            return _classed(check, CheckClass.GUARD, "green on base; must stay green", results)
        return _classed(check, CheckClass.GOAL, f"red on base ({last.reason}); must turn green", results)

    def _breakage(self, check: Check, result: CheckResult) -> Breakage | None:
        return find_breakage(check, result, self._contract, self._tree, self._read)


def _classed(check: Check, kind: CheckClass, reason: str, results: list[CheckResult], fix: str = "") -> ClassedCheck:
    return ClassedCheck(name=check.name, check_class=kind, reason=_in_one_line(reason), results=results, fix=fix)


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _only_looks(command: str) -> bool:
    commands = simple_commands(command)
    return bool(commands) and all(one.tool in _LOOKS_ONLY for one in commands)
