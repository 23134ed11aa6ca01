"""Letting a run of skill tests go on, writing what it came to, and exiting by it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import NoReturn, TextIO

import click
from msgspec import Struct

from trueup.core.errors import InfrastructureError, TrueupError
from trueup.core.files import write_whole
from trueup.runs import RunStore
from trueup.skills import (
    Arm,
    CellCache,
    CellStatus,
    Form,
    Matrix,
    MatrixRequest,
    Provider,
    Report,
    keep_report,
    render,
    result_line,
)

from ._code_view import json_line
from ._main import EXIT_BAD_INPUT, EXIT_ENGINE, EXIT_INTERRUPTED, EXIT_NO, tell
from ._shared import run_async
from ._test_request import Output
from ._test_view import StreamView, View, Views, progress

KIND = "cell"
_FOR_PROGRAMS = frozenset({Form.JSON, Form.JSON_STREAM})


class Showing(Struct, frozen=True, kw_only=True):
    """How a run is told: on stdout in a form, in files, and where it is `kept`, on the pages."""

    form: Form
    outputs: Sequence[Output]
    quiet: bool
    kept: bool = True

    @contextmanager
    def watching(self) -> Iterator[Views]:
        """Everything that shows a run while it goes on; streams are begun, and cells written to them as they end."""
        with ExitStack() as files:
            views: list[View] = [progress(quiet=self.quiet)]
            if self.form is Form.JSON_STREAM:
                views.append(StreamView(sys.stdout))
            streams = [output.path for output in self.outputs if output.form is Form.JSON_STREAM]
            views += [StreamView(files.enter_context(_opened(path))) for path in streams]
            yield Views(views)

    def finish(self, report: Report) -> None:
        """Write the whole report wherever it is wanted."""
        for output in self.outputs:
            if output.form is Form.JSON_STREAM:
                with output.path.open("a", encoding="utf-8") as file:
                    file.write(result_line(report))
            else:
                write_whole(output.path, render(report, output.form))
        click.echo(result_line(report) if self.form is Form.JSON_STREAM else render(report, self.form), nl=False)
        if self.kept:
            name = keep_report(report)
            if not self.quiet:
                tell(f"kept as {name}; the pages of `trueup serve` show it")


@contextmanager
def told_in(form: Form) -> Iterator[None]:
    """For a program that reads JSON, what goes wrong is JSON too; `--json` is seen to where all commands are."""
    try:
        yield
    except TrueupError as error:
        if form not in _FOR_PROGRAMS or "--json" in sys.argv:
            raise
        click.echo(json_line({"error": str(error), "kind": error.kind}))
        raise click.exceptions.Exit(error.exit_code) from None


def run_cases(
    request: MatrixRequest,
    provider: Provider,
    showing: Showing,
    *,
    record: bool,
    cached: bool,
    problems: Sequence[str],
) -> NoReturn:
    """Run the cells, write the report, also of a run that was interrupted, and exit by what it says."""
    begun: list[Matrix] = []

    async def work(views: Views) -> Report:
        async with recording(record) as (runs, owner), views:
            cache = CellCache.of_the_user() if cached else None
            matrix = Matrix(request, provider, runs=runs, owner=owner, cache=cache, watcher=views)
            begun.append(matrix)
            return await matrix.run()

    report, code = watched(showing, work, lambda: begun[0].report(interrupted=True) if begun else None)
    for problem in problems:
        tell(f"error: {problem}")
    showing.finish(report)
    raise click.exceptions.Exit(code or (EXIT_BAD_INPUT if problems else exit_code(report)))


def watched(
    showing: Showing, work: Callable[[Views], Awaitable[Report]], left: Callable[[], Report | None]
) -> tuple[Report, int]:
    """A report, and what to exit with where it was interrupted: then it is what is `left` of it."""
    with showing.watching() as views:
        try:
            return run_async(_awaited(work, views)), 0
        except KeyboardInterrupt:
            report = _if_any(left)
            if report is None:
                raise
            return report, EXIT_INTERRUPTED


@asynccontextmanager
async def recording(wanted: bool) -> AsyncIterator[tuple[RunStore | None, str | None]]:
    """The store in which cells are recorded, with a name for who owns their runs; runs of dead owners are ended."""
    if not wanted:
        yield None, None
        return
    async with await RunStore.open() as store, store.owning() as owner:
        await store.abandon_orphans(KIND)
        yield store, owner


def exit_code(report: Report) -> int:
    """3 where something could not be judged, or was not run; else 1 where something failed; else 0."""
    if any(cell.status is CellStatus.ERROR for cell in report.runs):
        return EXIT_ENGINE
    if any(cell.status is CellStatus.FAILED and cell.arm is Arm.WITH for cell in report.runs):
        return EXIT_NO
    return EXIT_ENGINE if report.partial else 0


async def _awaited(work: Callable[[Views], Awaitable[Report]], views: Views) -> Report:
    return await work(views)


def _if_any(left: Callable[[], Report | None]) -> Report | None:
    try:
        return left()
    except InfrastructureError:
        # Interrupted before anything was planned.
        return None


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written: {error.strerror}") from None
