"""Reading a repository that nobody vouches for: bounded, inside its own folder, and without ever failing."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

READ_LIMIT = 1024 * 1024
NAMES_LIMIT = 2000

_YAML_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class Repository:
    """The files of one repository. What could not be read becomes a note and reads as empty."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._notes: dict[str, None] = {}
        self._parsed: dict[str, Any] = {}

    @property
    def notes(self) -> list[str]:
        return list(self._notes)

    def note(self, sentence: str) -> None:
        """Say once what was not read or left out."""
        self._notes[sentence] = None

    def exists(self, path: str) -> bool:
        return self._real(path, stat.S_ISREG) is not None

    def is_folder(self, path: str) -> bool:
        return self._real(path, stat.S_ISDIR) is not None

    def names(self, folder: str) -> list[str]:
        """The sorted names in a folder, boundedly many; none where it cannot be read."""
        real = self._real(folder, stat.S_ISDIR)
        if real is None:
            return []
        try:
            with os.scandir(real) as entries:
                return sorted(entry.name for entry in islice(entries, NAMES_LIMIT) if is_encodable(entry.name))
        except OSError:
            self.note(f"{show(folder)} could not be listed")
            return []

    def text(self, path: str) -> str:
        """The start of a file; "" where there is none."""
        content, complete = self._read(path)
        if not complete:
            self.note(f"{show(path)} is larger than 1 MiB; only its start was read")
        return content

    def json(self, path: str) -> dict[str, Any]:
        return _mapping(self._parse(path, "JSON", json.loads))

    def toml(self, path: str) -> dict[str, Any]:
        return _mapping(self._parse(path, "TOML", tomllib.loads))

    def yaml(self, path: str) -> dict[str, Any]:
        """A YAML file with every scalar as a string: dates, unknown tags and the key `on` cannot surprise."""
        return _mapping(self._parse(path, "YAML", _load_yaml))

    def _parse(self, path: str, language: str, load: Callable[[str], Any]) -> Any:
        if path not in self._parsed:
            self._parsed[path] = self._parse_anew(path, language, load)
        return self._parsed[path]

    def _parse_anew(self, path: str, language: str, load: Callable[[str], Any]) -> Any:
        content, complete = self._read(path)
        if not complete:
            self.note(f"{show(path)} is larger than 1 MiB; it was not read")
            return None
        if not content.strip():
            return None
        try:
            return load(content)
        except (ValueError, RecursionError, yaml.YAMLError) as error:
            self.note(f"{show(path)}{_position(error)} is not valid {language}; {_loss(path)}")
            return None

    def _read(self, path: str) -> tuple[str, bool]:
        real = self._real(path, stat.S_ISREG)
        if real is None:
            return "", True
        try:
            with real.open("rb") as file:
                content = file.read(READ_LIMIT + 1)
        except OSError as error:
            self.note(f"{show(path)} could not be read: {error.strerror}")
            return "", True
        return content[:READ_LIMIT].decode("utf-8-sig", "replace"), len(content) <= READ_LIMIT

    def _real(self, path: str, is_kind: Callable[[int], bool]) -> Path | None:
        # A link may lead out of the repository, and a named pipe would block: neither is opened.
        try:
            real = (self.root / path).resolve()
            return real if real.is_relative_to(self.root) and is_kind(real.stat().st_mode) else None
        except (OSError, RuntimeError, ValueError):
            return None


class CiCommand(Struct, frozen=True):
    """One command of a CI file, with the folder it runs in, relative to the repository."""

    line: str
    cwd: str
    file: str


class Package(Struct, frozen=True, kw_only=True):
    """A folder that carries its own manifest, the CI commands that run in it, and the packages below it."""

    repository: Repository
    folder: str = "."
    ci: tuple[CiCommand, ...] = ()
    below: tuple[str, ...] = ()

    def path(self, name: str) -> str:
        """A name in this package, relative to the repository."""
        return name if self.folder == "." else f"{self.folder}/{name}"

    def label(self, name: str) -> str:
        """The same for people: control characters are escaped."""
        return show(self.path(name))

    def relative(self, folder: str) -> str:
        """A folder of the repository, as seen from this package."""
        return folder if self.folder == "." else folder.removeprefix(f"{self.folder}/")

    def members(self) -> list[Package]:
        return [Package(repository=self.repository, folder=folder) for folder in self.below]

    def exists(self, name: str) -> bool:
        return self.repository.exists(self.path(name))

    def is_folder(self, name: str) -> bool:
        return self.repository.is_folder(self.path(name))

    def existing(self, *names: str) -> list[str]:
        return [name for name in names if self.exists(name)]

    def first(self, *names: str) -> str:
        """The first of these files that is there; "" if none is."""
        return next(iter(self.existing(*names)), "")

    def names(self, subfolder: str = "") -> list[str]:
        return self.repository.names(self.path(subfolder) if subfolder else self.folder)

    def text(self, name: str) -> str:
        return self.repository.text(self.path(name))

    def json(self, name: str) -> dict[str, Any]:
        return self.repository.json(self.path(name))

    def toml(self, name: str) -> dict[str, Any]:
        return self.repository.toml(self.path(name))

    def yaml(self, name: str) -> dict[str, Any]:
        return self.repository.yaml(self.path(name))


def show(path: str) -> str:
    """A path for people and prompts: what would break a line or a terminal is escaped."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in path)


def is_encodable(name: str) -> bool:
    """Whether a file's name is text; a contract cannot carry it otherwise."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _load_yaml(content: str) -> Any:
    return yaml.load(content, Loader=_YAML_LOADER)  # noqa: S506  the base loader builds only strings, lists and mappings


def _mapping(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _loss(path: str) -> str:
    return "its scripts were not read" if path.endswith("package.json") else "it was not read"


def _position(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f":{error.lineno}:{error.colno}"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f":{error.problem_mark.line + 1}:{error.problem_mark.column + 1}"
    # Before Python 3.14, tomllib tells the position only in its message.
    match = re.search(r"at line (\d+), column (\d+)", str(error))
    return f":{match[1]}:{match[2]}" if match else ""
