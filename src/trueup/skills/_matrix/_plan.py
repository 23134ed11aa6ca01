"""What is to be run: every cell of a request, made when it is its turn."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from trueup.core.errors import InputError

from .._case import (
    Activated,
    Boolean,
    Called,
    Case,
    Config,
    HarnessProviderConfig,
    NotActivated,
    NotCalled,
    Numeric,
    ToolCalled,
    ToolOrder,
)
from .._cell import CellSkill, CellSpec, fixtures_digest
from .._model import Delivery, Needs, Provider
from .._providers import PROMPTS_FINGERPRINT
from .._report import Arm
from .._skill import Skill, folder_digest, load_skill


class Place(NamedTuple):
    """Where a cell stands in the matrix; in the order in which a report has them."""

    case: int
    platform: int
    model: int
    arm: int
    repeat: int


class Plan(Struct, frozen=True, kw_only=True):
    """All that the cells of a run are made of."""

    cases: tuple[Case, ...]
    skills: dict[Path, Skill]
    fixtures: tuple[str, ...]
    config: Config
    versions: dict[str, str | None]
    provider: str
    arms: tuple[Arm, ...]
    repeat: int

    def __len__(self) -> int:
        wide = len(self.config.platforms) * len(self.config.models) * len(self.arms)
        return len(self.cases) * wide * self.repeat

    def places(self) -> Iterator[Place]:
        """Every case once before any again, and platforms in turn: what is cut short has seen something of all."""
        platforms, models = self.config.platforms, self.config.models
        for repeat in range(1, self.repeat + 1):
            for case in range(len(self.cases)):
                for model in range(len(models)):
                    for platform in range(len(platforms)):
                        for arm in range(len(self.arms)):
                            yield Place(case, platform, model, arm, repeat)

    def spec(self, place: Place) -> CellSpec:
        case, platform = self.cases[place.case], self.config.platforms[place.platform]
        return CellSpec(
            case=case,
            skill=cell_skill(self.skills[case.skill]),
            platform=platform,
            model=self.config.models[place.model],
            repeat=place.repeat,
            arm=self.arms[place.arm],
            provider=self.provider,
            prompts=PROMPTS_FINGERPRINT,
            fixtures=self.fixtures[place.case],
            platform_version=self.versions.get(platform),
            judges=self.config.judge_models,
            votes=self.config.votes,
            max_turns=self.config.max_turns,
            delivery=delivery_of(self.config),
        )


async def make_plan(
    cases: Sequence[Case], config: Config, provider: Provider, *, arms: Sequence[Arm], repeat: int
) -> Plan:
    """Read every skill once, and ask the provider for what it can do, before anything is spent."""
    if not cases:
        raise InputError("there is no case to run")
    skills = await asyncio.to_thread(skills_of, cases)
    fixtures = await asyncio.to_thread(lambda: tuple(fixtures_digest(case) for case in cases))
    versions = await provider.prepare(config.platforms, needs_of(cases))
    return Plan(
        cases=tuple(cases),
        skills=skills,
        fixtures=fixtures,
        config=config,
        versions=dict(versions),
        provider=provider_fingerprint(config),
        arms=tuple(arms),
        repeat=repeat,
    )


def is_unchanged(spec: CellSpec) -> bool:
    """Whether the skill and the fixtures of a cell still are what its key says. Blocks."""
    try:
        is_same_skill = spec.arm is Arm.WITHOUT or folder_digest(Path(spec.skill.path)) == spec.skill.digest
        return is_same_skill and fixtures_digest(spec.case) == spec.fixtures
    except InputError:
        return False


def matching(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """The cases whose name has one of these in it, or fits it where it is a glob; all where nothing is asked for."""
    if not patterns:
        return list(cases)
    found = [case for case in cases if any(_matches(case.name, pattern) for pattern in patterns)]
    if not found:
        names = ", ".join(case.name for case in cases[:5])
        raise InputError(f"no case has {' or '.join(map(repr, patterns))} in its name; there are: {names}, …")
    return found


def is_judged(case: Case) -> bool:
    """Whether a judge, or a simulated user, is asked about a case."""
    return case.user is not None or any(isinstance(each, Boolean | Numeric) for each in case.evals)


def needs_of(cases: Sequence[Case]) -> Needs:
    """What these cases want of every platform."""
    evals = [each for case in cases for each in case.evals]
    return Needs(
        mocks=any(case.mocks or case.spy for case in cases) or _any_is(evals, Called, NotCalled),
        activation=_any_is(evals, Activated, NotActivated),
        tool_events=_any_is(evals, ToolCalled, ToolOrder),
        mock_actions=tuple(sorted({action for case in cases for mock in case.mocks for action in mock.actions})),
        judge=any(map(is_judged, cases)),
    )


def provider_fingerprint(config: Config) -> str:
    """A digest of how platforms and judges are reached. How long is waited for an answer decides about no answer."""
    said = msgspec.to_builtins({"provider": config.provider, "judge": config.judge})
    for part in said.values():
        for name in ("timeout_secs", "curl_bin"):
            (part or {}).pop(name, None)
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[:16]


def skills_of(cases: Iterable[Case]) -> dict[Path, Skill]:
    """The skills of cases by their folders, each read once. Blocks."""
    return {folder: load_skill(folder) for folder in dict.fromkeys(case.skill for case in cases)}


def cell_skill(skill: Skill) -> CellSkill:
    """A skill as its cells have it."""
    return CellSkill(name=skill.name, path=str(skill.folder), instructions=skill.instructions, digest=skill.digest)


def delivery_of(config: Config) -> Delivery:
    """How skills reach the platforms."""
    provider = config.provider
    return Delivery(provider.delivery) if isinstance(provider, HarnessProviderConfig) else Delivery.SYSTEM


def _matches(name: str, pattern: str) -> bool:
    is_glob = any(each in pattern for each in "*?[")
    return fnmatchcase(name, pattern) if is_glob else pattern in name


def _any_is(evals: Sequence[object], *kinds: type) -> bool:
    return any(isinstance(each, kinds) for each in evals)
