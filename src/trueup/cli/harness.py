"""`trueup harness`"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from trueup.core.errors import InputError
from trueup.harness import (
    HARNESSES,
    HarnessRequest,
    Mode,
    Probe,
    capabilities_of,
    harness_names,
    plugin_complaints,
)

from ._code_group import PositiveNumber
from ._harness_run import exit_code_of, harness_of_user, oneharness_exit_code_of, probed, run_here
from ._harness_show import Compact, Plain, Quiet, Show, Stream, known_data, known_text, probe_text
from ._main import EXIT_ENGINE, tell
from ._shared import Verbs, json_option, quiet_option, run_async, show
from ._values import HARNESS
from ._waiting import Waiting

MOST_SECONDS = 10**9
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(path_type=Path)
STDIN = Path("-")
COUNT = click.IntRange(min=1, max=10**9)


class Seconds(click.ParamType[float]):
    """A time that a clock can be set to; 0 is for ever."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = -1
        # What is not a number is not between two either.
        if not 0 <= seconds <= MOST_SECONDS:
            self.fail(f"{value} is not a number of seconds: write one from 0 to {MOST_SECONDS}.", param, ctx)
        return seconds


SECONDS = Seconds()


@click.group(cls=Verbs)
def command() -> None:
    """Agent programs: which there are, whether they can be used, and having one work on a prompt.

    \b
    Examples:
      trueup harness list
      trueup harness run codex "what does this repository do?"
    """


@command.command("list")
@quiet_option
@json_option
def list_command(quiet: bool, as_json: bool) -> None:
    """List the agents that trueup knows: whether each is installed and logged in, and what it can be asked for.

    \b
    Example:
      trueup harness list
    """

    names = harness_names(os.environ, Path.cwd())
    with Waiting("asking every agent", quiet=quiet or as_json):
        found = run_async(_all_probed(names))
    able = [capabilities_of(name, os.environ, Path.cwd()) for name in names]
    data = [known_data(*each) for each in zip(found, able, strict=True)]
    text = "\n".join(known_text(*each) for each in zip(found, able, strict=True))
    for complaint in plugin_complaints():
        tell(complaint)
    show(data, text, as_json=as_json)


async def _all_probed(names: list[str]) -> list[Probe]:
    return await asyncio.gather(*map(probed, names))


@command.command("probe")
@click.argument("name", type=HARNESS)
@quiet_option
@json_option
def probe_command(name: str, quiet: bool, as_json: bool) -> None:
    """Say whether the agent NAME can be used; no model is called. Exit 3: not installed, or not logged in.

    \b
    Example:
      trueup harness probe claude-code
    """
    with Waiting(f"asking {name}", quiet=quiet or as_json):
        found = run_async(harness_of_user(name).probe())
    show(msgspec.to_builtins(found), probe_text(found), as_json=as_json)
    if not found.installed or found.logged_in is False:
        raise click.exceptions.Exit(EXIT_ENGINE)


@command.command("run")
@click.argument("words", metavar="NAME [PROMPT]", nargs=-1, type=HARNESS)
@click.option("--harness", "named", type=HARNESS, metavar="NAME", help="The agent, where NAME is not given.")
@click.option("--prompt-file", type=FILE, help="Where the prompt is, if not in PROMPT; - for stdin.")
@click.option("--system", metavar="TEXT", help="Instructions beside the prompt.")
@click.option("--system-file", type=FILE, help="Where they are instead; - for stdin.")
@click.option("--model", metavar="NAME", help="The model to use, by the agent's name for it; default: the agent's.")
@click.option(
    "--mode",
    type=click.Choice([each.value for each in Mode]),
    default=Mode.READ_ONLY.value,
    show_default=True,
    help="What the agent may do by itself: look, change files of the folder, anything.",
)
@click.option("--resume", metavar="ID", help="Go on with the session of this id.")
@click.option(
    "--cwd", "--repo", "folder", type=FOLDER, default=".", help="Where it works; default: the working folder."
)
@click.option("--timeout", type=SECONDS, metavar="SECS", help="How long it may take; 0: as long as it likes.")
@click.option("--idle-timeout", type=SECONDS, metavar="SECS", help="How long it may keep silent; 0: for ever.")
@click.option("--turns", type=COUNT, help="Model calls that it may make, where it knows such a limit.")
@click.option("--budget-usd", type=PositiveNumber(), metavar="USD", help="Dollars, where it knows such a limit.")
@click.option(
    "--agent-config",
    type=click.Choice(["minimal", "user"]),
    default="minimal",
    show_default=True,
    help="`user` keeps what you configured for the agent: MCP servers, hooks, plugins.",
)
@click.option("--stream", is_flag=True, help="Print JSON lines: what happens as it happens, then the result.")
@click.option(
    "--compact", is_flag=True, help="Print one line of JSON as oneharness does. Exit 0: ok; 1: anything else."
)
@quiet_option
@json_option
def run_command(words: tuple[str, ...], **asked: Any) -> None:
    """Have the agent NAME work on PROMPT in a folder, as you and without a sandbox.

    The agent's answer goes to stdout, notes to stderr. Exit 0: done, by the agent's own record of success; 1: failed;
    2: bad input; 3: not installed, or not logged in; 130: interrupted.

    \b
    Examples:
      trueup harness run claude-code "what does this repository do?"
      trueup harness run codex "make the tests pass" --mode edit --timeout 600 --json
      trueup harness run --harness codex --compact --timeout 120 --prompt-file - < prompt.txt
    """
    name, said = _name_and_prompt(words, asked["named"])
    waiting = Waiting(f"{name} works", quiet=asked["quiet"] or _is_for_programs(asked))
    view = _view(asked, waiting)
    harness = harness_of_user(name, user_config=asked["agent_config"] == "user")
    request = _request(said, asked)
    capabilities_of(name, os.environ, Path.cwd()).refuse_beyond(name, request)
    if not asked["quiet"]:
        tell(f"{name} works in {request.cwd} as you, without a sandbox; mode {request.mode.value}")
    with waiting:
        result = run_async(run_here(harness, request, view))
    view.conclude(result)
    raise click.exceptions.Exit(oneharness_exit_code_of(result) if asked["compact"] else exit_code_of(result))


def _is_for_programs(asked: dict[str, Any]) -> bool:
    return any(asked[form] for form in ("compact", "stream", "as_json"))


def _view(asked: dict[str, Any], waiting: Waiting) -> Show:
    if asked["compact"] and (asked["stream"] or asked["as_json"]):
        raise InputError("--compact is a form of output of its own, as --json and --stream are: choose")
    if asked["compact"]:
        return Compact()
    if asked["stream"]:
        return Stream()
    if asked["as_json"]:
        return Quiet()
    return Plain(str(asked["folder"].absolute()), None if asked["quiet"] else waiting.say)


def _request(said: str | None, asked: dict[str, Any]) -> HarnessRequest:
    if asked["prompt_file"] == asked["system_file"] == STDIN:
        raise InputError("stdin can be read once: the prompt or the system prompt must be in a file")
    request = HarnessRequest(
        prompt=_text("prompt", said, asked["prompt_file"]) or "",
        cwd=str(asked["folder"].absolute()),
        system=_text("system prompt", asked["system"], asked["system_file"]),
        model=asked["model"] or None,
        mode=Mode(asked["mode"]),
        resume=asked["resume"] or None,
        timeout_secs=asked["timeout"] or None,
        idle_secs=asked["idle_timeout"] or None,
        turns=asked["turns"],
        budget_usd=asked["budget_usd"],
    )
    if not request.prompt.strip():
        raise InputError('there is no prompt: trueup harness run NAME "what to do", or --prompt-file FILE')
    return request


def _name_and_prompt(words: tuple[str, ...], named: str | None) -> tuple[str, str | None]:
    if named is not None:
        words = (named, *words)
    if not words:
        raise InputError(f"which agent? Name one of {', '.join(HARNESSES)}: trueup harness run NAME PROMPT")
    if len(words) > 2:
        raise InputError("too many words: put the prompt in quotes, and name the agent once")
    return words[0], words[1] if len(words) == 2 else None


def _text(what: str, given: str | None, file: Path | None) -> str | None:
    """A text that is given as it is or in a file."""
    if given is not None and file is not None:
        raise InputError(f"the {what} is given twice: as it is and in {file}; choose")
    return given if file is None else _read(file)


def _read(file: Path) -> str:
    if file == STDIN and sys.stdin is None:
        raise InputError("stdin is closed, so nothing can be read from it; name a file")
    try:
        raw = sys.stdin.buffer.read() if file == STDIN else file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    return raw.decode(errors="replace")
