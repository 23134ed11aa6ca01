"""Settings and where each came from: flags, then `TRUEUP_*`, then `trueup.yaml`, then the user's file, then defaults."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from .documents import Document
from .errors import InputError
from .files import user_folder

PREFIX = "TRUEUP_"
PROJECT_FILE = "trueup.yaml"

# What only a person may set: a repository that could would run its own commands on the user's machine, or spend,
# send away or throw away what is the user's.
PERSONAL = frozenset({"generate", "model", "engine", "database_url", "keep_runs_days"})

# Parts of trueup.yaml that other rooms read.
OTHER_PARTS = ("contract", "agents", "skills")


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be configured."""

    generate: Annotated[str, Meta(description="Command that answers a prompt on stdin with text on stdout.")] | None = (
        None
    )
    model: (
        Annotated[str, Meta(description="Model to ask where no `generate` is set: `claude-…`, `openai:NAME`.")] | None
    ) = None
    engine: (
        Annotated[str, Meta(description="Who does the work of `trueup code`: `command:PROGRAM ARGUMENTS`.")] | None
    ) = None
    database_url: (
        Annotated[str, Meta(description="Where runs are kept: `sqlite:///PATH`, `postgresql://…`; default: a file.")]
        | None
    ) = None
    keep_runs_days: (
        Annotated[int, Meta(ge=1, description="`trueup serve` removes runs that ended longer ago; default: none.")]
        | None
    ) = None
    max_attempts: Annotated[int, Meta(ge=1, description="How often a model may try to write a valid contract.")] = 3


class Origin(Struct, frozen=True):
    """Where a value came from."""

    layer: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.layer} {self.place}".strip()


class Resolved(Struct, frozen=True):
    """The settings in force, the origin of each, and what looked like a setting but is none."""

    settings: Settings
    origins: dict[str, Origin]
    notes: list[str] = []


class Layer(Struct, frozen=True):
    """One source of settings: values by name, each with its origin."""

    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}


def resolve(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Resolved:
    """Put the layers together. A flag that was not given is None."""
    environ = os.environ if environ is None else environ
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    layers = [
        _file_layer(user_file(environ), "user file"),
        _project_layer(folder or Path.cwd(), environ),
        _environment_layer(environ),
        Layer(given, {name: Origin("flag", "--" + name.replace("_", "-")) for name in given}),
    ]
    values: dict[str, Any] = {}
    origins = {name: Origin("default") for name in Settings.__struct_fields__}
    for layer in layers:
        values |= layer.values
        origins |= layer.origins
    return Resolved(_build(values, origins), origins, _stray_variables(environ))


def user_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """What the user has set for themselves, in whatever folder they are."""
    environ = os.environ if environ is None else environ
    layers = [_file_layer(user_file(environ), "user file"), _environment_layer(environ)]
    values = {name: value for layer in layers for name, value in layer.values.items()}
    return _build(values, {name: origin for layer in layers for name, origin in layer.origins.items()})


def user_file(environ: Mapping[str, str]) -> Path:
    """The user's own settings, by the XDG rules."""
    return user_folder("XDG_CONFIG_HOME", ".config", environ) / "trueup" / "config.yaml"


def project_file(folder: Path) -> Path | None:
    """The nearest `trueup.yaml` in a folder or above it."""
    start = folder.absolute()
    return next((file for place in (start, *start.parents) if (file := place / PROJECT_FILE).is_file()), None)


def _file_layer(path: Path, layer: str) -> Layer:
    if not path.is_file():
        return Layer()
    document = Document.read(path)
    for part in OTHER_PARTS:
        document = document.without(part)
    if document.data is None:
        return Layer()
    document.decode(Settings)
    return Layer(document.data, {name: Origin(layer, document.locate((name,), key=True)) for name in document.data})


def _project_layer(folder: Path, environ: Mapping[str, str]) -> Layer:
    path = project_file(folder)
    if path is None:
        return Layer()
    layer = _file_layer(path, "project file")
    for name in PERSONAL & layer.values.keys():
        raise InputError(
            f"{layer.origins[name].place}: {name!r} decides what is run, called or kept in your name, so a repository cannot set it; "
            f"put it in {user_file(environ)} or set {PREFIX}{name.upper()}"
        )
    return layer


def _environment_layer(environ: Mapping[str, str]) -> Layer:
    names = [name for name in Settings.__struct_fields__ if PREFIX + name.upper() in environ]
    return Layer(
        {name: environ[PREFIX + name.upper()] for name in names},
        {name: Origin("environment", PREFIX + name.upper()) for name in names},
    )


def _build(values: dict[str, Any], origins: dict[str, Origin]) -> Settings:
    typed = {}
    for field in msgspec.structs.fields(Settings):
        if field.name in values:
            try:
                # Not strict: an environment variable is text, whatever it means.
                typed[field.name] = msgspec.convert(values[field.name], field.type, strict=False)
            except msgspec.ValidationError as error:
                reason = str(error).replace("`", "'")
                raise InputError(f"{origins[field.name]}: {field.name}: {reason}, not {values[field.name]!r}") from None
    return Settings(**typed)


def _stray_variables(environ: Mapping[str, str]) -> list[str]:
    known = [PREFIX + name.upper() for name in Settings.__struct_fields__]
    notes = []
    for name in sorted(environ):
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        if name.startswith(PREFIX) and name not in known and nearest:
            notes.append(f"{name} is not a setting and has no effect; did you mean {nearest[0]}?")
    return notes
