"""The `oneharness` program as the provider: it runs the skill on any harness that it knows, and the judge on one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueup.core.errors import InputError, Kind

from .._case import Mock, OneharnessProviderConfig
from .._model import (
    AssistantTurn,
    Judgement,
    Message,
    MockCall,
    Needs,
    ProviderError,
    Query,
    RespondRequest,
    ToolEvent,
    UserTurn,
)
from ._mock_rules import has_sequences, read_calls, rules_of
from ._oneharness_program import ALWAYS_RESUMED, CONTEXT, GRACE_SECS, Abilities, OneharnessProgram, Ran, Run, base_of
from ._prompts import judge_prompt, latest_user_message, respond_prompt, user_prompt
from ._replies import read_events, read_json
from ._verdict import parse_verdict

JUDGE_CONTEXT = "oneharness:judge"
_TOOL_NAMES = ("tool_name", "toolName", "tool")
_TOOL_INPUTS = ("tool_input", "toolArgs")


class OneharnessProvider:
    """Runs each call by `oneharness run`. The judge and the simulated user are on a harness of their own."""

    def __init__(
        self,
        config: OneharnessProviderConfig,
        environ: Mapping[str, str],
        folder: Path,
        *,
        grace_secs: float = GRACE_SECS,
    ) -> None:
        self._judge_harness = config.judge_harness
        self._name = config.bin
        self._program = OneharnessProgram(config, environ, folder, grace_secs)
        self._abilities: Abilities | None = None

    def __repr__(self) -> str:
        return f"OneharnessProvider({self._name!r})"

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        """The versions of the program and of each harness together: either may change what comes out."""
        if needs.activation:
            raise InputError(
                "oneharness gives a skill as a system prompt, so none is ever activated: use `provider.kind: harness` "
                "with `delivery: install`"
            )
        abilities = await self._able()
        _refuse_unknown((*platforms, self._judge_harness) if needs.judge else platforms, abilities)
        _refuse_lacking(needs, abilities)
        _refuse_unhooked(platforms, needs, abilities)
        installed = await self._program.versions(platforms)
        return {
            platform: f"oneharness {abilities.version}, {platform} {installed.get(platform, 'of unknown version')}"
            for platform in platforms
        }

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        abilities = await self._able()
        with tempfile.TemporaryDirectory(prefix="trueup-mocks-") as aside:
            watch = _watch(request, Path(aside), abilities)
            ran = await self._program.run(
                Run(
                    harness=request.platform,
                    model=request.model,
                    prompt=_prompt(request),
                    folder=request.folder,
                    system=None if request.skill is None else request.skill.instructions,
                    resume=request.session,
                    extra=(*(("--events",) if "--events" in abilities.flags else ()), *watch),
                ),
                abilities.flags,
            )
            events = read_events(ran.result.get("events"))
            calls = None if request.mocks is None else _seen_calls(Path(aside), request, request.mocks, events, ran)
        session = ran.result.get("session_id")
        return AssistantTurn(
            message=ran.text,
            usage=ran.usage,
            session_id=session if isinstance(session, str) and session else None,
            events=events,
            events_told=isinstance(ran.result.get("events"), list),
            mock_calls=calls,
            notes=_notes(request, ran),
        )

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        ran = await self._aside(model, user_prompt(persona, messages))
        return UserTurn(message=ran.text, usage=ran.usage)

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        ran = await self._aside(model, judge_prompt(query, messages))
        try:
            return msgspec.structs.replace(parse_verdict(ran.text, query, JUDGE_CONTEXT), usage=ran.usage)
        except ProviderError as error:
            error.usage = ran.usage
            raise

    def supports_resume(self, platform: str) -> bool:
        """Where `oneharness list` says so; before it was asked, the harnesses that always could."""
        return base_of(platform) in ALWAYS_RESUMED if self._abilities is None else self._abilities.resumes(platform)

    async def _aside(self, model: str, prompt: str) -> Ran:
        abilities = await self._able()
        # An empty folder: what lies about in a project is no evidence, and no instruction either.
        with tempfile.TemporaryDirectory(prefix="trueup-judge-") as folder:
            asked = Run(harness=self._judge_harness, model=model, prompt=prompt, folder=Path(folder))
            return await self._program.run(asked, abilities.flags)

    async def _able(self) -> Abilities:
        if self._abilities is None:
            self._abilities = await self._program.abilities()
        return self._abilities


def _refuse_unknown(harnesses: Sequence[str], abilities: Abilities) -> None:
    strangers = [name for name in harnesses if not abilities.knows(name)]
    if strangers:
        known = ", ".join(sorted(abilities.harnesses))
        raise InputError(f"oneharness knows no harness {strangers[0]!r}; it knows {known}")


def _refuse_lacking(needs: Needs, abilities: Abilities) -> None:
    lacking = [
        flag
        for flag, needed in (
            ("--events", needs.tool_events),
            ("--mock-rules", needs.mocks),
            ("--spy-file", needs.mocks),
        )
        if needed and flag not in abilities.flags
    ]
    if lacking:
        raise InputError(
            f"this oneharness ({abilities.version}) has no `{lacking[0]}`, which a case needs; "
            "install a newer one with `pip install -U oneharness-cli`"
        )


def _refuse_unhooked(platforms: Sequence[str], needs: Needs, abilities: Abilities) -> None:
    for platform in platforms:
        unable = [action for action in needs.mock_actions if not abilities.mocks(platform, action)]
        if unable:
            raise InputError(
                f"oneharness cannot `{unable[0]}` tool calls of {platform}; leave it out of `platforms`, or the mock out "
                "of the case"
            )


def _prompt(request: RespondRequest) -> str:
    return respond_prompt(request.messages) if request.session is None else latest_user_message(request.messages)


def _watch(request: RespondRequest, aside: Path, abilities: Abilities) -> tuple[str, ...]:
    """The words that have the mocks applied and every call written down."""
    if request.mocks is None:
        return ()
    if "--spy-file" not in abilities.flags:
        raise ProviderError(CONTEXT, "this oneharness cannot watch tool calls; install a newer one", kind=Kind.INPUT)
    if has_sequences(request.mocks):
        told = "oneharness cannot answer one call otherwise than the next: give this `stub` one output, or use another provider"
        raise ProviderError(CONTEXT, told, kind=Kind.INPUT)
    words: tuple[str, ...] = ("--spy-file", str(aside / "spy.jsonl"))
    rules = rules_of(request.mocks)
    if rules is not None:
        (aside / "rules.json").write_text(json.dumps(rules))
        words += ("--mock-rules", str(aside / "rules.json"))
    return words


def _seen_calls(
    aside: Path, request: RespondRequest, mocks: Sequence[Mock], events: Sequence[ToolEvent], ran: Ran
) -> tuple[MockCall, ...]:
    spied = aside / "spy.jsonl"
    lines = spied.read_text(errors="replace").splitlines() if spied.is_file() else []
    context = f"{CONTEXT}:{request.platform}"
    try:
        calls = read_calls([_spied(line) for line in lines if line.strip()], mocks)
    except ValueError as error:
        told = f"what oneharness wrote down of the tool calls cannot be read: {error}"
        raise ProviderError(context, told, kind=Kind.PROTOCOL, usage=ran.usage) from None
    called = sum(event.kind == "tool_call" for event in events)
    if called and not calls:
        # Otherwise `not_called` would pass wherever hooks do not work.
        told = f"{request.platform} called {called} tools and its hooks saw none of them, so mocks have no effect there"
        raise ProviderError(context, told, kind=Kind.PROTOCOL, usage=ran.usage)
    return calls


def _spied(line: str) -> dict[str, Any]:
    record = read_json(line)
    if not isinstance(record, dict):
        raise ValueError(f"a line is no object: {line[:100]}")
    told = record.get("event")
    event: dict[str, Any] = told if isinstance(told, dict) else {}
    return {
        "tool": next((event[key] for key in _TOOL_NAMES if isinstance(event.get(key), str)), None),
        "input": next((event[key] for key in _TOOL_INPUTS if key in event), None),
        "action": record.get("action"),
        "rule": record.get("rule"),
    }


def _notes(request: RespondRequest, ran: Ran) -> tuple[str, ...]:
    """What the report should say: oneharness puts the skill before the prompt where a harness has no system prompt."""
    command = ran.result.get("command")
    if request.skill is None or not request.skill.instructions.strip() or not isinstance(command, list):
        return ()
    takes_one = any(isinstance(word, str) and word.startswith("-") and "system" in word for word in command)
    if takes_one:
        return ()
    return (f"{request.platform} takes no system prompt, so the skill was put before the prompt",)
