"""Words that a shell can complete: names of agents, ids of sessions and runs.

A shell waits while somebody types, so nothing is asked that could take long: no server, no agent, and no more than the
newest of what there is. What cannot be told at once is not completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click
from click.shell_completion import CompletionItem

MOST = 50


Word = tuple[str, str]


class Known(click.ParamType[str]):
    """A text as it is typed, of which some are known, each with a word on it; `lasting` ones as long as trueup is."""

    def __init__(self, name: str, known: Callable[[], Iterable[Word]], *, lasting: bool = False) -> None:
        self.name = name
        self.lasting = lasting
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """What it would be for any text."""
        return click.STRING.name.upper() if isinstance(param, click.Option) else None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        found = ((word, said) for word, said in self.known() if word.startswith(incomplete))
        return [CompletionItem(word, help=" ".join(said.split())[:60]) for word, said in found]


def _harnesses() -> Iterator[Word]:
    from trueup.harness import HARNESSES

    return ((name, "") for name in HARNESSES)


def _engines() -> Iterator[Word]:
    yield "auto", "whichever agent is installed and logged in"
    yield "native", "trueup's own loop"
    yield from _harnesses()


def _runs() -> Iterable[Word]:
    from trueup.runs import newest_runs

    return newest_runs(MOST)


def _sessions() -> Iterable[Word]:
    from trueup.runs import newest_runs

    return newest_runs(MOST, kind="session")


HARNESS = Known("harness", _harnesses, lasting=True)
ENGINE = Known("engine", _engines, lasting=True)
RUN = Known("run", _runs)
SESSION = Known("session", _sessions)
KNOWN = {each.name: each for each in (HARNESS, ENGINE, RUN, SESSION)}
