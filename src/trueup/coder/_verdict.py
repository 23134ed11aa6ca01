"""The verdict as data: what was found, and what it rests on."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from trueup.contract import CheckClass, CheckResult


class Outcome(StrEnum):
    """What trueup found."""

    VERIFIED = "verified"
    REFUSED = "refused"
    UNPROVEN = "unproven"


class Severity(StrEnum):
    """What a finding does: nothing, wait for a person, refuse."""

    INFO = "info"
    FLAG = "flag"
    GATE = "gate"


class Finding(Struct, frozen=True, kw_only=True):
    """Something about a change that a person should know, in one sentence."""

    severity: Severity
    kind: str
    message: str
    path: str | None = None
    check: str | None = None
    line: int | None = None


class CheckVerdict(Struct, frozen=True, kw_only=True):
    """One check: what it is worth, and what it came to on the change.

    `result` is with protected paths as the base has them; `as_it_is` with the change's own, where it touched any.
    """

    name: str
    check_class: CheckClass
    baseline: CheckResult
    result: CheckResult | None = None
    as_it_is: CheckResult | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """What trueup found when it evaluated a contract on a tree, bound to everything it rests on."""

    outcome: Outcome
    reasons: list[str]
    base: str
    tree: str
    contract_digest: str
    dependencies: str | None
    sandbox: str
    checks: list[CheckVerdict]
    findings: list[Finding] = []
    restored: list[str] = []
    not_shown: tuple[str, ...] = ("visible checks only: behaviour that no check exercises was not looked at",)
