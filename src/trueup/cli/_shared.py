"""What the commands have in common: options, showing, and running asynchronous work."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from trueup.core.documents import MOST_BYTES
from trueup.core.errors import InputError
from trueup.core.text import visible

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_ACTING = re.compile("[\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
quiet_option = click.option("--quiet", is_flag=True, help="Nothing on stderr while it runs.")


class Verbs(click.Group):
    """A group whose help says of every command what it does, however many lines that takes."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, each.get_short_help_str(sys.maxsize)) for name, each in found if each and not each.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def show(data: Any, text: str, *, as_json: bool) -> None:
    """Print a result: exactly for programs, without what could act on a terminal for people."""
    click.echo(harmless_json(json.dumps(data, indent=2, ensure_ascii=False)) if as_json else visible(text.rstrip("\n")))


def harmless_json(text: str) -> str:
    """JSON in which what could act on a terminal is an escape, which is the same to a program."""
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody sits at the other end of a standard stream, which is None where it was closed."""
    return stream is not None and stream.isatty()


def is_live() -> bool:
    """Whether somebody watches on a terminal that can be drawn on."""
    return is_terminal(sys.stderr) and os.environ.get("TERM", "dumb") != "dumb"


def console() -> Console:
    """Where something is drawn on a terminal; it keeps to NO_COLOR by itself."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def coloured(text: str, colour: str | None) -> str:
    """A text for stdout in a colour, where one is wanted; `click.echo` takes it away off a terminal."""
    is_wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, fg=colour) if colour and is_wanted else text


def terminal_width() -> int:
    """How wide what is printed may be."""
    return 100 if not is_terminal(sys.stdout) else max(60, os.get_terminal_size().columns)


def read_stdin() -> bytes:
    """What was piped in: all of it, or as much as tells that it is too large."""
    if sys.stdin is None:
        raise InputError("stdin is closed, so nothing can be read from it; name a file")
    return sys.stdin.buffer.read(MOST_BYTES + 1)


@contextmanager
def told_if_interrupted(where: str) -> Iterator[None]:
    """Ctrl-C ends the block as ever, and what is said about it says where the work is."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(where)
        raise


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; SIGTERM and a terminal that goes cancel as Ctrl-C does, so that what was started is ended first."""

    async def cancellable() -> T:
        task = asyncio.current_task()
        if task is not None:
            for number in (signal.SIGTERM, signal.SIGHUP):
                # Whoever started us with `nohup` wants us to go on.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await work

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
