"""The root command, and the boundary where errors become sentences and exit codes."""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import click

from trueup import __version__
from trueup.core.errors import InfrastructureError, Kind, TrueupError
from trueup.core.text import visible

# What click's scripts for shells set when they ask.
COMPLETE_VARIABLE = "_TRUEUP_COMPLETE"

EXIT_NO = 1
EXIT_BAD_INPUT = 2
EXIT_ENGINE = 3
EXIT_INTERRUPTED = 130

# What an exit code means, of whichever command.
EXIT_CODES = {
    0: "Done, and the answer is yes: delivered, verified, valid, passed.",
    EXIT_NO: "Done, and the answer is no: refused, not achieved, failed. Or something of this machine failed.",
    EXIT_BAD_INPUT: "Bad input: an option, a file or a setting cannot be used as it is.",
    EXIT_ENGINE: "An agent or model failed, or cannot be used: not installed, not logged in, no answer to judge.",
    EXIT_INTERRUPTED: "Interrupted, by Ctrl-C or SIGTERM; what there is of the work is kept, and where is said.",
}


class Job(NamedTuple):
    """What somebody comes to trueup for."""

    said: str
    example: str


# Under the headings under which their commands are.
JOBS = {
    "Verified work": Job(
        "From an intent to a merge that can be trusted, by any agent.",
        'trueup code "add a --version flag" --engine claude-code',
    ),
    "Recorded runs": Job(
        "What agents did, turn by turn, for programs over a WebSocket and for you as pages.",
        "trueup serve",
    ),
    "Skill tests": Job(
        "Does a skill work, on every agent and model? This one runs at once, without a model.",
        "trueup skill init my-skills && cd my-skills && trueup test cases",
    ),
}

SECTIONS = {
    "Verified work": {
        "code": "From an intent to a merge that can be trusted, by any engine.",
        "check": "Is this change done? By commands, run where nothing could interfere.",
        "init": "Propose a trueup.yaml for this repository.",
        "contract": "Outcome contracts: derive, validate, show.",
        "trust": "Agree to what this repository's trueup.yaml asks for.",
        "attest": "What was verified of a merged commit, signed: verify, show, key.",
        "stats": "What recorded sessions show: how often which engine got there, and at what price.",
    },
    "Recorded runs": {
        "serve": "Tools, policies, proposals, runs and sessions for any program, over a WebSocket.",
        "pages": "A link to the pages of the daemon that runs.",
        "runs": "What happened: recorded runs, their records, and whether they are whole.",
        "policy": "What agents and clients may do, as rules: list, test.",
    },
    "Skill tests": {
        "test": "Does a skill work, on every harness and model? By cases, with numbers that can be trusted.",
        "skill": "Skills: validate, init, and a provider without a model.",
    },
    "Agents": {
        "harness": "Agent programs: list, probe, run.",
        "mcp": "trueup's tools for an interactive agent, over MCP.",
        "hook": "trueup as a hook of an interactive agent.",
    },
    "This machine": {
        "doctor": "What works on this machine, and how to mend what does not.",
        "workspace": "Checkouts in which agents work: list, clean.",
        "cache": "What trueup keeps to be quick: list, clean.",
        "config": "Settings, and where each one came from.",
        "schema": "JSON Schemas of what trueup reads.",
        "completion": "A script by which bash, zsh or fish completes words after `trueup`.",
    },
}
COMMANDS = {name: said for commands in SECTIONS.values() for name, said in commands.items()}


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own, loaded when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"trueup.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # Click looks for names that are near among commands that were loaded.
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl(list(commands.items()))
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="trueup %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """trueup trues up an AI agent's work against what was asked.

    The condition is executed, not read: only commands that trueup itself ran decide.

    \b
    Examples:
      trueup doctor
      trueup init
      trueup check
      trueup code "add a --version flag" --engine "command:my-agent"
    """
    if context.invoked_subcommand is None:
        click.echo(welcome())


def welcome() -> str:
    """What trueup is for, for somebody who does not know it."""
    lines = ["trueup trues up an AI agent's work against what was asked: the condition is executed, not read.", ""]
    for name, job in JOBS.items():
        lines += [f"{name}: {job.said}", f"  {job.example}", ""]
    lines += ["What works on this machine:  trueup doctor", "What done means here:        trueup init"]
    lines += ["Every command:               trueup --help", "One of them, with examples:  trueup COMMAND --help"]
    return "\n".join(lines)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(run(_for_a_shell() if COMPLETE_VARIABLE in os.environ else cli))


def _for_a_shell() -> click.Command:
    """The commands for a shell that completes a word, which waits for every import."""
    from ._completion_tree import completing_tree

    return completing_tree(cli)


def run(command: click.Command) -> int:
    """Run a command to its exit code. Whatever goes wrong on the way is told here, once."""
    as_json = "--json" in takewhile(lambda word: word != "--", sys.argv[1:])
    try:
        _mend_streams(as_json=as_json)
        # What a command returns is nothing; what click returns is the code of its Exit.
        return command.main(standalone_mode=False) or 0
    # Nobody is above us who could do more about a mistake than show a traceback to a person.
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        return _report(error, as_json=as_json)
    finally:
        _let_go_of_stdout()


def tell(text: str) -> None:
    """Say something to people beside the result."""
    click.echo(visible(text), err=True)


class Failure(NamedTuple):
    """What went wrong: a sentence for people, a kind for programs, an exit code for both."""

    message: str
    kind: str
    exit_code: int


def _report(error: BaseException, *, as_json: bool) -> int:
    failure = _explain(error)
    # A stream that is broken itself takes no message; the exit code is left.
    with suppress(OSError):
        if _is_unforeseen(error) and os.environ.get("TRUEUP_DEBUG") == "1":
            tell("".join(traceback.format_exception(error)))
        if not (as_json and _print_json(failure)):
            _tell_people(error, failure)
    return failure.exit_code


def _explain(error: BaseException) -> Failure:
    match error:
        case TrueupError():
            return Failure(str(error), error.kind, error.exit_code)
        case click.ClickException():
            return Failure(error.format_message(), Kind.INPUT, error.exit_code)
        case click.Abort() | KeyboardInterrupt():
            return Failure("; ".join(["interrupted", *_notes(error)]), "interrupted", EXIT_INTERRUPTED)
        case OSError():
            return Failure(_describe(error), Kind.INFRASTRUCTURE, EXIT_NO)
    said = " ".join(f"{type(error).__name__}: {error}".split())
    advice = "this is a mistake in trueup, please report it; TRUEUP_DEBUG=1 shows where it happened"
    return Failure(f"{said} ({advice})", Kind.OTHER, EXIT_NO)


def _notes(error: BaseException) -> list[str]:
    """What a command has to say about where the work is; click puts an error of its own before ours."""
    found: list[str] = getattr(error.__cause__ or error, "__notes__", [])
    return found


def _is_unforeseen(error: BaseException) -> bool:
    return not isinstance(error, TrueupError | click.ClickException | click.Abort | KeyboardInterrupt)


def _describe(error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and _working_folder_is_gone():
        return "the working folder is gone; change to one that is there"
    reason = error.strerror or str(error)
    return f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes) else reason


def _working_folder_is_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _print_json(failure: Failure) -> bool:
    """Whether stdout took it."""
    if sys.stdout is None:
        return False
    try:
        click.echo(json.dumps({"error": failure.message, "kind": failure.kind}, ensure_ascii=False))
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        return True
    except OSError:
        return False
    return True


def _tell_people(error: BaseException, failure: Failure) -> None:
    if isinstance(error, click.UsageError):
        tell(_with_usage(error))
    elif failure.exit_code == EXIT_INTERRUPTED:
        tell(failure.message)
    else:
        tell(f"error: {failure.message}")


def _with_usage(error: click.UsageError) -> str:
    shown = io.StringIO()
    if error.ctx is not None:
        # Otherwise click drops the escape sequences that `tell` makes visible.
        error.ctx.color = True
    error.show(shown)
    return shown.getvalue().rstrip("\n")


def _mend_streams(*, as_json: bool) -> None:
    """Make sure that the standard streams are there, and that stdout takes any text."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Left closed, it would lend its number to the next file that is opened, and our output would go there.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdout is None:
        raise InfrastructureError("stdout is closed, so nothing can be printed; to see nothing, send it to /dev/null")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # JSON is UTF-8 in every locale, and has the same escapes for what no encoding can carry.
        sys.stdout.reconfigure(encoding="utf-8" if as_json else None, errors="backslashreplace")


def _let_go_of_stdout() -> None:
    """Python must not complain at its own end of what could not be written and was told already."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
