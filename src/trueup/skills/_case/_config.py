"""How cases are run: by which provider, on which platforms and models, and who judges."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

PositiveSeconds = Annotated[float, Meta(gt=0, le=86_400)]


class HarnessProviderConfig(
    Struct, frozen=True, kw_only=True, tag_field="kind", tag="harness", forbid_unknown_fields=True
):
    """trueup's own harness layer runs the skill."""

    judge_harness: str = "claude-code"
    timeout_secs: PositiveSeconds = 120
    mode: Literal["read_only", "edit", "full"] = "full"
    delivery: Literal["system", "install"] = "system"


class OneharnessProviderConfig(
    Struct, frozen=True, kw_only=True, tag_field="kind", tag="oneharness", forbid_unknown_fields=True
):
    """The `oneharness` program runs the skill. `history` and `history_dir` are accepted and have no effect."""

    bin: str = "oneharness"
    judge_harness: str = "claude-code"
    timeout_secs: PositiveSeconds = 120
    history: bool | None = None
    history_dir: str | None = None


class CommandProviderConfig(
    Struct, frozen=True, kw_only=True, tag_field="kind", tag="command", forbid_unknown_fields=True
):
    """A program of the author's answers, one process per call."""

    command: list[str]
    timeout_secs: PositiveSeconds = 120


ProviderConfig = HarnessProviderConfig | OneharnessProviderConfig | CommandProviderConfig


class Vendor(StrEnum):
    """Whose API a judge is asked over."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class ApiJudge(Struct, frozen=True, kw_only=True, tag_field="kind", tag="api", forbid_unknown_fields=True):
    """The judge and the simulated user are a model that is called directly. `curl_bin` is accepted and has no effect."""

    vendor: Vendor
    api_key_env: str | None = None
    base_url: str | None = None
    timeout_secs: PositiveSeconds = 60
    strict_json: bool = True
    curl_bin: str | None = None


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A skill test project. `judges` is a panel of models, `votes` how often each of them is asked."""

    provider: ProviderConfig = HarnessProviderConfig()
    platforms: tuple[str, ...] = ("claude-code",)
    models: tuple[str, ...] = ("",)
    judge_model: str = ""
    max_turns: Annotated[int, Meta(ge=1)] = 8
    judge: ApiJudge | None = None
    judges: tuple[str, ...] = ()
    votes: Annotated[int, Meta(ge=1, le=99)] = 1

    @property
    def judge_models(self) -> tuple[str, ...]:
        """Who judges: the panel, or else the one judge, who is the first model where none is named."""
        return self.judges or (self.judge_model or self.models[0],)
