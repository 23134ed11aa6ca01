"""A command whose first word is either one of its verbs or a path of cases."""

from __future__ import annotations

import click

from ._code_group import IntentOrVerb


class PathsOrVerb(IntentOrVerb):
    """A group of verbs; anything else names cases, which are run by the command `start`."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] PATH...")
        formatter.write_usage(ctx.command_path, "VERB [ARGS]...", prefix="   or: ")


class RunCommand(click.Command):
    """Runs cases, and is called by the name of its group."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path.strip(), "[OPTIONS] PATH...")
