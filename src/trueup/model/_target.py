"""Who serves a model, told by its name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import urlsplit

from msgspec import Struct

from trueup.core.errors import InputError


class Provider(StrEnum):
    """Whose API a model is called by."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENAI_COMPATIBLE = "openai-compatible"


_BASE_URLS = {
    Provider.ANTHROPIC: ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    Provider.OPENAI: ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    Provider.OPENAI_COMPATIBLE: ("OPENAI_COMPATIBLE_BASE_URL", None),
}
_FAMILIES = (
    (re.compile(r"claude"), Provider.ANTHROPIC),
    (re.compile(r"gpt-|chatgpt-|codex-|o\d"), Provider.OPENAI),
)
# What people paste where a base URL is wanted: the whole endpoint.
_ENDPOINTS = {
    Provider.ANTHROPIC: re.compile(r"(/v1)?(/messages)?/*$"),
    Provider.OPENAI: re.compile(r"(/chat/completions|/responses)?/*$"),
    Provider.OPENAI_COMPATIBLE: re.compile(r"(/chat/completions)?/*$"),
}
# These reason before they answer, and OpenAI lets them use tools over its Responses API only.
_REASONING = re.compile(r"(gpt-([5-9]|\d\d)|codex-|o\d)(?!.*chat)")


class Target(Struct, frozen=True):
    """A model and the server to ask for it."""

    provider: Provider
    model: str
    base_url: str
    only_chat: bool = False

    @property
    def host(self) -> str:
        """The server by name and port, for messages."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or self.base_url

    @property
    def reasons_with_tools(self) -> bool:
        """Whether this model can use tools over the Responses API only."""
        return self.provider is Provider.OPENAI and not self.only_chat and bool(_REASONING.match(self.model))


def resolve_model(spec: str, base_url: str | None = None, environ: Mapping[str, str] | None = None) -> Target:
    """Read `claude-…`, `gpt-…`, `PROVIDER:MODEL`, each with `@URL` after it where the server is another one."""
    name, _, url = spec.strip().partition("@http")
    base = base_url or (f"http{url}" if url else None)
    provider, model = _provider_of(name)
    variable, usual = _BASE_URLS[provider]
    base = base or variable_of(variable, environ) or usual
    if not base:
        raise InputError(
            f"where is {spec!r} served? Write `{provider}:{model}@http://HOST/v1`, or set {variable} to its base URL"
        )
    _check_base_url(base, name)
    return Target(provider, model, _ENDPOINTS[provider].sub("", base, count=1), "/chat/completions" in base)


def variable_of(name: str, environ: Mapping[str, str] | None) -> str:
    """A variable without the blanks around it. Nobody who raises an error holds them all: a traceback may show locals."""
    return (os.environ if environ is None else environ).get(name, "").strip()


def _check_base_url(base: str, name: str) -> None:
    try:
        parts = urlsplit(base)
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or not base.isprintable() or " " in base:
        raise InputError(
            f"the base URL of {name!r} must begin with http:// or https:// and name a host, and a port where it has one"
        )
    if parts.username or parts.password:
        raise InputError(f"the base URL of {name!r} holds a password, which would be shown; put it in a variable")


def _provider_of(name: str) -> tuple[Provider, str]:
    prefix, colon, model = name.partition(":")
    if colon and prefix in list(Provider):
        if not model:
            raise InputError(f"which model of {prefix}? Write `{prefix}:MODEL`")
        return Provider(prefix), model
    for pattern, provider in _FAMILIES:
        if pattern.match(name):
            return provider, name
    if not name:
        raise InputError("name a model: `claude-…`, `gpt-…`, or `openai-compatible:NAME@http://HOST/v1`")
    raise InputError(
        f"who serves the model {name!r}? Write `anthropic:{name}`, `openai:{name}` or "
        f"`openai-compatible:{name}@http://HOST/v1`"
    )
