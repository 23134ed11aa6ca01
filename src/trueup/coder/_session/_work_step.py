"""The work step: the engine is given a prompt, works, and what it made is taken out of its reach."""

from __future__ import annotations

import asyncio
from pathlib import Path

from trueup.harness import Engine, Task
from trueup.policy import POLICY_FILE
from trueup.runs import Turn
from trueup.workspace import Profile, Workspace

from ._chronicle import Chronicle
from ._engine_turn import engine_turn
from ._failures import Failure
from ._ground import Ground
from ._meter import Meter, Rivals, unmetered
from ._prompts import repair_prompt, work_prompt
from ._states import FailureReason, State
from ._way_out import Tape, chosen_network, way_out
from .events import BudgetSpent, DiffReady, EngineEnded, EngineSelected, IterationStarted

IGNORED_SHOWN = 10
PROMPT_FILE = "/run/trueup/prompt.md"


class WorkStep:
    """From `contract_confirmed` or a repair to `verifying`. Holds the workspace as long as the session runs."""

    def __init__(self, chronicle: Chronicle, ground: Ground, rivals: Rivals | None) -> None:
        self._chronicle = chronicle
        self._story = chronicle.story
        self._ground = ground
        self._rivals = rivals
        self._workspace: Workspace | None = None
        named, root = chronicle.story.request.cassette, ground.site.repo.root
        self._tape = None if named is None else Tape(Path(chronicle.story.request.folder, named), root)

    async def begin(self) -> bool:
        """Make sure that there is an engine, and say which."""
        engine = await self._ground.engine()
        request = self._story.request
        selected = EngineSelected(
            engine=engine.name,
            version=await engine.version(),
            model=request.model,
            sandbox=str(self._ground.site.layers.backend),
            network=chosen_network(request.network, engine, confined=self._ground.confined).value,
            left_out=[*self._left_out(engine), *await self._ungoverned(engine)],
        )
        await self._chronicle.record(selected)
        return await self._chronicle.enter(State.RUNNING)

    def _left_out(self, engine: Engine) -> list[str]:
        """What the person set up for the agent, and what it works without."""
        if engine.login is None or self._story.request.user_config:
            return []
        return engine.login.configured(self._ground.site.layers.environ)

    async def _ungoverned(self, engine: Engine) -> list[str]:
        """The policies, where the engine does not ask before it acts: then only the sandbox holds it."""
        if engine.asks_first or await self._ground.gate() is None:
            return []
        return [f"{POLICY_FILE}: {engine.name} does not ask before it acts, and is held by the sandbox alone"]

    async def work(self) -> bool:
        """Let the engine have one go."""
        await self._chronicle.hear()
        workspace = await self._open_workspace()
        number, prompt = len(self._story.attempts) + 1, self._prompt()
        await self._chronicle.record(IterationStarted(number=number, prompt=prompt, workspace=workspace.id))
        ended = await self._let_work(workspace, prompt)
        await self._chronicle.keep(_turn(prompt, ended))
        await self._chronicle.record(ended)
        await self._take_change(workspace, number)
        return await self._keep_within_limits() and await self._chronicle.enter(State.VERIFYING)

    async def put_away(self) -> None:
        """Let go of the workspace: of a session that has ended it is removed, of one that waits it stays."""
        if self._workspace is None:
            if self._story.state.is_final:
                await self._ground.remove_workspace()
        elif self._story.state.is_final:
            await self._workspace.discard()
        else:
            await self._workspace.release()
        self._workspace = None

    async def _open_workspace(self) -> Workspace:
        if self._workspace is not None and self._workspace.base != self._story.base:
            await self._workspace.discard()
            self._workspace = None
        if self._workspace is None:
            self._workspace = await self._ground.old_workspace() or await self._ground.new_workspace()
        return self._workspace

    def _prompt(self) -> str:
        story, contract = self._story, self._ground.contract()
        if not story.attempts:
            return work_prompt(story.request.intent, contract, story.words)
        return repair_prompt(story.request.intent, contract, story.verdict, story.attempts, story.words)

    async def _let_work(self, workspace: Workspace, prompt: str) -> EngineEnded:
        engine, story, ground = await self._ground.engine(), self._story, self._ground
        file = ground.folder / "prompt.md"
        await asyncio.to_thread(file.write_text, prompt, errors="replace")
        meter = Meter(self._chronicle, story.request.limits, story.used, story.turns, self._rivals)
        network = chosen_network(story.request.network, engine, confined=ground.confined)
        environ = ground.site.layers.environ
        user_config = story.request.user_config
        async with way_out(engine, network, environ, ground.folder, meter, self._tape, user_config=user_config) as way:
            readable = {**engine.files, str(file): PROMPT_FILE} if ground.confined else {}
            profile = Profile(network=way.network, readable=readable, writable=dict(way.writable))
            async with workspace.open(profile, await ground.gate()) as shell, way.opened(shell) as env:
                task = Task(
                    prompt=prompt,
                    prompt_file=PROMPT_FILE if ground.confined else str(file),
                    model=story.request.model,
                    idle_secs=story.request.limits.idle_secs,
                    resume=story.conversation,
                    env=env,
                )
                return await engine_turn(engine, task, shell, meter, story, way.proxy)

    async def _take_change(self, workspace: Workspace, number: int) -> None:
        change = await workspace.snapshot()
        await self._ground.keep(change.tree, self._story.base)
        stat = await self._ground.site.mirror.diff_stat(self._story.base, change.tree)
        ready = DiffReady(
            number=number,
            tree=change.tree,
            files=stat.files,
            insertions=stat.insertions,
            deletions=stat.deletions,
            ignored=change.ignored[:IGNORED_SHOWN],
            ignored_total=change.ignored_total,
            binaries=sum(file.insertions is None for file in stat.per_file),
        )
        await self._chronicle.record(ready)

    async def _keep_within_limits(self) -> bool:
        story, limits = self._story, self._story.request.limits
        unknown = unmetered(limits, story.used, story.turns)
        spent = BudgetSpent(
            usage=story.used,
            turns=story.turns,
            engine_secs=story.engine_secs,
            iterations=len(story.attempts),
            unmetered=unknown,
        )
        await self._chronicle.record(spent)
        if unknown and limits.strict:
            what = f"the engine did not report its {' and '.join(unknown)}, so that it could be held to no limit"
            return await self._chronicle.fail(Failure(FailureReason.BUDGET_EXHAUSTED, what))
        return True


def _turn(prompt: str, ended: EngineEnded) -> Turn:
    outcome = {"kind": "exited", "code": ended.exit_code} if ended.reason is None else {"kind": ended.reason.value}
    return Turn(prompt=prompt, tool="drive_cli", output=ended.output_tail or ended.message, cli_outcome=outcome)
