"""`trueup hook`"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click
import msgspec

from trueup.coder import CheckRequest, Outcome, Verdict, check_change
from trueup.core.errors import InputError, Kind, TrueupError
from trueup.core.files import write_whole

from ._progress import Progress
from ._shared import Verbs, json_option, read_stdin, run_async, show


class StopInput(msgspec.Struct):
    """What Claude Code tells a Stop hook; more than this is ignored."""

    cwd: str = "."
    stop_hook_active: bool = False


@click.group(cls=Verbs)
def command() -> None:
    """trueup as a hook of an interactive agent: it may stop when the change is done, and not before.

    \b
    Example:
      trueup hook install claude-code
    """


@command.command("stop")
@click.option(
    "--contract",
    "contract_file",
    type=click.Path(path_type=Path),
    help="The contract; default: trueup.yaml of the base.",
)
@click.option("--base", metavar="REV", help="What the change starts from.")
@click.option("--guards-only", is_flag=True, help="Ask only that nothing broke.")
@click.option("--json", is_flag=True, expose_value=False, help="A hook always speaks JSON.")
def stop(contract_file: Path | None, base: str | None, guards_only: bool) -> None:
    """Answer Claude Code's Stop hook: its JSON on stdin, a decision on stdout.

    An agent that was sent back once and stops again is let go, so that it cannot be caught for ever.

    \b
    Example:
      echo '{"cwd": "."}' | trueup hook stop --guards-only
    """
    try:
        told = msgspec.json.decode(read_stdin() or b"{}", type=StopInput)
    except (InputError, msgspec.MsgspecError) as error:
        # Not exit 2, by which a hook sends the agent back: whether it was sent back before is not known here.
        raise TrueupError(f"stdin is not what a Stop hook is given: {error}", kind=Kind.PROTOCOL) from None
    if told.stop_hook_active:
        return
    request = CheckRequest(folder=Path(told.cwd), contract_file=contract_file, base=base, guards_only=guards_only)
    objection = _objection(request)
    if objection:
        click.echo(json.dumps({"decision": "block", "reason": objection}))


def _objection(request: CheckRequest) -> str | None:
    try:
        verdict = run_async(check_change(request, Progress(quiet=True)))
    except TrueupError as error:
        # Said once, and not passed over: an agent must not get away by making the check impossible.
        return f"trueup could not check this; tell the user if it is not for you to mend: {error}"
    return None if verdict.outcome is Outcome.VERIFIED else _advice(verdict)


def _advice(verdict: Verdict) -> str:
    lines = [f"trueup ran the checks itself: {verdict.outcome.value}."]
    lines += [f"- {reason}" for reason in verdict.reasons]
    for check in verdict.checks:
        if check.result is not None and not check.result.passed:
            lines.append(f"Last output of `{check.name}`:\n{check.result.output_tail[-1500:].strip()}")
    return "\n".join(lines)


@command.command("install")
@click.argument("agent", type=click.Choice(["claude-code"]))
@click.option(
    "--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="The repository."
)
@click.option(
    "--guards-only/--goals", default=True, help="Ask only that nothing broke (default), or that goals are reached."
)
@json_option
def install(agent: str, repo: Path, guards_only: bool, as_json: bool) -> None:
    """Add trueup to the hooks of an agent in this repository; what is there stays.

    \b
    Example:
      trueup hook install claude-code
    """
    file = repo / ".claude" / "settings.json"
    settings = _read_settings(file)
    line = shlex.join(["trueup", "hook", "stop", *(["--guards-only"] if guards_only else [])])
    stops = _stop_hooks(settings, file)
    present = any(_is_ours(hook) for entry in stops for hook in _hooks_of(entry))
    if not present:
        stops.append({"hooks": [{"type": "command", "command": line, "timeout": 900}]})
        file.parent.mkdir(exist_ok=True)
        write_whole(file, json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
    said = f"{file}: {'was there already' if present else f'`{line}` runs when {agent} wants to stop'}"
    show({"file": str(file), "installed": not present}, said, as_json=as_json)


def _stop_hooks(settings: dict[str, Any], file: Path) -> list[Any]:
    hooks = settings.setdefault("hooks", {})
    stops = hooks.setdefault("Stop", []) if isinstance(hooks, dict) else None
    if not isinstance(stops, list):
        raise InputError(f"{file}: `hooks` is not what Claude Code writes there, so nothing was changed")
    return stops


def _hooks_of(entry: Any) -> list[Any]:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and str(hook.get("command", "")).startswith("trueup hook stop")


def _read_settings(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read, so nothing was changed: {error}") from None
    if not isinstance(settings, dict):
        raise InputError(f"{file}: is not a JSON object, so nothing was changed")
    return settings
