"""The contract as data: what "done" means, as commands."""

from __future__ import annotations

import hashlib
import signal as signals
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from trueup.core.process import Finished

from ._counts import TestCounts, count_tests
from ._problems import problems_of, weaknesses_of

TAIL_BYTES = 4096

LONGEST_SECS = 7 * 24 * 3600

PositiveInt = Annotated[int, Meta(ge=1)]
TimeoutSecs = Annotated[int, Meta(ge=1, le=LONGEST_SECS)]


class Check(Struct, frozen=True, kw_only=True):
    """One command that must hold."""

    name: str
    command: str
    expect_exit_zero: bool = True
    output_contains: str | None = None
    timeout_secs: TimeoutSecs = 120
    cwd: str = "."
    env: dict[str, str] = {}
    network: bool = False
    runs: PositiveInt = 1
    hidden: bool = False
    parallel: bool = False

    def judge(self, finished: Finished) -> CheckResult:
        """Say whether a finished command is what this check asks for."""
        reasons = list(self._complaints(finished))
        return CheckResult(
            name=self.name,
            passed=not reasons,
            exit_code=finished.exit_code,
            output_tail=finished.stdout.tail(TAIL_BYTES),
            duration_ms=round(finished.duration_secs * 1000),
            timed_out=finished.timed_out,
            reason="; ".join(reasons),
            counts=count_tests(finished.stdout.text),
        )

    def could_not_run(self, why: str, reason: str, duration_ms: int) -> CheckResult:
        """The result of a command that never started."""
        return CheckResult(
            name=self.name,
            passed=False,
            exit_code=None,
            output_tail=f"check failed to run: {why}",
            duration_ms=duration_ms,
            reason=reason,
        )

    def _complaints(self, finished: Finished) -> Iterator[str]:
        if finished.timed_out:
            yield f"timed out after {self.timeout_secs} s"
        elif self.expect_exit_zero and finished.exit_code != 0:
            yield _how_it_ended(finished)
        if self.output_contains is not None and not finished.found:
            yield f"output lacks {self.output_contains!r}"


class CheckResult(Struct, frozen=True, kw_only=True):
    """What one check came to. `reason` is empty where it passed."""

    name: str
    passed: bool
    exit_code: int | None
    output_tail: str
    duration_ms: int
    timed_out: bool = False
    reason: str = ""
    counts: TestCounts | None = None


class Service(Struct, frozen=True, kw_only=True):
    """A program that checks need beside them, and the command that says it is ready."""

    command: str
    ready: str


class Contract(Struct, frozen=True, kw_only=True):
    """The verifiable definition of done for a change.

    `setup` prepares dependencies before any agent runs; `setup_env` names the variables it may read, `setup_inputs`
    the files that decide when it must run again, `reuse` the folders copied from the user instead. `protect` adds
    paths that decide the verdict and must not be changed, `editable` lifts that protection where a person agreed.
    """

    description: str
    checks: list[Check]
    setup: list[str] = []
    setup_env: list[str] = []
    setup_inputs: list[str] = []
    reuse: list[str] = []
    services: list[Service] = []
    protect: list[str] = []
    editable: list[str] = []

    def validate(self) -> list[str]:
        """Every problem that makes the contract unusable; none means valid."""
        return list(problems_of(self))

    def weaknesses(self) -> list[str]:
        """Doubts about what the checks can show. A person should see them; none is fatal."""
        return list(weaknesses_of(self))

    def as_data(self) -> dict[str, Any]:
        """The contract as plain data for JSON or YAML.

        What every reader of contracts knows is always written, except an absent `output_contains`; what trueup adds
        is written only where it says something, so that other programs can read an ordinary contract.
        """
        return {
            "description": self.description,
            "checks": [_without_silence(check, always=_ALWAYS_WRITTEN) for check in self.checks],
            **_without_silence(self, always=(), leave_out=("description", "checks")),
        }

    @property
    def digest(self) -> str:
        """What a verdict is bound to: the same for the same contract, however its file was written."""
        return hashlib.sha256(msgspec.json.encode(self.as_data(), order="deterministic")).hexdigest()

    def render(self) -> str:
        """The contract as text for prompts and for people."""
        lines = [self.description.strip(), "Checks:", *(_render_check(check) for check in self.checks)]
        return "\n".join(lines) + "\n"


_ALWAYS_WRITTEN = ("name", "command", "expect_exit_zero", "timeout_secs")


def _without_silence(value: Struct, *, always: tuple[str, ...], leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    written = {}
    for field in msgspec.structs.fields(value):
        content = getattr(value, field.name)
        default = field.default_factory() if callable(field.default_factory) else field.default
        if field.name not in leave_out and (field.name in always or content != default):
            written[field.name] = msgspec.to_builtins(content)
    return written


def _render_check(check: Check) -> str:
    expectations = ["exit 0"] if check.expect_exit_zero else []
    if check.output_contains is not None:
        quoted = msgspec.json.encode(check.output_contains).decode()
        expectations.append(f"output contains {quoted}")
    expects = f" (expects {', '.join(expectations)})" if expectations else ""
    return f"- {check.name}: `{check.command}`{expects}"


def _how_it_ended(finished: Finished) -> str:
    if finished.exit_code == 141:
        return "exit 141 (a stage of a pipe was cut off by the next: let the reader read to the end)"
    if finished.exit_code is not None:
        return f"exit {finished.exit_code}"
    if finished.signal is None:
        return "no exit code"
    return f"killed by {_signal_name(finished.signal)}"


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        # Real-time signals have numbers only.
        return f"signal {number}"
