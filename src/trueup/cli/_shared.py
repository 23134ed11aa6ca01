"""What the commands have in common: options, showing, and running asynchronous work."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click

from trueup.core.errors import InputError, TrueupError

from ._main import EXIT_BAD_INPUT, EXIT_NO

P = ParamSpec("P")
T = TypeVar("T")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def show(data: Any, text: str, *, as_json: bool) -> None:
    """Print a result, for programs or for people."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False) if as_json else text.rstrip("\n"))


def reports_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Turn trueup's errors into one message and an exit code: 2 for what the user wrote, 1 for the rest."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TrueupError as error:
            _show_error(error)
            raise click.exceptions.Exit(EXIT_BAD_INPUT if isinstance(error, InputError) else EXIT_NO) from None

    return wrapped


def _show_error(error: TrueupError) -> None:
    if click.get_current_context().params.get("as_json"):
        click.echo(json.dumps({"error": str(error), "kind": error.kind.value}, ensure_ascii=False))
    else:
        click.echo(f"error: {error}", err=True)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; SIGTERM cancels as Ctrl-C does, so that everything that was started is ended first."""

    async def cancellable() -> T:
        task = asyncio.current_task()
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
