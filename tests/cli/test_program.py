"""The program as a whole: each command finds all that it needs, explains itself, and has the options that all have."""

from __future__ import annotations

import asyncio
import shlex

import click
import pytest

from coded import TRUEUP
from trueup.cli._code_group import IntentOrVerb
from trueup.cli._main import COMMANDS, EXIT_CODES, JOBS, SECTIONS, cli
from trueup.core.errors import TrueupError
from trueup.core.process import Command, run

# Those that print no result of theirs, or one that has a form already.
WITHOUT_JSON = {
    "code diff": "prints a patch",
    "completion": "prints a script for a shell",
    "mcp": "speaks the protocol of MCP on stdout",
    "runs export": "prints what --format says",
    "skill provider": "always answers in JSON",
}
ASKING = {"code", "code approve", "code resume", "code respond", "runs prune"}
SHOWING_PROGRESS = {
    "cache clean",
    "cache list",
    "check",
    "code",
    "code approve",
    "code respond",
    "code resume",
    "contract derive",
    "doctor",
    "harness list",
    "harness probe",
    "harness run",
    "init",
    "runs export",
    "runs prune",
    "runs search",
    "runs verify",
    "skill validate",
    "stats",
    "test",
    "test regrade",
    "workspace clean",
}


def walk(command: click.Command, name: str = "") -> dict[str, click.Command]:
    """Every command of the tree by its words; of one that starts with a verb or without, what it starts without."""
    found = {name: command.start if isinstance(command, IntentOrVerb) else command}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for child in command.list_commands(context):
            found |= walk(command.get_command(context, child), f"{name} {child}".strip())
    return found


TREE = walk(cli)
LEAVES = {name: command for name, command in TREE.items() if not isinstance(command, click.Group)}


def having(option: str) -> set[str]:
    return {name for name, command in LEAVES.items() if any(option in each.opts for each in command.params)}


async def test_every_command_is_loaded_by_the_program_that_has_loaded_nothing_yet(tmp_path):
    """Its help is there whichever command it is, and no import complains, warns or prints."""
    called = [Command(argv=(TRUEUP, name, "--help"), cwd=tmp_path, timeout_secs=60) for name in COMMANDS]
    for name, finished in zip(COMMANDS, await asyncio.gather(*map(run, called)), strict=True):
        assert (finished.exit_code, finished.stderr.text) == (0, ""), name
        assert finished.stdout.text.startswith(f"Usage: trueup {name}")


async def test_without_a_word_it_shows_the_three_jobs_and_where_help_is(trueup):
    finished = await trueup()
    assert (finished.exit_code, finished.stderr.text) == (0, "")
    for name, job in JOBS.items():
        assert f"{name}: {job.said}\n  {job.example}\n" in finished.stdout.text
    assert "trueup COMMAND --help" in finished.stdout.text
    assert list(JOBS) == list(SECTIONS)[:3]


async def test_help_has_every_command_once_under_the_job_that_it_is_for(trueup):
    said = (await trueup("--help")).stdout.text
    for heading, commands in SECTIONS.items():
        part = said.split(f"\n{heading}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in part.splitlines() if line[2] != " "] == list(commands)
    assert "\nExit codes:\n  0    Done" in said


@pytest.mark.parametrize("name", TREE)
def test_every_help_has_an_example_and_examples_are_of_commands_that_there_are(name):
    command = TREE[name]
    said = command.get_help(click.Context(command, info_name=f"trueup {name}".strip(), max_content_width=200))
    assert "Example" in said
    assert name in said.split("Example")[1]


def test_the_examples_of_the_jobs_are_commands_that_there_are():
    for job in JOBS.values():
        words = shlex.split(job.example)
        calls = [words[place + 1 :] for place, word in enumerate(words) if word == "trueup"]
        assert calls
        for first, second, *_ in ([*call, "", ""] for call in calls):
            assert f"{first} {second}" in TREE or first in LEAVES


def test_every_command_that_prints_a_result_prints_it_for_programs_too():
    assert set(LEAVES) - having("--json") == set(WITHOUT_JSON)


def test_every_command_that_asks_can_be_told_not_to():
    assert having("--yes") == ASKING


def test_every_command_that_shows_progress_can_be_told_not_to():
    assert having("--quiet") == SHOWING_PROGRESS


def test_options_that_many_commands_have_are_said_in_the_same_words():
    for option in ("--quiet", "--repo"):
        said = {each.help for name in having(option) for each in LEAVES[name].params if option in each.opts}
        assert len({words.split(";")[0].rstrip(".") for words in said}) <= 2, said


def test_every_error_ends_with_an_exit_code_that_is_told():
    def below(kind: type[TrueupError]) -> list[type[TrueupError]]:
        return [kind, *(each for child in kind.__subclasses__() for each in below(child))]

    assert {kind.exit_code for kind in below(TrueupError)} <= EXIT_CODES.keys()
