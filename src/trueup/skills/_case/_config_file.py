"""Where the configuration of a project is found, and what flags make of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from trueup.core.documents import Document
from trueup.core.errors import InputError
from trueup.core.settings import PROJECT_FILE, project_file

from ._config import CommandProviderConfig, Config, HarnessProviderConfig, OneharnessProviderConfig, ProviderConfig

CONFIG_FILE = "skilltest.yaml"
CONFIG_NAMES = frozenset({CONFIG_FILE, "skilltest.yml", PROJECT_FILE, "trueup.yml"})
PART = "skills"
# What `trueup skill init` configures.
WITHOUT_A_MODEL = ["trueup", "skill", "provider"]

Mistake = tuple[tuple[str | int, ...], str]


def load_config(path: Path | None, folder: Path) -> Config:
    """The configuration in a file, or else of a folder: its `skilltest.yaml`, or `skills` of the nearest `trueup.yaml`.

    The file in the folder itself is nearer than one above it. Two in one folder are refused: nobody could tell which
    of them decides.
    """
    document = _document(path) if path is not None else _nearest(folder)
    if document is None or document.data is None:
        return Config()
    config = document.decode(Config)
    found = [*_mistakes(config), *_unsaid(document.data)]
    if found:
        raise InputError("\n".join(document.describe(where, what) for where, what in found))
    return config


def config_folder(start: Path) -> Path:
    """The nearest folder, at a place or above it, that configures skill tests; the place itself where none does."""
    start = start.absolute()
    return next((place for place in (start, *start.parents) if _configures(place)), start)


def override_config(
    config: Config,
    *,
    platforms: Sequence[str] = (),
    models: Sequence[str] = (),
    judge_model: str | None = None,
    judges: Sequence[str] = (),
    votes: int | None = None,
    max_turns: int | None = None,
    command: Sequence[str] = (),
    oneharness_bin: str | None = None,
    judge_harness: str | None = None,
    timeout_secs: float | None = None,
    mode: Literal["read_only", "edit", "full"] | None = None,
    delivery: Literal["system", "install"] | None = None,
) -> Config:
    """The configuration with what was said for this one run. What is empty or None was not said.

    A `judge_model` replaces a panel, and `command` the provider.
    """
    provider: ProviderConfig = CommandProviderConfig(command=list(command)) if command else config.provider
    said = {
        "platforms": tuple(platforms) or None,
        "models": tuple(models) or None,
        "judge_model": judge_model,
        "judges": tuple(judges) or (() if judge_model else None),
        "votes": votes,
        "max_turns": max_turns,
    }
    about_provider = {
        "bin": oneharness_bin,
        "judge_harness": judge_harness,
        "timeout_secs": timeout_secs,
        "mode": mode,
        "delivery": delivery,
    }
    changed = replace(config, provider=_changed(provider, _given(about_provider)), **_given(said))
    return _checked(changed)


def notes(config: Config) -> list[str]:
    """What the author should know: that nobody real answers, keys without an effect, and a judge that judges itself."""
    told = []
    if isinstance(config.provider, CommandProviderConfig) and config.provider.command == WITHOUT_A_MODEL:
        told.append(
            "no agent ran, whatever a platform is called: `trueup skill provider` answers without a model; for agents, "
            "set `provider: {kind: harness}` and `models`"
        )
    if config.judge is not None and config.judge.curl_bin is not None:
        told.append("judge.curl_bin has no effect: trueup calls the API itself")
    if isinstance(config.provider, OneharnessProviderConfig):
        unused = [key for key in ("history", "history_dir") if getattr(config.provider, key) is not None]
        told += [f"provider.{key} has no effect: every cell is a run of its own, see `trueup runs`" for key in unused]
    if itself := _judging_itself(config):
        told.append(
            f"{itself} is under test and judges too; set judge_model, judges, judge or provider.judge_harness to another"
        )
    return told


def _document(path: Path) -> Document | None:
    document = Document.read(path)
    if path.name != PROJECT_FILE:
        return document
    part = document.part(PART)
    if part is None:
        raise InputError(f"{path}: has no `{PART}`, under which skill tests are configured")
    return part


def _nearest(folder: Path) -> Document | None:
    own = folder / CONFIG_FILE
    project = project_file(folder)
    part = None if project is None else Document.read(project).part(PART)
    if not own.is_file():
        return part
    if part is not None and project is not None and project.parent == own.absolute().parent:
        raise InputError(
            f"{part.locate(())}: `{PART}` and {own} both configure skill tests; keep one of them, or choose with --config"
        )
    return Document.read(own)


def _configures(folder: Path) -> bool:
    project = folder / PROJECT_FILE
    return (folder / CONFIG_FILE).is_file() or (project.is_file() and Document.read(project).part(PART) is not None)


def _given(said: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in said.items() if value is not None}


def _changed(provider: ProviderConfig, said: dict[str, Any]) -> ProviderConfig:
    for key in said:
        if key not in provider.__struct_fields__:
            kind = provider.__struct_config__.tag
            raise InputError(f"{key!r} was given, and a provider of kind {kind!r} has no such thing")
    return replace(provider, **said)


def _checked(config: Config) -> Config:
    """The same configuration, held against the rules for one in a file."""
    try:
        msgspec.convert(msgspec.to_builtins(config), Config)
    except msgspec.ValidationError as error:
        raise InputError(f"what was given cannot be used: {str(error).replace('`', chr(39))}") from None
    found = list(_mistakes(config))
    if config.judge is not None and not all(config.judge_models):
        found.append((("judge_model",), "a judge by API needs a model; set 'judge_model'"))
    if found:
        raise InputError("\n".join(f"{'.'.join(map(str, where))}: {what}" for where, what in found))
    return config


def _unsaid(data: dict[str, Any]) -> Iterator[Mistake]:
    """A judge without its kind, which is only one today."""
    if isinstance(data.get("judge"), dict) and "kind" not in data["judge"]:
        yield ("judge",), "missing required key 'kind'"


def _mistakes(config: Config) -> Iterator[Mistake]:
    for key in ("platforms", "models"):
        if not getattr(config, key):
            yield (key,), f"{key!r} is empty; name at least one"
    for key in ("platforms", "models", "judges"):
        yield from _repeated(key, getattr(config, key))
    for index, platform in enumerate(config.platforms):
        if not platform.strip():
            yield ("platforms", index), "a platform has a name"
    yield from _provider_mistakes(config.provider)
    url = None if config.judge is None else config.judge.base_url
    if url is not None and not url.startswith(("http://", "https://")):
        yield ("judge", "base_url"), f"{url!r} is no address that begins with https:// or http://"


def _provider_mistakes(provider: ProviderConfig) -> Iterator[Mistake]:
    match provider:
        case CommandProviderConfig():
            if not provider.command or not provider.command[0].strip():
                yield ("provider", "command"), "'command' names no program"
        case HarnessProviderConfig() | OneharnessProviderConfig():
            for key in ("bin", "judge_harness"):
                if not getattr(provider, key, key).strip():
                    yield ("provider", key), f"{key!r} is blank"


def _repeated(key: str, values: Sequence[str]) -> Iterator[Mistake]:
    for index, value in enumerate(values):
        if value in values[:index]:
            yield (key, index), f"{value!r} is there twice"


def _judging_itself(config: Config) -> str | None:
    """The platform and model that are under test and judge, or None. A program is not asked who judges in it."""
    shared = [model for model in config.models if model in config.judge_models]
    if config.judge is not None or isinstance(config.provider, CommandProviderConfig):
        return next((model for model in shared if model), None)
    if not shared or config.provider.judge_harness not in config.platforms:
        return None
    return f"{config.provider.judge_harness} with {shared[0] or 'its default model'}"
