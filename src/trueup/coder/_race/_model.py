"""A race as data."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from trueup.contract import Contract
from trueup.core.errors import InputError

from .._session import CodeRequest, Pick, Story
from .._session.events import RaceDecided


class Runner(Struct, frozen=True):
    """An engine that takes part, with a model of its own where one was named."""

    engine: str
    model: str | None = None

    def __str__(self) -> str:
        return self.engine if self.model is None else f"{self.engine}@{self.model}"


class Race(Struct, frozen=True, kw_only=True):
    """A race as far as it has come. `request` is what is asked of every runner."""

    id: str
    request: CodeRequest
    base: str
    pick: Pick
    runners: list[Runner]
    decided: RaceDecided | None = None
    ended: bool = False

    @property
    def session_ids(self) -> list[str]:
        return [f"{self.id}-{number}" for number, _ in enumerate(self.runners, start=1)]

    @property
    def entrants(self) -> dict[str, Runner]:
        """Each runner by the id of its session."""
        return dict(zip(self.session_ids, self.runners, strict=True))

    @property
    def winner(self) -> str | None:
        return None if self.decided is None else self.decided.winner

    def request_of(self, runner: Runner, contract: Contract | None = None) -> CodeRequest:
        """What is asked of one of them: all start from the same commit, and once it is agreed to for the same contract."""
        asked = replace(
            self.request,
            engine=runner.engine,
            model=runner.model or self.request.model,
            base=self.base,
            race=self.id,
        )
        return asked if contract is None else replace(asked, contract=contract, contract_file=None)


class Raced(Struct, frozen=True):
    """How a race was left: with the session that matters now, if there is one.

    It is the winner; or, where there is no contract yet, the one in which it is proposed.
    """

    race: Race
    story: Story | None


def parse_runners(text: str) -> list[Runner]:
    """The runners that somebody named: `codex,claude-code@opus,command:my-agent --stdin`. The same one may run twice.

    A comma in quotes, or behind a backslash, is a part of a command.
    """
    named = [part.strip() for part in _between_commas(text)]
    if not all(named):
        raise InputError(f"--race {text!r} names an engine that is empty; write it as `--race codex,claude-code`")
    if len(named) < 2:
        raise InputError(
            f"--race needs at least two engines, as in `--race {named[0]},codex`; for one alone there is --engine"
        )
    return [_runner(part) for part in named]


def _between_commas(text: str) -> list[str]:
    parts, quote, is_kept = [""], "", False
    for letter in text:
        if letter == "," and not quote and not is_kept:
            parts.append("")
            continue
        parts[-1] += letter
        if is_kept or (letter == "\\" and quote != "'"):
            is_kept = not is_kept
        elif letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote = letter
    return parts


def _runner(text: str) -> Runner:
    engine, at, model = text.partition("@")
    if not at or ":" in engine:
        # What a program is called with is its own business.
        return Runner(text)
    if not engine or not model:
        raise InputError(f"{text!r} names no engine and model; write it as `claude-code@opus`")
    return Runner(engine, model)
