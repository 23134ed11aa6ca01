"""What an agent does and what came of it, as people and programs get it: functions of the data, and who prints them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Protocol

import click
import msgspec

from trueup.core.protocols import Event
from trueup.core.text import visible
from trueup.core.usage import Usage
from trueup.harness import (
    Capabilities,
    HarnessResult,
    Permission,
    PermissionDecided,
    Probe,
    Retried,
    Status,
    SystemPrompt,
    ToolCall,
    ToolResult,
)

from ._main import tell

LONGEST_LINE = 200

# The words of oneharness for the same.
_STATUSES = {
    Status.OK: "ok",
    Status.FAILED: "nonzero",
    Status.TIMED_OUT: "timeout",
    Status.CANCELLED: "cancelled",
    Status.NOT_INSTALLED: "skipped",
}
_USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd")


class Show(Protocol):
    """A `Recorder` that shows what an agent does, and in the end what came of it."""

    async def record(self, event: Event) -> None: ...

    def conclude(self, result: HarnessResult) -> None: ...


class Plain:
    """For people: the agent's answer on stdout; by `say` what happens in a folder meanwhile, to those who want it."""

    def __init__(self, folder: str, say: Callable[[str], None] | None) -> None:
        self._folder = folder
        self._say = say

    async def record(self, event: Event) -> None:
        said = note_of(event)
        if said and self._say is not None:
            await asyncio.to_thread(self._say, said)

    def conclude(self, result: HarnessResult) -> None:
        if result.text:
            click.echo(visible(result.text.rstrip("\n")))
        for each in result.denied:
            tell(f"denied: {one_line(each)}")
        if result.status is Status.CANCELLED:
            tell(f"{result.error}; what it did so far is in {self._folder}{_go_on(result)}")
        elif result.status is not Status.OK:
            tell(f"error: {result.failure_kind or result.status}: {result.error}")
        if result.status is not Status.NOT_INSTALLED:
            tell(summary(result))


class Quiet:
    """For programs: one JSON object, with line breaks."""

    async def record(self, event: Event) -> None:
        pass

    def conclude(self, result: HarnessResult) -> None:
        _print_json(msgspec.to_builtins(result), indent=2)


class Stream:
    """For programs: one JSON object a line for every event as it comes, and for the result."""

    async def record(self, event: Event) -> None:
        # Printing can block as long as a reader likes.
        await asyncio.to_thread(_print_json, event_data(event))

    def conclude(self, result: HarnessResult) -> None:
        _print_json({"type": "result", **msgspec.to_builtins(result)})


class Compact(Quiet):
    """For programs written for oneharness: its envelope in one line."""

    def conclude(self, result: HarnessResult) -> None:
        _print_json(envelope(result))


def _go_on(result: HarnessResult) -> str:
    if result.session_id is None:
        return ""
    return f"; go on with: trueup harness run {result.harness} --resume {result.session_id} PROMPT"


def note_of(event: Event) -> str | None:
    """An event in one line, where it says more to people than the answer will."""
    match event:
        case ToolCall(name=name, input=given):
            return one_line(f"{name} {json.dumps(given, ensure_ascii=False) if given else ''}")
        case ToolResult(ok=False, output=output):
            return one_line(f"failed: {output}")
        case Retried(attempt=attempt, message=message):
            return one_line(f"tried again by the agent itself, attempt {attempt}: {message}")
        case PermissionDecided(allowed=False, tool=tool, reason=reason):
            return one_line(f"refused {tool}: {reason}")
    return None


def event_data(event: Event) -> dict[str, Any]:
    """An event as programs get it."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    return {"type": fields.pop("kind"), **fields}


def envelope(result: HarnessResult) -> dict[str, Any]:
    """A result in the form in which oneharness prints one."""
    is_ok = result.status is Status.OK
    told = {
        "harness": result.harness,
        "status": _STATUSES[result.status],
        "exit_code": result.exit_code,
        "duration_ms": round(result.duration_secs * 1000),
        "text": result.text or None,
        "usage": {name: getattr(result.usage, name) for name in _USAGE},
        "session_id": result.session_id,
        "failure_kind": result.failure_kind,
        # Callers take it for the answer where the text is blank, which records of a protocol are not.
        "stdout": result.text if is_ok else result.stdout,
        "stderr": result.stderr,
        "error": result.error or None,
    }
    return {"results": [told]}


def probe_text(found: Probe) -> str:
    """Whether an agent can be used, in a line."""
    if not found.installed:
        return f"{found.harness}  not installed: {found.note}"
    if found.logged_in is False:
        return f"{found.harness}  {version_of(found)}  not logged in: {advice(found)}"
    login = "logged in" if found.logged_in else "login unknown"
    return f"{found.harness}  {version_of(found)}  {login}{f' ({found.note})' if found.note else ''}  {found.path}"


def known_text(found: Probe, able: Capabilities) -> str:
    """Whether an agent can be used, and what it can be asked for, in two lines."""
    return f"{probe_text(found)}\n    {capabilities_text(able)}"


def known_data(found: Probe, able: Capabilities) -> dict[str, Any]:
    """The same as programs get it."""
    return {**msgspec.to_builtins(found), "capabilities": msgspec.to_builtins(able)}


def capabilities_text(able: Capabilities) -> str:
    """What a harness can be asked for, and what it tells, in a line."""
    told = {"usage": able.usage, "cost": able.cost, "tools": able.tool_events}
    limits = {"turns": able.turns, "dollars": able.budget_usd}
    parts = {
        "modes": ", ".join(able.modes),
        "resume": able.resume,
        "system prompt": "" if able.system_prompt is SystemPrompt.NONE else able.system_prompt.value,
        "tells": ", ".join(name for name, does in told.items() if does),
        "limits": ", ".join(name for name, does in limits.items() if does),
        "budget while running": able.budget_while_running,
        "asks by": "" if able.permission is Permission.NONE else able.permission.value,
        "ACP": " ".join(able.acp or ()),
        "tested with": able.tested or "nothing but its documentation",
    }
    return " · ".join(name if has is True else f"{name} {has}" for name, has in parts.items() if has)


def advice(found: Probe) -> str:
    """What there is to do about an agent that cannot be used."""
    return found.note.removeprefix("not logged in: ")


def summary(result: HarnessResult) -> str:
    """How to go on with a conversation, and what it took."""
    session = f"session {result.session_id}" if result.session_id else "no session"
    return f"{result.status.value}: {session}, {_used(result.usage)}, {result.duration_secs:.1f} s"


def one_line(text: str) -> str:
    """What others wrote, in one line that cannot act on a terminal and is not too long."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def version_of(found: Probe) -> str:
    """The version of an agent."""
    return found.version or "version unknown"


def _used(usage: Usage) -> str:
    known = [amount for amount in (usage.input_tokens, usage.output_tokens) if amount is not None]
    tokens = f"{sum(known):,} tokens" if known else "? tokens"
    cost = "$?" if usage.cost_usd is None else f"${usage.cost_usd:.4g}"
    return f"{'at least ' if usage.incomplete else ''}{tokens}, {cost}"


def _print_json(data: Any, indent: int | None = None) -> None:
    separators = (",", ":") if indent is None else None
    text = json.dumps(data, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    # As bytes: JSON is UTF-8 in every locale.
    click.echo(text.encode(errors="replace"))
