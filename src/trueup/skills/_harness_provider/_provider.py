"""The provider: agents of this machine run the skill, play the user and judge."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from trueup.core.errors import InputError, Kind
from trueup.core.protocols import Event
from trueup.harness import (
    FolderLauncher,
    HarnessRequest,
    HarnessResult,
    Status,
    capabilities_of,
    told_variables,
    user_environment,
)

from .._case import HarnessProviderConfig
from .._model import (
    AssistantTurn,
    Judgement,
    Message,
    Needs,
    ProviderError,
    Query,
    RespondRequest,
    Role,
    UserTurn,
)
from ._platform import Platform, failure, find_platform, lacking, unready
from ._turn import Turn

JUDGE_CONTEXT = "harness:judge"


class HarnessProvider:
    """A `Provider` over trueup's own harness layer. The agents run as the user, in the folder of the cell.

    Of their configuration as little is in force as possible: a skill is tested, and not somebody's settings. What stubs
    have answered is kept by the folder of a cell, from its first turn on.
    """

    def __init__(self, config: HarnessProviderConfig, environ: Mapping[str, str], folder: Path) -> None:
        self._config = config
        self._environ = user_environment(environ)
        self._folder = folder
        self._launcher = FolderLauncher(self._environ)
        self._platforms: dict[str, Platform] = {}
        self._stubs: dict[Path, Counter[int]] = {}

    def __repr__(self) -> str:
        return f"HarnessProvider({self._config.delivery!r}, judge {self._config.judge_harness!r})"

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        """The version of each platform. Everything that is wrong with any of them is said at once."""
        tested = [await self._platform(name) for name in dict.fromkeys(platforms)]
        problems = [problem for platform in tested for problem in lacking(platform, self._config, needs)]
        if problems:
            raise InputError("\n".join(problems))
        asked = {platform.name: platform for platform in tested}
        if needs.judge:
            asked.setdefault(self._config.judge_harness, await self._platform(self._config.judge_harness))
        probes = await asyncio.gather(*(platform.harness.probe() for platform in asked.values()))
        wrong = [error for each in zip(asked.values(), probes, strict=True) if (error := unready(*each))]
        if wrong:
            raise ProviderError(wrong[0].context, "\n".join(map(str, wrong)), kind=wrong[0].kind)
        versions = dict(zip(asked, (probe.version for probe in probes), strict=True))
        return {platform.name: versions[platform.name] for platform in tested}

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        try:
            platform = await self._platform(request.platform)
            turn = Turn(request, platform, self._config, self._used_stubs(request))
            return await turn.take(self._launcher, told_variables(platform.name, self._environ))
        except InputError as error:
            raise ProviderError(f"harness:{request.platform}", str(error), kind=error.kind) from None

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        from .._providers import user_prompt

        result = await self._ask_aside(model, user_prompt(persona, messages))
        return UserTurn(message=result.text.strip(), usage=result.usage)

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        from .._providers import judge_prompt, parse_verdict

        result = await self._ask_aside(model, judge_prompt(query, messages))
        try:
            return replace(parse_verdict(result.text, query, JUDGE_CONTEXT), usage=result.usage)
        except ProviderError as error:
            error.usage = result.usage
            raise

    def supports_resume(self, platform: str) -> bool:
        """What the registry says of the harness; of one that is not known, no."""
        try:
            return capabilities_of(platform, self._environ, self._folder).resume
        except InputError:
            return False

    async def _ask_aside(self, model: str, prompt: str) -> HarnessResult:
        """An answer of the judge's harness, which knows nothing but the prompt and may do as little as can be."""
        try:
            result = await self._run_aside(await self._platform(self._config.judge_harness), model, prompt)
        except InputError as error:
            raise ProviderError(JUDGE_CONTEXT, str(error), kind=error.kind) from None
        if result.status is not Status.OK:
            raise failure(JUDGE_CONTEXT, result, result.usage)
        if not result.text.strip():
            why = f"{result.harness} was asked to judge or to play the user, and said nothing"
            raise ProviderError(JUDGE_CONTEXT, why, kind=Kind.PROTOCOL, usage=result.usage)
        return result

    async def _run_aside(self, platform: Platform, model: str, prompt: str) -> HarnessResult:
        async with _empty_folder() as folder:
            request = HarnessRequest(
                prompt=prompt,
                cwd=str(folder),
                model=model or None,
                mode=platform.least_mode,
                timeout_secs=self._config.timeout_secs,
                env=told_variables(platform.name, self._environ),
            )
            return await platform.harness.run(request, self._launcher, _Nobody())

    async def _platform(self, name: str) -> Platform:
        found = self._platforms.get(name)
        if found is None:
            found = await asyncio.to_thread(find_platform, name, self._environ, self._folder)
            self._platforms[name] = found
        return found

    def _used_stubs(self, request: RespondRequest) -> Counter[int]:
        if all(message.role is not Role.ASSISTANT for message in request.messages):
            self._stubs.pop(request.folder, None)
        if not any(isinstance(mock.stub, list) for mock in request.mocks or ()):
            return Counter()
        return self._stubs.setdefault(request.folder, Counter())


class _Nobody:
    """A `Recorder` for what nobody wants to know."""

    async def record(self, event: Event) -> None: ...


@asynccontextmanager
async def _empty_folder() -> AsyncIterator[Path]:
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="trueup-judge-"))
    try:
        yield folder
    finally:
        # Goes on where this is cancelled: an agent may have left a lot there.
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
