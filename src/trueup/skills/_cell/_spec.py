"""A cell before it is run: everything that decides what happens in it, as data that can be sent elsewhere."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.text import writable

from .._case import Case
from .._model import Delivery, SkillRef
from .._report import Arm

# Changed whenever cells of before say something else than cells of now would.
_FORMAT = 1


class CellSkill(Struct, frozen=True, kw_only=True):
    """The skill of a cell: its folder, its text without the frontmatter, and the digest of all that is in the folder."""

    name: str
    path: str
    instructions: str
    digest: str


class CellSpec(Struct, frozen=True, kw_only=True):
    """One cell: a case on a platform and model, with the skill or without, for the n-th time.

    `judges` are asked `votes` times each; the first of them also plays the user and says when a conversation is done.
    `platform_version` is what the platform says of itself, `provider` a fingerprint of how it is reached and
    `prompts` one of all prompts. `fixtures` is the `fixtures_digest` of the case.
    """

    case: Case
    skill: CellSkill
    platform: str
    model: str
    repeat: int
    provider: str
    prompts: str
    fixtures: str
    platform_version: str | None = None
    arm: Arm = Arm.WITH
    judges: tuple[str, ...] = ("",)
    votes: int = 1
    max_turns: int = 8
    delivery: Delivery = Delivery.SYSTEM

    @property
    def key(self) -> str:
        """A hash of all that decides what happens, and of nothing else: the same project elsewhere has the same keys."""
        deciding = msgspec.to_builtins(self, enc_hook=str)
        deciding["case"] = _without_places(deciding["case"])
        deciding["skill"] = None if self.arm is Arm.WITHOUT else [self.skill.name, self.skill.digest]
        deciding["max_turns"] = self.turns_allowed
        return hashlib.sha256(msgspec.json.encode([_FORMAT, writable(deciding)], order="sorted")).hexdigest()

    @property
    def turns_allowed(self) -> int:
        """How many replies the skill may give."""
        if self.case.user is None:
            return 1
        return self.case.user.max_turns or self.max_turns

    @property
    def skill_ref(self) -> SkillRef | None:
        """The skill as the provider gets it; nothing in the arm without."""
        if self.arm is Arm.WITHOUT:
            return None
        return SkillRef(self.skill.name, self.skill.path, self.skill.instructions)

    def encode(self) -> bytes:
        """The cell as JSON, for an executor that runs it on another machine."""
        return msgspec.json.encode(self, enc_hook=str)

    @classmethod
    def decode(cls, data: bytes) -> CellSpec:
        """What `encode` wrote."""
        return msgspec.json.decode(data, type=cls, dec_hook=_as_path)


def _without_places(case: dict[str, Any]) -> dict[str, Any]:
    """A case without the paths of this machine; what stands at them has digests of its own in the key."""
    content = {name: value for name, value in case.items() if name not in {"source", "skill"}}
    if content.get("workspace"):
        content["workspace"] = {**content["workspace"], "folder": None}
    return content


def _as_path(kind: type[Path], value: str) -> Path:
    """The one kind of value in a cell that JSON does not have."""
    return kind(value)
