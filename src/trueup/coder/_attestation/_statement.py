"""What an attestation says: an in-toto Statement about a commit and its tree, with everything the verdict rests on."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from trueup import __version__
from trueup.contract import CheckClass, CheckResult, Contract
from trueup.core.errors import InputError
from trueup.workspace import Identity

from .._verdict import CheckVerdict, Outcome, Verdict
from ._dsse import DoesNotHoldError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
PASSED = "PASSED"

ApprovedBy = Identity | Literal["--yes"]
T = TypeVar("T")


class EngineUsed(Struct, frozen=True):
    """Who did the work; a version that the engine did not tell is None."""

    name: str
    version: str | None = None


class Subject(Struct, frozen=True):
    """What a statement is about."""

    digest: dict[str, str]


class Account(Struct, frozen=True):
    """What a verification needs of the part that trueup adds to a test result."""

    outcome: str
    tree: str
    time: Annotated[datetime, Meta(tz=True)]


class Predicate(Struct, frozen=True):
    """A test result as far as a verification reads it."""

    result: str
    trueup: Account


class Statement(Struct, frozen=True, rename="camel"):
    """A statement as far as a verification reads it."""

    type: str = field(name="_type")
    subject: list[Subject]
    predicate_type: str
    predicate: msgspec.Raw


def statement(
    verdict: Verdict,
    *,
    commit: str,
    contract: Contract,
    engine: EngineUsed,
    session: str,
    approved_by: ApprovedBy,
    at: datetime,
    intent: str | None = None,
) -> dict[str, Any]:
    """Say of a commit what was verified of it, as an in-toto Statement with a test result.

    A contract with hidden checks is there by its digest only.
    """
    if verdict.outcome is not Outcome.VERIFIED:
        raise InputError(f"the verdict on {commit[:12]} is {verdict.outcome.value}; only what was verified is attested")
    if contract.digest != verdict.contract_digest:
        raise InputError(f"the verdict on {commit[:12]} is by another contract than the one given")
    account = {
        "version": __version__,
        "outcome": verdict.outcome.value,
        "session": session,
        "intent": intent,
        "base": verdict.base,
        "tree": verdict.tree,
        "contract_digest": verdict.contract_digest,
        "contract": None if any(check.hidden for check in contract.checks) else contract.as_data(),
        "checks": [_check(check) for check in verdict.checks],
        "restored": verdict.restored,
        "findings": msgspec.to_builtins(verdict.findings),
        "not_shown": list(verdict.not_shown),
        "engine": msgspec.to_builtins(engine),
        "sandbox": verdict.sandbox,
        "dependencies": verdict.dependencies,
        "approved_by": _approval(approved_by),
        "time": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    said: dict[str, Any] = _writable(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                {"name": "commit", "digest": {"gitCommit": commit}},
                {"name": "tree", "digest": {"gitTree": verdict.tree}},
            ],
            "predicateType": TEST_RESULT,
            "predicate": {**_test_result(verdict), "trueup": account},
        }
    )
    return said


def check_statement(payload: bytes, *, commit: str, tree: str) -> Account:
    """What a statement says, if it says of this commit with this tree that it was verified."""
    said = _decoded(payload, Statement, "in-toto Statement")
    if said.type != STATEMENT_TYPE:
        raise DoesNotHoldError(f"what is signed is {said.type!r} and not {STATEMENT_TYPE!r}")
    if said.predicate_type != TEST_RESULT:
        raise DoesNotHoldError(f"what it says of its subject is of an unknown kind, {said.predicate_type!r}")
    commits, trees = (_digests(said, kind) for kind in ("gitCommit", "gitTree"))
    if commits != {commit}:
        raise DoesNotHoldError(f"it is about commit {_shown(commits)}: the note was moved here, or copied")
    if trees != {tree}:
        raise DoesNotHoldError(f"it is about tree {_shown(trees)}, and the commit has tree {tree}")
    predicate = _decoded(bytes(said.predicate), Predicate, "test result of trueup's")
    if predicate.trueup.tree != tree:
        raise DoesNotHoldError(f"what was verified is tree {predicate.trueup.tree}, and the commit has tree {tree}")
    if (predicate.trueup.outcome, predicate.result) != (Outcome.VERIFIED.value, PASSED):
        raise DoesNotHoldError(f"the verdict in it is {predicate.trueup.outcome!r} ({predicate.result})")
    return predicate.trueup


def _test_result(verdict: Verdict) -> dict[str, Any]:
    judged = [check for check in verdict.checks if check.check_class in {CheckClass.GOAL, CheckClass.GUARD}]
    return {
        "result": PASSED,
        "configuration": [{"name": "contract", "digest": {"sha256": verdict.contract_digest}}],
        "passedTests": [check.name for check in judged if _is_green(check)],
        # What counts for nothing was neither passed nor failed.
        "warnedTests": [check.name for check in verdict.checks if check not in judged],
        "failedTests": [check.name for check in judged if not _is_green(check)],
    }


def _is_green(check: CheckVerdict) -> bool:
    results = [result for result in (check.result, check.as_it_is) if result is not None]
    return bool(results) and all(result.passed for result in results)


def _check(check: CheckVerdict) -> dict[str, Any]:
    return {
        "name": check.name,
        "class": check.check_class.value,
        "baseline": {"passed": check.baseline.passed, "exit_code": check.baseline.exit_code},
        "result": _result(check.result),
        "as_it_is": _result(check.as_it_is),
    }


def _result(result: CheckResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "passed": result.passed,
        "exit_code": result.exit_code,
        "duration_ms": result.duration_ms,
        "output_tail_sha256": hashlib.sha256(_written(result.output_tail).encode()).hexdigest(),
    }


def _approval(approved_by: ApprovedBy) -> dict[str, str]:
    if isinstance(approved_by, Identity):
        return {"how": "person", "name": approved_by.name, "email": approved_by.email}
    return {"how": approved_by}


def _decoded(payload: bytes, kind: type[T], name: str) -> T:
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DoesNotHoldError(f"what is signed is no {name}: {error}") from None


def _digests(said: Statement, kind: str) -> set[str]:
    return {subject.digest[kind] for subject in said.subject if kind in subject.digest}


def _shown(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _writable(value: Any) -> Any:
    """Data in which every text can be written out, names of files that are no text included."""
    if isinstance(value, str):
        return _written(value)
    if isinstance(value, list):
        return [_writable(each) for each in value]
    if isinstance(value, dict):
        return {key: _writable(each) for key, each in value.items()}
    return value


def _written(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
