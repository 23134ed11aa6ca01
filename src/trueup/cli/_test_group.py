"""A command whose first word is either one of its verbs or a path of cases."""

from __future__ import annotations

from pathlib import Path

import click

from ._code_group import IntentOrVerb, NamelessContext


class PathsOrVerb(IntentOrVerb):
    """A group of verbs; anything else names cases, which are run by the command `start`."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] PATH...")
        formatter.write_usage(ctx.command_path, "VERB [ARGS]...", prefix="   or: ")


class RunCommand(click.Command):
    """Runs cases, and is called by the name of its group."""

    context_class = NamelessContext

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        first = str(ctx.params["paths"][0])
        group = ctx.parent.command if ctx.parent else None
        verb = group.verb_in(first) if isinstance(group, IntentOrVerb) else None
        if verb is not None and not Path(first).exists():
            raise click.UsageError(f"{first!r} is no path, and nearly the verb {verb!r}: `trueup test {verb} …`", ctx)
        return rest

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] PATH...")
