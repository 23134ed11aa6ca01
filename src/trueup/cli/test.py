"""`trueup test`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from trueup.core.errors import InputError
from trueup.core.text import writable
from trueup.skills import (
    Conclusion,
    Form,
    calibrate,
    compare_reports,
    load_cases,
    read_labels,
    read_report,
    regrade,
)

from ._code_group import PositiveNumber
from ._main import EXIT_NO
from ._shared import F, json_option, show
from ._test_after import calibration_text, comparison_text, write_blank_labels
from ._test_group import PathsOrVerb, RunCommand
from ._test_request import outputs_of, request_of, setup_of
from ._test_run import Showing, exit_code, recording, run_cases, told_in, watched
from ._test_view import Views

COUNT = click.IntRange(min=1, max=10**9)
JOBS = click.IntRange(min=1, max=10_000)
REPEATS = click.IntRange(min=1, max=10_000)
FILE = click.Path(path_type=Path)


def judge_options(command: F) -> F:
    """Options about who answers and judges."""
    for option in (
        click.option("--timeout", type=PositiveNumber(), metavar="SECS", help="How long one call may take."),
        click.option("--provider", metavar="ARGV", help="A program that answers by the command protocol."),
        click.option("--config", type=FILE, help="Default: skilltest.yaml here, or `skills` in trueup.yaml."),
        click.option("--judge-model", multiple=True, metavar="NAME", help="Who judges; several are a panel."),
    ):
        command = option(command)
    return command


def showing_options(command: F) -> F:
    """Options about how a report is written."""
    for option in (
        click.option("--quiet", is_flag=True, help="Nothing on stderr while it runs."),
        click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
        click.option(
            "--output",
            "outputs",
            type=FILE,
            multiple=True,
            help="Write the report to a file, in the form of its ending: .json .jsonl .xml .md .html .txt; may be repeated.",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice([each.value for each in Form]),
            default=Form.HUMAN.value,
            show_default=True,
            help="What is printed.",
        ),
        click.option("--no-record", is_flag=True, help="Keep no run of each cell, and no report for the pages."),
        click.option("--jobs", type=JOBS, default=4, show_default=True, help="How many calls are made at once."),
    ):
        command = option(command)
    return command


@click.command(cls=RunCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=FILE)
@click.option("--platform", multiple=True, metavar="NAME", help="Harnesses, for those configured.")
@click.option("--model", multiple=True, metavar="NAME", help="Models, for those configured.")
@click.option("--repeat", type=REPEATS, default=1, show_default=True, help="How often every case runs.")
@click.option("--filter", multiple=True, metavar="TEXT", help="Cases with this in their name, or a glob of it.")
@click.option("--max-turns", type=COUNT, help="Replies that a simulated user may ask for.")
@click.option("--baseline", is_flag=True, help="Run every case without the skill too, and show what it changes.")
@click.option("--baseline-from", type=FILE, metavar="REPORT", help="Take the cells without the skill from a report.")
@click.option(
    "--budget-usd", type=PositiveNumber(), metavar="USD", help="Dollars that all calls may cost, judge included."
)
@click.option("--budget-tokens", type=COUNT, help="Tokens that all calls may use, judge included.")
@click.option("--strict-budget", is_flag=True, help="Stop where a call does not report what a budget is on.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first cell that fails or cannot be judged.")
@click.option("--keep-going", is_flag=True, help="Run the rest where a case cannot be read.")
@click.option("--resume", type=FILE, metavar="REPORT", help="Show the cells that ended in this report, run the rest.")
@click.option("--no-cache", is_flag=True, help="Run also what ended before, and keep nothing.")
@judge_options
@showing_options
def start(
    paths: tuple[Path, ...],
    form: str,
    outputs: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    no_record: bool,
    no_cache: bool,
    **asked: Any,
) -> None:
    """Does a skill work, on every harness and model?

    Runs every case in or below PATH on each platform and model, as often as asked, and counts: how often it passes,
    how sure that is, and what it costs. Cells that ended before, by the same skill, case, harness, model and judge, are
    not run again. A path that is called like a verb is given as ./compare.
    Exit 0: all passed; 1: an eval failed; 2: bad input; 3: a cell could not be judged, or was not run; 130: interrupted,
    with a report of what had ended.

    \b
    Examples:
      trueup test cases/ --platform claude-code,codex --repeat 5
      trueup test cases/ --baseline --budget-usd 5 --output report.html --output report.json
      trueup test cases/ --resume report.json
      trueup test compare before.json after.json
    """
    wanted = Form.JSON if as_json else Form(form)
    with told_in(wanted):
        showing = Showing(form=wanted, outputs=outputs_of(outputs), quiet=quiet, kept=not no_record)
        setup = setup_of(asked)
        request, loaded = request_of(paths, setup, asked)
        run_cases(
            request,
            setup.provider,
            showing,
            record=not no_record,
            cached=not no_cache,
            problems=loaded.problems,
        )


@click.group(cls=PathsOrVerb, help=start.help)
def command() -> None:
    pass


command.start = start


@command.command("regrade")
@click.argument("report", type=FILE)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=FILE)
@judge_options
@showing_options
def regrade_command(
    report: Path,
    paths: tuple[Path, ...],
    form: str,
    outputs: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    no_record: bool,
    jobs: int,
    **asked: Any,
) -> None:
    """Judge the conversations of a report anew, by the cases and the judge of now; no skill runs.

    Cases are read where the report's were, or from PATH. Exits as `trueup test` does.

    \b
    Example:
      trueup test regrade report.json --judge-model opus --output regraded.json
    """
    wanted = Form.JSON if as_json else Form(form)
    with told_in(wanted):
        showing = Showing(form=wanted, outputs=outputs_of(outputs), quiet=quiet, kept=not no_record)
        earlier = read_report(report)
        places = paths or tuple(Path(path) for path in earlier.about.paths)
        if not places:
            raise InputError(
                f"{report}: does not say where its cases are; name them: trueup test regrade {report} cases/"
            )
        cases, setup = load_cases(places).cases, setup_of(asked)

        async def work(views: Views) -> Any:
            async with recording(not no_record) as (runs, owner), views:
                return await regrade(
                    earlier, cases, setup.config, setup.provider, jobs=jobs, runs=runs, owner=owner, watcher=views
                )

        graded, _ = watched(showing, work, lambda: None)
        showing.finish(graded)
        raise click.exceptions.Exit(exit_code(graded))


@command.command("compare")
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@json_option
def compare_command(before: Path, after: Path, as_json: bool) -> None:
    """Is the report AFTER better than BEFORE? Paired by case: better, worse or inconclusive. Exit 1 where it is worse.

    \b
    Example:
      trueup test compare before.json after.json
    """
    found = compare_reports(read_report(before), read_report(after))
    show(writable(msgspec.to_builtins(found)), comparison_text(found), as_json=as_json)
    raise click.exceptions.Exit(EXIT_NO if found.conclusion is Conclusion.WORSE else 0)


@command.command("calibrate")
@click.argument("labels", type=FILE)
@click.option("--from", "report", type=FILE, metavar="REPORT", help="Write LABELS, to be filled in for this report.")
@json_option
def calibrate_command(labels: Path, report: Path | None, as_json: bool) -> None:
    """Hold the judge of a report against labels that people gave: how often they agree, and where the judge leans.

    \b
    Examples:
      trueup test calibrate labels.yaml --from report.json
      trueup test calibrate labels.yaml
    """
    if report is not None:
        said = write_blank_labels(read_report(report), report, labels)
        show({"labels": str(labels)}, said, as_json=as_json)
        return
    given = read_labels(labels)
    found = calibrate(given, read_report(labels.absolute().parent / given.report), source=labels)
    show(writable(msgspec.to_builtins(found)), calibration_text(found), as_json=as_json)
