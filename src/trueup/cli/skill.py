"""`trueup skill`"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._main import EXIT_NO
from ._shared import Verbs, json_option, quiet_option, show
from ._waiting import Waiting

if TYPE_CHECKING:
    from trueup.skills import Finding

# What the tests are made of is loaded only where it is used: the provider starts once for every call of a cell.


@click.group(cls=Verbs)
def command() -> None:
    """Skills: validate them, begin to test them, and a provider without a model.

    \b
    Examples:
      trueup skill validate skills/
      trueup skill init my-skills
    """


@command.command("validate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@quiet_option
@json_option
def validate_command(paths: tuple[Path, ...], strict: bool, quiet: bool, as_json: bool) -> None:
    """Hold every SKILL.md in or below PATH against the Agent Skills specification: exit 0, or 1 with what is wrong.

    \b
    Examples:
      trueup skill validate skills/
      trueup skill validate skills/greeter --strict --json
    """
    from trueup.skills import find_skills, validate

    with Waiting("reading skills", quiet=quiet or as_json):
        skills = find_skills(paths)
        findings = validate(skills)
    errors = sum(finding.severity == "error" for finding in findings)
    fails = bool(findings) if strict else bool(errors)
    show(_as_data(skills, findings, fails), _as_text(skills, findings), as_json=as_json)
    if fails:
        raise click.exceptions.Exit(EXIT_NO)


@command.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@json_option
def init_command(folder: Path, as_json: bool) -> None:
    """Write a project of skill tests into DIR (default: the working folder) that runs at once, without a model.

    A skill, a case of one turn and one of several, and the configuration. Nothing is overwritten.

    \b
    Example:
      trueup skill init my-skills && cd my-skills && trueup test cases
    """
    from trueup.skills import write_project

    written = [str(path) for path in write_project(folder)]
    there = "" if str(folder) == "." else f"cd {folder}\n  "
    text = "\n".join([*(f"written: {path}" for path in written), f"\nNext:\n  {there}trueup test cases"])
    show({"files": written, "next": ["trueup", "test", "cases"]}, text, as_json=as_json)


@command.command("provider")
def provider_command() -> None:
    """Answer one request of the command protocol, without a model: JSON on stdin, JSON on stdout.

    For `provider: {kind: command, command: [trueup, skill, provider]}` in skilltest.yaml.

    `respond` does what lines of the skill's text say, in a comment if you like:

    \b
      fake-reply: TEXT          the reply; "ok" without one
      fake-reply-N: TEXT        the reply from turn N on
      fake-tool: NAME COMMAND   a tool call, to which mocks apply
      fake-tools: N             N calls of a tool `noop`
      fake-write: PATH TEXT     a file of the cell's workspace
      fake-done: N              the skill is done in turn N
      fake-usage: NAME=N ...    what a reply used: input_tokens, output_tokens, cost_usd

    `user` says what follows `say:` in the persona. `judge` wants every text in `backticks` of the criterion in the
    replies, and N of them for `turns>=N`; a number is how much of that was found.

    \b
    Example:
      echo '{"op": "judge", "kind": "boolean", "criterion": "says `hi`",
             "messages": [{"role": "assistant", "content": "hi"}]}' | trueup skill provider
    """
    # As a program, and not by the door of the room, which would have to know it.
    runpy.run_module("trueup.testing.provider", run_name="__main__")


def _as_data(skills: list[Path], findings: list[Finding], fails: bool) -> dict[str, Any]:
    import msgspec

    return {
        "valid": not fails,
        "skills": [str(skill) for skill in skills],
        "findings": [msgspec.to_builtins(finding) for finding in findings],
    }


def _as_text(skills: list[Path], findings: list[Finding]) -> str:
    lines = [str(finding) for finding in findings]
    counts = [_count([each for each in findings if each.severity == kind], kind) for kind in ("error", "warning")]
    lines.append(f"{_count(skills, 'skill')}: {', '.join(counts) if findings else 'valid'}")
    return "\n".join(lines)


def _count(things: list[Any], name: str) -> str:
    return f"1 {name}" if len(things) == 1 else f"{len(things)} {name}s"
