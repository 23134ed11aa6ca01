"""The root command, and the boundary where errors become sentences and exit codes."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from trueup import __version__

EXIT_NO = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130

COMMANDS = {
    "check": "Is this change done? By commands, run where nothing could interfere.",
    "init": "Propose a trueup.yaml for this repository.",
    "contract": "Outcome contracts: derive, validate, show.",
    "hook": "trueup as a hook of an interactive agent.",
    "trust": "Agree to what this repository's trueup.yaml asks for.",
    "doctor": "What works on this machine, and how to mend what does not.",
    "cache": "What trueup keeps to be quick: list, clean.",
    "config": "Settings, and where each one came from.",
    "schema": "JSON Schemas of what trueup reads.",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own, loaded when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"trueup.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="trueup %(version)s")
def cli() -> None:
    """trueup trues up an AI agent's work against what was asked.

    The condition is executed, not read: only commands that trueup itself ran decide.

    \b
    Try:
      trueup doctor
      trueup init
      trueup check
    """


def main() -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(_run())


def _run() -> int:
    try:
        # What a command returns is nothing; what click returns is the code of its Exit.
        exit_code = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain about it at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_NO
    except OSError as error:
        click.echo(f"error: {error.strerror or error}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_NO
    return exit_code or 0
