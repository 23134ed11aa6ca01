"""What each harness can be asked for and what it tells, as data: shown, written into the documentation, and held to.

What a harness cannot do is refused before anything is spent. One that ignored it would seem to have done it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from trueup.core.errors import InputError

from .._protocol import HarnessRequest, Mode

ALL_MODES = (Mode.READ_ONLY, Mode.EDIT, Mode.FULL)


class SystemPrompt(StrEnum):
    """What becomes of a system prompt: it comes after the agent's own, or in its place, or cannot be given."""

    NONE = "none"
    APPENDED = "appended"
    REPLACES = "replaces"


class Permission(StrEnum):
    """By which way an agent asks before it uses a tool, so that a gate can decide."""

    NONE = "none"
    STDIO = "stdio"
    APP_SERVER = "app-server"
    ACP = "acp"
    LOOP = "loop"


class Capabilities(Struct, frozen=True, kw_only=True):
    """What one harness can do.

    `permission` is the way of the harness under this name. `acp` is how its program, or the one beside it, is started
    as an ACP agent. With `budget_while_running` a budget of `trueup code` is held while it works, because its calls go
    through the proxy; `turns` and `budget_usd` are limits that it knows by itself. `skills` is where below its folder
    it finds skills by itself, if it can be kept from those of the user; with `user_skills` it offers these unless a
    request names others. `tested` is the version whose recorded output
    its tests read; an agent without one is known from its documentation alone.
    """

    modes: tuple[Mode, ...] = (Mode.FULL,)
    resume: bool = False
    system_prompt: SystemPrompt = SystemPrompt.NONE
    model: bool = True
    usage: bool = False
    cost: bool = False
    tool_events: bool = False
    permission: Permission = Permission.NONE
    acp: tuple[str, ...] | None = None
    budget_while_running: bool = False
    turns: bool = False
    budget_usd: bool = False
    skills: str | None = None
    user_skills: bool = False
    tested: str | None = None
    notes: tuple[str, ...] = ()

    def refuse_beyond(self, harness: str, request: HarnessRequest) -> None:
        """An `InputError` where a request asks for something that the harness cannot do."""
        problems = list(self._problems(request))
        if problems:
            raise InputError(f"{harness} cannot do what is asked of it: {'; '.join(problems)}")

    def _problems(self, request: HarnessRequest) -> Iterator[str]:
        if request.mode not in self.modes:
            known = ", ".join(self.modes)
            yield f"nothing would keep it to mode {request.mode.value!r}, it has only {known}"
        if request.resume is not None and not self.resume:
            yield "it cannot go on with a session, begin a new one"
        if request.system and self.system_prompt is SystemPrompt.NONE:
            yield "it has no place for a system prompt, put it into the prompt"
        if request.model is not None and not self.model:
            yield "it cannot be told a model, choose it in its own settings"
        if request.turns is not None and not self.turns:
            yield "it knows no limit of turns, use a timeout, or `trueup code`"
        if request.budget_usd is not None and not self.budget_usd:
            yield "it knows no limit of dollars, use `trueup code --budget-usd`"
        if request.skills is not None and self.skills is None:
            yield "no place is known at which it finds the skills of a folder and none of yours"


BUILT_IN = {
    "claude-code": Capabilities(
        modes=ALL_MODES,
        resume=True,
        system_prompt=SystemPrompt.APPENDED,
        usage=True,
        cost=True,
        tool_events=True,
        permission=Permission.STDIO,
        acp=("claude-agent-acp",),
        budget_while_running=True,
        turns=True,
        budget_usd=True,
        skills=".claude/skills",
        tested="2.1.325",
    ),
    "codex": Capabilities(
        modes=ALL_MODES,
        resume=True,
        system_prompt=SystemPrompt.APPENDED,
        usage=True,
        tool_events=True,
        permission=Permission.APP_SERVER,
        acp=("codex-acp",),
        budget_while_running=True,
        skills=".agents/skills",
        tested="0.163.0",
        notes=(
            "a command that its own sandbox denied is not told",
            "over ACP, where somebody decides, it asks for what it wants to do outside of its own sandbox alone",
        ),
    ),
    "native": Capabilities(
        usage=True,
        tool_events=True,
        permission=Permission.LOOP,
        budget_while_running=True,
        notes=("trueup's own loop: an engine of `trueup code`, and no program",),
    ),
}
