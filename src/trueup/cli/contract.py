"""`trueup contract`"""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path
from typing import Any

import click
import msgspec

from trueup.contract import (
    Contract,
    Derivation,
    OfflineDerivation,
    derive,
    derive_offline,
    dump_contract,
    load_contract,
    parse_contract,
    summarize,
)
from trueup.core.errors import InputError
from trueup.core.files import write_whole
from trueup.core.settings import resolve
from trueup.model import Retry, chosen_model, generate_for

from ._main import EXIT_NO, tell
from ._shared import Verbs, json_option, quiet_option, read_stdin, run_async, show
from ._used import used_text
from ._waiting import Waiting

REPO = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group(cls=Verbs)
def command() -> None:
    """Outcome contracts: what "done" means for a change, as commands.

    \b
    Example:
      trueup contract derive --offline -o contract.yaml && trueup contract validate contract.yaml
    """


@command.command("derive")
@click.argument("intent", default="")
@click.option("--offline", is_flag=True, help="Ask no model: propose the checks that the repository already has.")
@click.option("--model", metavar="NAME", help="Ask this model: `claude-…`, `gpt-…`, `openai-compatible:NAME@URL`.")
@click.option("--generate", metavar="CMD", help="Ask this command: prompt on stdin, answer on stdout.")
@click.option("--max-attempts", type=click.IntRange(min=1), help="How often the model may try.")
@click.option("--repo", type=REPO, default=".", help="The repository; default: the working folder.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the contract to a .json or .yaml file.")
@quiet_option
@json_option
def derive_command(
    intent: str,
    offline: bool,
    model: str | None,
    generate: str | None,
    max_attempts: int | None,
    repo: Path,
    output: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write a contract for INTENT, by a model or offline from the repository.

    The model is that of --model or --generate, else of your settings (`generate`, `model`), else the usual one of
    whoever makes your engine, or of whom there is a key for (ANTHROPIC_API_KEY, OPENAI_API_KEY).

    \b
    Examples:
      trueup contract derive --offline -o contract.yaml
      trueup contract derive "add a --version flag" --model claude-opus-5-5
      trueup contract derive "add a --version flag" --generate 'my-model --stdin'
    """
    if sum((offline, model is not None, generate is not None)) > 1:
        raise InputError("--offline asks no model, --model and --generate each name one: choose")
    if offline:
        with Waiting("looking at the repository", quiet=quiet or as_json):
            offline_derivation = derive_offline(repo, intent)
        contract, extra = offline_derivation.contract, _offline_data(offline_derivation)
    else:
        flags = {"model": model, "generate": generate, "max_attempts": max_attempts}
        derivation = _derive_by_model(intent, flags, repo, quiet=quiet)
        contract = derivation.contract
        extra = {"attempts": derivation.attempts, "usage": msgspec.to_builtins(derivation.usage)}
    if output is not None:
        write_whole(output, dump_contract(contract, as_json=output.suffix == ".json"))
    data = {"contract": contract.as_data(), "weaknesses": contract.weaknesses(), **extra}
    show(data, _derived_text(contract, extra, output), as_json=as_json)


def _derive_by_model(intent: str, flags: dict[str, Any], repo: Path, *, quiet: bool) -> Derivation:
    if not intent.strip():
        raise InputError('say what is to be done: trueup contract derive "add a --version flag"')
    settings = resolve(flags, folder=repo).settings
    # Any flag goes before any setting.
    spec = flags["model"] or chosen_model(settings)
    if spec is None:
        raise InputError(
            "no model to ask: give --model NAME or --generate CMD, set `model` or `generate` in your settings, set "
            "ANTHROPIC_API_KEY or OPENAI_API_KEY, or use --offline to propose the checks that the repository already has"
        )
    with Waiting(f"asking {spec}", quiet=quiet) as waiting:

        async def tell_retry(retry: Retry) -> None:
            if not quiet:
                waiting.say(str(retry))

        derivation = run_async(derive(generate_for(spec, tell_retry), intent, summarize(repo), settings.max_attempts))
    if not quiet:
        tell(f"asked {spec}: {used_text(derivation.usage)}")
    return derivation


def _offline_data(derivation: OfflineDerivation) -> dict[str, Any]:
    reasons = [
        {"kind": each.kind, "name": each.name, "command": each.command, "cwd": each.cwd, "reason": each.reason}
        for each in derivation.suggestions
    ]
    return {"suggestions": reasons, "notes": derivation.notes}


def _derived_text(contract: Contract, extra: dict[str, Any], output: Path | None) -> str:
    lines = [contract.render()]
    lines += [f"{each['kind']} `{each['command']}`: {each['reason']}" for each in extra.get("suggestions", [])]
    lines += [f"note: {note}" for note in extra.get("notes", [])]
    lines += [f"weak: {weakness}" for weakness in contract.weaknesses()]
    if output is not None:
        lines.append(f"written to {output}")
    return "\n".join(lines)


@command.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def validate_command(file: Path, as_json: bool) -> None:
    """Say whether FILE (or - for stdin) is a usable contract: exit 0, or 1 with every problem.

    \b
    Example:
      trueup contract validate contract.yaml
    """
    contract = _read(file)
    problems, weaknesses = contract.validate(), contract.weaknesses()
    lines = [f"problem: {problem}" for problem in problems] + [f"weak: {weakness}" for weakness in weaknesses]
    summary = _count(problems, "problem") if problems else f"valid, {_count(contract.checks, 'check')}"
    lines.append(f"{file}: {summary}")
    data = {"valid": not problems, "problems": problems, "weaknesses": weaknesses}
    show(data, "\n".join(lines), as_json=as_json)
    if problems:
        raise click.exceptions.Exit(EXIT_NO)


@command.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def show_command(file: Path, as_json: bool) -> None:
    """Show the contract in FILE (or - for stdin) as a person or a prompt reads it.

    \b
    Example:
      trueup contract show contract.yaml
    """
    contract = _read(file)
    show(contract.as_data(), contract.render(), as_json=as_json)


def _read(file: Path) -> Contract:
    if str(file) == "-":
        return parse_contract(read_stdin(), "stdin")
    return load_contract(file)


def _count(things: Sized, name: str) -> str:
    return f"1 {name}" if len(things) == 1 else f"{len(things)} {name}s"
