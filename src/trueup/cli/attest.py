"""`trueup attest`"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from trueup.coder import (
    Checked,
    Examined,
    PublicKey,
    find_own_key,
    key_file,
    own_key,
    read_public_key,
    verify_attestation,
)
from trueup.workspace import Repository

from ._main import EXIT_NO
from ._shared import Verbs, json_option, run_async, show

repo_option = click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="The repository; default: the working folder.",
)
key_option = click.option(
    "--key",
    "key_files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Believe this public key instead of your own; may be given more than once.",
)


@click.group(cls=Verbs)
def command() -> None:
    """What was verified of a merged commit, signed, as a git note beside it.

    \b
    Example:
      trueup attest verify HEAD
    """


@command.command("verify")
@click.argument("commit")
@repo_option
@key_option
@json_option
def verify_command(commit: str, repo: Path, key_files: tuple[Path, ...], as_json: bool) -> None:
    """Say whether the attestation of COMMIT holds: exit 0, or 1 with the reason; 2 where there is no such commit.

    \b
    Examples:
      trueup attest verify HEAD
      trueup attest verify v1.2 --key ada.pem --json
    """
    checked = _check(commit, repo, key_files)
    show(msgspec.to_builtins(checked), "\n".join(_verdict_lines(checked)), as_json=as_json)
    if not checked.holds:
        raise click.exceptions.Exit(EXIT_NO)


@command.command("show")
@click.argument("commit")
@repo_option
@key_option
@json_option
def show_command(commit: str, repo: Path, key_files: tuple[Path, ...], as_json: bool) -> None:
    """Show all that the attestations of COMMIT say, and which of them hold; exit 1 where there are none.

    \b
    Example:
      trueup attest show HEAD
    """
    checked = _check(commit, repo, key_files)
    found = [each for each in (checked.attestation, *checked.others) if each is not None]
    text = "\n".join(_whole(each) for each in found) or f"{checked.commit[:12]}: {checked.reason}"
    show(msgspec.to_builtins(found), text, as_json=as_json)
    if not found:
        raise click.exceptions.Exit(EXIT_NO)


@command.command("key")
@json_option
def key_command(as_json: bool) -> None:
    """Print your public key, by which others can verify what you attest; it is made where there is none yet.

    \b
    Example:
      trueup attest key > ada.pem
    """
    public = own_key().public
    data = {"key_id": public.id, "public_key": public.pem, "file": str(key_file())}
    show(data, f"key {public.id}\n{public.pem}", as_json=as_json)


def _check(commit: str, folder: Path, key_files: tuple[Path, ...]) -> Checked:
    keys = _keys(key_files)

    async def checked() -> Checked:
        repo = await Repository.open(folder)
        return await verify_attestation(repo, await repo.resolve(commit), keys)

    return run_async(checked())


def _keys(files: tuple[Path, ...]) -> list[PublicKey]:
    if files:
        return [read_public_key(file) for file in files]
    own = find_own_key()
    return [] if own is None else [own.public]


def _verdict_lines(checked: Checked) -> Iterator[str]:
    name = checked.commit[:12]
    if checked.holds and checked.attestation is not None:
        yield f"{name}: the attestation holds, signed by key {checked.attestation.key_id}"
        yield from _account_lines(checked.attestation.statement or {})
    elif checked.attestation is not None:
        yield f"{name}: the attestation does not hold: {checked.reason}"
    else:
        yield f"{name}: {checked.reason}"
    if checked.same_tree is not None:
        yield (
            f"  the very same tree is attested for commit {checked.same_tree}, which this one may be a squash or rebase "
            f"of: see `trueup attest verify {checked.same_tree[:12]}`"
        )
    for other in checked.others:
        yield f"  another attestation in its note {'holds' if other.holds else f'does not hold: {other.reason}'}"
    if checked.attestation is not None and checked.other_lines:
        yield f"  its note has {checked.other_lines} lines that are no attestation"


def _account_lines(statement: dict[str, Any]) -> Iterator[str]:
    account = statement["predicate"]["trueup"]
    yield f"  verified by trueup {_one_line(account['version'])} at {_one_line(account['time'])}"
    yield f"  base {_one_line(account['base'])}"
    yield f"  tree {_one_line(account['tree'])}"
    yield f"  contract {_one_line(account['contract_digest'])}, sandbox {_one_line(account['sandbox'])}"
    yield f"  passed: {', '.join(map(_one_line, statement['predicate']['passedTests']))}"
    yield f"  work by {_one_line(account['engine']['name'])}, approved by {_approver(account['approved_by'])}"
    yield from (f"  not shown: {_one_line(each)}" for each in account["not_shown"])


def _whole(examined: Examined) -> str:
    standing = f"holds, signed by key {examined.key_id}" if examined.holds else f"DOES NOT HOLD: {examined.reason}"
    said = json.dumps(examined.statement, indent=2, ensure_ascii=False)
    return f"{standing}\n{said}"


def _approver(approved_by: dict[str, Any]) -> str:
    if approved_by["how"] == "person":
        return _one_line(f"{approved_by['name']} <{approved_by['email']}>")
    return _one_line(approved_by["how"])


def _one_line(value: Any) -> str:
    return " ".join(str(value).split())
