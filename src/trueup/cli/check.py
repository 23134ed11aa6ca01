"""`trueup check`"""

from __future__ import annotations

import os
from pathlib import Path

import click

from trueup.coder import CheckRequest, Outcome, Verdict, check_change

from ._main import EXIT_NO, tell
from ._progress import Progress
from ._report import verdict_annotations, verdict_data, verdict_markdown, verdict_text
from ._shared import json_option, quiet_option, run_async, show, terminal_width, told_if_interrupted

_LEFT = (
    "nothing was decided and your files are as they were; a baseline that was finished is remembered for the next time"
)


@click.command()
@click.option(
    "--contract",
    "contract_file",
    type=click.Path(path_type=Path),
    help="The contract; default: trueup.yaml of the base.",
)
@click.option(
    "--base", metavar="REV", help="What the change starts from; default: the merge-base with the default branch."
)
@click.option("--rev", metavar="REV", help="Check this commit instead of the working tree.")
@click.option(
    "--diff",
    "patch",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Check the base with this patch.",
)
@click.option(
    "--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="The repository."
)
@click.option(
    "--guards-only", is_flag=True, help="Accept that no check is red on the base: show only that nothing broke."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, help="How many checks marked `parallel` run side by side."
)
@click.option("--fresh", is_flag=True, help="Run the baseline anew, even where it is remembered.")
@click.option(
    "--sandbox", type=click.Choice(["auto", "none"]), default="auto", help="`none` runs without any confinement."
)
@quiet_option
@json_option
def command(
    contract_file: Path | None,
    base: str | None,
    rev: str | None,
    patch: Path | None,
    repo: Path,
    guards_only: bool,
    jobs: int,
    fresh: bool,
    sandbox: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Is this change done? Decided by commands of the contract, run where nothing could interfere.

    The checks are run on the untouched base first, which tells what each is worth: a goal is red and must turn green,
    a guard is green and must stay so. Then on the change, in a pristine checkout, with the tests and configuration
    of the base. Exit 0: verified; 1: refused or not proven.

    \b
    Examples:
      trueup check                    # the working tree, by trueup.yaml
      trueup check --contract ~/done.yaml --rev my-branch
      trueup check --guards-only --base origin/main
    """
    request = CheckRequest(
        folder=repo,
        contract_file=contract_file,
        base=base,
        rev=rev,
        patch=patch.read_bytes() if patch else None,
        guards_only=guards_only,
        jobs=jobs,
        fresh=fresh,
        sandboxed=sandbox == "auto",
    )
    with told_if_interrupted(_LEFT), Progress("checking", quiet=quiet or as_json) as progress:
        verdict = run_async(check_change(request, progress))
    # Before the result: a failure here must not print a second one.
    _tell_ci(verdict)
    show(verdict_data(verdict), verdict_text(verdict, width=terminal_width()), as_json=as_json)
    if verdict.outcome is not Outcome.VERIFIED:
        raise click.exceptions.Exit(EXIT_NO)


def _tell_ci(verdict: Verdict) -> None:
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(verdict_markdown(verdict))
        except OSError as error:
            # The verdict stands, whether or not its summary could be put there.
            tell(f"note: no summary was written to {summary}: {error.strerror}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in verdict_annotations(verdict):
            click.echo(line, err=True)
