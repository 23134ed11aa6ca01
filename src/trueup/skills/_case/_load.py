"""Cases out of files and folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.documents import MOST_BYTES, Document
from trueup.core.errors import InputError

from ._config_file import CONFIG_NAMES
from ._mistakes import Found, Mistake, mistakes
from ._model import Case, CaseFile, Workspace

SUFFIXES = (".yaml", ".yml")
MOST_TOLD = 20


class Loaded(Struct, frozen=True):
    """The cases that could be read, and a sentence with its place for each file that could not."""

    cases: tuple[Case, ...]
    problems: tuple[str, ...] = ()


class _File(Struct, frozen=True, kw_only=True):
    """What came of one file. `is_other` says that it was found in a folder and does not look like a case."""

    path: Path
    case: Case | None = None
    problem: str = ""
    is_other: bool = False


def load_cases(paths: Iterable[Path], *, keep_going: bool = False) -> Loaded:
    """Read files, and folders with all that is below them. A problem is an `InputError`, unless one keeps going.

    Names are unique: reports, caches and comparisons know a case by its name, on whatever paths it was run with.
    """
    problems: list[str] = []
    files = _without_fixtures([_read(path, is_named) for path, is_named in _find_files(paths, problems)])
    cases: dict[str, Case] = {}
    for file in files:
        if file.case is None:
            problems.append(file.problem)
        elif (other := cases.setdefault(file.case.name, file.case)) is not file.case:
            problems.append(
                f"{file.path}: the name {other.name!r} is that of {other.source} already; give one of them another `name`"
            )
    if problems and not keep_going:
        raise InputError(_told(problems))
    if not cases and not problems:
        raise InputError("there is no case (*.yaml) to be read")
    return Loaded(tuple(cases.values()), tuple(problems))


def load_case(path: Path) -> Case:
    """Read one file."""
    document = Document.read(path)
    written = document.decode(CaseFile)
    _refuse(document, [*_no_json(document.data), *mistakes(written)])
    folder = path.absolute().parent
    case = Case(
        name=written.name or path.stem,
        source=folder / path.name,
        skill=_beside(folder, written.skill),
        input=written.input,
        evals=tuple(written.evals),
        user=written.user,
        mocks=tuple(replace(mock, name=mock.label(index)) for index, mock in enumerate(written.mocks)),
        spy=written.spy,
        workspace=_workspace(written.workspace, folder),
    )
    _refuse(document, _missing(case))
    return case


def _refuse(document: Document, found: Iterable[Mistake]) -> None:
    told = [document.describe(where, what) for where, what in found]
    if told:
        raise InputError("\n".join(told))


def _find_files(paths: Iterable[Path], problems: list[str]) -> Iterator[tuple[Path, bool]]:
    """Every file once, and whether it was named itself."""
    seen: set[str] = set()
    for path in paths:
        found = _files_below(path, problems) if _is_folder(path) else iter([path])
        some = False
        for file in found:
            some = True
            identity = os.path.realpath(file)
            if identity not in seen:
                seen.add(identity)
                yield file, file is path
        if not some:
            problems.append(f"{path}: no case (*.yaml) is in this folder or below it")


def _files_below(folder: Path, problems: list[str]) -> Iterator[Path]:
    def tell(error: OSError) -> None:
        problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    # A link to a folder is not followed: it could lead back up.
    for place, folders, names in os.walk(folder, onerror=tell):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        yield from (Path(place, name) for name in sorted(names) if name.endswith(SUFFIXES) and name not in CONFIG_NAMES)


def _read(path: Path, is_named: bool) -> _File:
    if path.name in CONFIG_NAMES:
        return _File(path=path, problem=f"{path}: is a configuration and no case; use it with --config")
    try:
        return _File(path=path, case=load_case(path))
    except InputError as error:
        if is_named or _resembles_a_case(path):
            return _File(path=path, problem=str(error))
    what = (
        f"{path}: is no case: it has neither `skill` nor `evals`; name the files or folders of the cases, or keep going"
    )
    return _File(path=path, problem=what, is_other=True)


def _resembles_a_case(path: Path) -> bool:
    if not _is_file(path):
        return True
    try:
        with path.open("rb") as file:
            return re.search(rb"^(skill|evals)\s*:", file.read(MOST_BYTES), re.MULTILINE) is not None
    except OSError:
        return True


def _without_fixtures(files: list[_File]) -> list[_File]:
    """Skills and workspaces have YAML files of their own, which may lie below a folder of cases."""
    cases = [file.case for file in files if file.case is not None]
    folders = {case.skill for case in cases}
    folders |= {Path(case.workspace.folder) for case in cases if case.workspace and case.workspace.folder}
    return [file for file in files if not (file.is_other and folders.intersection(_real(file.path).parents))]


# Unlike those of `Path`, these two say no where a name is too long.
def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112


def _real(path: Path) -> Path:
    # Unlike `Path.resolve`, this ends also where links lead in a circle.
    return Path(os.path.realpath(path))


def _beside(folder: Path, path: str) -> Path:
    return _real(folder / path)


def _workspace(written: str | Workspace | None, folder: Path) -> Workspace | None:
    workspace = Workspace(folder=written) if isinstance(written, str) else written
    if workspace is None or workspace.folder is None:
        return workspace
    return replace(workspace, folder=str(_beside(folder, workspace.folder)))


def _no_json(value: Any, path: tuple[str | int, ...] = ()) -> Found:
    """What YAML can say and JSON cannot. No agent and no judge ever answers with it, so it would equal nothing."""
    match value:
        case dict():
            for key, inner in value.items():
                if not isinstance(key, str):
                    yield path, f"the key {key!r} is no text (put it in quotes)"
                yield from _no_json(inner, (*path, key))
        case list():
            for index, inner in enumerate(value):
                yield from _no_json(inner, (*path, index))
        case str() | int() | float() | None:
            return
        case _:
            yield path, f"{value!s} is a {type(value).__name__}, which JSON does not have (put it in quotes)"


def _missing(case: Case) -> Found:
    if not any(_is_file(case.skill / name) for name in ("SKILL.md", "skill.md")):
        yield ("skill",), f"no SKILL.md is in {case.skill}; a skill is a folder with one, relative to the case"
    if case.workspace is not None and case.workspace.folder is not None and not _is_folder(Path(case.workspace.folder)):
        yield ("workspace",), f"there is no folder {case.workspace.folder}"


def _told(problems: list[str]) -> str:
    more = len(problems) - MOST_TOLD
    told = problems[:MOST_TOLD]
    return "\n".join([*told, f"{more} more files cannot be used"] if more > 0 else told)
