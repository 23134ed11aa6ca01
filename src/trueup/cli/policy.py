"""`trueup policy`"""

from __future__ import annotations

import json
import os.path
from pathlib import Path
from typing import Any

import click
import msgspec

from trueup.core.errors import InputError
from trueup.core.protocols import Action, Decision
from trueup.policy import POLICY_FILE, AnyPolicy, Policies, PolicyGate, policy_file, read_policies

from ._main import EXIT_NO
from ._shared import Verbs, json_option, run_async, show


@click.group(cls=Verbs)
def command() -> None:
    """What agents and clients may do, as rules: list, test.

    \b
    Example:
      trueup policy test .trueup/policy.yaml 'git push --force'
    """


@command.command("list")
@click.option(
    "--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="The repository."
)
@json_option
def list_policies(repo: Path, as_json: bool) -> None:
    """Show the rules of the repository's .trueup/policy.yaml, and what each does in words.

    \b
    Example:
      trueup policy list
    """
    file = policy_file(repo)
    policies = read_policies(file) if file else ()
    data = {"file": str(file) if file else None, "policies": [_as_data(policy) for policy in policies]}
    text = _as_text(policies) if file else f"no {POLICY_FILE} in this repository, so no rule of it refuses anything"
    show(data, text, as_json=as_json)


@command.command("test")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("shell_command", metavar="[COMMAND]", required=False)
@click.option("--tool", default="shell", show_default=True, help="The tool that is called.")
@click.option(
    "--param", "params", multiple=True, metavar="KEY=TEXT", help="A parameter of the call; KEY:=JSON for other values."
)
@click.option(
    "--state", "state", multiple=True, metavar="KEY=TEXT", help="A key of the state; KEY:=JSON for other values."
)
@json_option
def test_policy(
    file: Path, shell_command: str | None, tool: str, params: tuple[str, ...], state: tuple[str, ...], as_json: bool
) -> None:
    """Would the rules of FILE allow this call? Nothing is run. Exit 0: allowed; 1: refused.

    COMMAND is the parameter `command` of the call.

    \b
    Examples:
      trueup policy test .trueup/policy.yaml 'make && (git push)'
      trueup policy test .trueup/policy.yaml --tool write --param path=secrets/key.pem
    """
    given = {**({} if shell_command is None else {"command": shell_command}), **_pairs(params, "--param")}
    here = Path.cwd()
    gate = PolicyGate(
        Policies(read_policies(file)),
        state=_pairs(state, "--state"),
        root=here,
        home=Path.home(),
        resolve=os.path.realpath,
    )
    decision = run_async(gate.decide(Action(tool, given)))
    show(msgspec.to_builtins(decision), _in_words(decision, file), as_json=as_json)
    if not decision.allowed:
        raise click.exceptions.Exit(EXIT_NO)


def _pairs(given: tuple[str, ...], option: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.removesuffix(":"):
            raise InputError(f"{option} {text!r}: it is KEY=TEXT or KEY:=JSON")
        pairs[key.removesuffix(":")] = _from_json(value, option) if key.endswith(":") else value
    return pairs


def _from_json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{option}: {text!r} is not JSON: {error}") from None


def _as_data(policy: AnyPolicy) -> dict[str, Any]:
    return {**msgspec.to_builtins(policy), "description": policy.description}


def _as_text(policies: tuple[AnyPolicy, ...]) -> str:
    width = max((len(policy.name) for policy in policies), default=0)
    return "\n".join(f"{policy.name:<{width}}  {policy.description}" for policy in policies) or "no rules"


def _in_words(decision: Decision, file: Path) -> str:
    if decision.allowed:
        return f"allowed: no rule of {file} refuses it"
    param = f"\n  param {decision.param}" if decision.param else ""
    return f"refused: {decision.reason}\n  rule  {decision.rule}{param}"
