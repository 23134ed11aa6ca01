"""Which provider a configuration means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trueup.core.errors import InputError

from .._case import CommandProviderConfig, Config, OneharnessProviderConfig
from .._model import Provider
from .._secrets import Secrets
from ._api_judge import ApiJudgeProvider
from ._command import CommandProvider
from ._discreet import DiscreetProvider
from ._oneharness import OneharnessProvider
from ._split import SplitProvider


def provider_for(config: Config, environ: Mapping[str, str], folder: Path) -> Provider:
    """The provider of a configuration that stands in a folder; an `InputError` where it cannot be one."""
    provider = _provider(config, environ, folder)
    return DiscreetProvider(provider, environ) if Secrets(environ) else provider


def _provider(config: Config, environ: Mapping[str, str], folder: Path) -> Provider:
    responder = _responder(config, environ, folder)
    if config.judge is None:
        return responder
    if not (config.judge_model or config.judges or (config.models and config.models[0])):
        raise InputError("`judge.kind: api` needs the name of a model; set `judge_model`")
    return SplitProvider(responder, ApiJudgeProvider(config.judge, environ))


def _responder(config: Config, environ: Mapping[str, str], folder: Path) -> Provider:
    provider = config.provider
    if isinstance(provider, CommandProviderConfig):
        return CommandProvider(provider, environ, folder)
    if isinstance(provider, OneharnessProviderConfig):
        return OneharnessProvider(provider, environ, folder)
    from .._harness_provider import HarnessProvider

    return HarnessProvider(provider, environ, folder)
