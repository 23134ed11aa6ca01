"""A command whose first word is either one of its verbs or what somebody wants."""

from __future__ import annotations

import difflib
import math
from typing import Any

import click
from click.shell_completion import CompletionItem

from ._shared import Verbs


class NamelessContext(click.Context):
    """The context of a command that is called by the name of its group alone."""

    @property
    def command_path(self) -> str:
        return super().command_path.rstrip()


class IntentOrVerb(Verbs):
    """A group of verbs; anything else begins a session, by the command `start`."""

    start: click.Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            # The words belong to the command that starts a session, options included.
            args = ["--", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return None, self.start, args

    def list_commands(self, ctx: click.Context) -> list[str]:
        # In the order of a session's life.
        return list(self.commands)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] INTENT")
        formatter.write_usage(ctx.command_path, "VERB [ARGS]...", prefix="   or: ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_options(self.start, click.Context(self.start, parent=ctx), formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """A verb, or what the command that starts takes."""
        started = click.Context(self.start, parent=ctx, resilient_parsing=True)
        first = next((each for each in self.start.params if isinstance(each, click.Argument)), None)
        found = (
            first.shell_complete(started, incomplete) if first is not None and not incomplete.startswith("-") else []
        )
        found += super().shell_complete(ctx, incomplete) + self.start.shell_complete(started, incomplete)
        return list({each.value: each for each in found}.values())

    def verb_in(self, intent: str) -> str | None:
        """The verb that somebody may have meant by what looks like an intent."""
        nearest = difflib.get_close_matches(intent.strip().lower(), self.commands, n=1, cutoff=0.8)
        return nearest[0] if nearest else None


class StartCommand(click.Command):
    """Begins a session. One word that is, or nearly is, a verb is taken for an intent only where that is made plain."""

    context_class = NamelessContext

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_plain = "--" in args or any(word.split("=")[0] == "--intent" for word in args)
        rest = super().parse_args(ctx, args)
        group = ctx.parent.command if ctx.parent else None
        intent = ctx.params.get("words") or ""
        verb = group.verb_in(intent) if isinstance(group, IntentOrVerb) else None
        if verb is not None and not is_plain:
            found = (
                f"{verb!r} is a verb, which comes first"
                if intent == verb
                else f"{intent!r} is nearly the verb {verb!r}"
            )
            raise click.UsageError(f"{found}: `trueup code {verb} …`; to have exactly that done, use --intent", ctx)
        return rest

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] INTENT")


class PositiveNumber(click.FloatRange):
    """A finite number above zero."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number
