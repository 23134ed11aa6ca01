"""Validating skills, and loading those that are valid."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from trueup.core.errors import InputError

from ._digest import folder_digest, survey
from ._find import LOWER_CASE, SKILL_FILE, find_skills, skill_file
from ._model import Finding, Remark, Severity, Skill
from ._page import Page, read_page
from ._references import reference_remarks
from ._rules import frontmatter_remarks

MOST_LINES = 500
MOST_LINKS_TOLD = 20


def validate(paths: Iterable[Path]) -> list[Finding]:
    """Hold every skill in or below the paths against the specification. No SKILL.md at all is an `InputError`."""
    return [finding for file in find_skills(paths) for finding in _findings(file, read_page(file))]


def load_skill(path: Path) -> Skill:
    """A valid skill by its folder or its SKILL.md; an `InputError` with all findings where it is not one."""
    file = path if path.name in (SKILL_FILE, LOWER_CASE) and not path.is_dir() else _file_in(path)
    page = read_page(file)
    findings = _findings(file, page)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors or isinstance(page, Remark):
        raise InputError("\n".join(str(finding) for finding in errors))
    folder = _folder(file)
    return Skill(
        name=_text(page, "name") or "",
        description=_text(page, "description") or "",
        folder=folder,
        file=file,
        instructions=page.body,
        body_line=page.body_line,
        digest=folder_digest(folder),
        license=_text(page, "license"),
        compatibility=_text(page, "compatibility"),
        metadata=_metadata(page),
        allowed_tools=_allowed_tools(page),
        warnings=tuple(findings),
    )


def _findings(file: Path, page: Page | Remark) -> list[Finding]:
    remarks = [page] if isinstance(page, Remark) else list(_remarks(file, page))
    # In the order of the file; what has no line is about all of it.
    return [remark.of(str(file)) for remark in sorted(remarks, key=lambda remark: remark.line or 0)]


def _remarks(file: Path, page: Page) -> Iterator[Remark]:
    folder = _folder(file)
    if file.name == LOWER_CASE:
        yield Remark(
            "file-name", None, f"is called {LOWER_CASE}, which not every agent finds", f"rename it {SKILL_FILE}"
        )
    yield from frontmatter_remarks(page, folder.name)
    if not page.body:
        yield Remark(
            "body-empty", None, "there are no instructions below the frontmatter", "say what is to be done, and how"
        )
    lines = page.body.count("\n") + 1
    if lines > MOST_LINES:
        yield Remark(
            "body-length",
            page.body_line + MOST_LINES,
            f"the instructions have {lines} lines, more than {MOST_LINES}: an agent reads all of them",
            "move details to files below references/",
        )
    yield from reference_remarks(page.body, page.body_line, folder)
    yield from _links(folder)


def _links(folder: Path) -> Iterator[Remark]:
    root = os.path.realpath(folder)
    try:
        links = [entry.name for entry in survey(folder) if entry.is_link]
    except InputError as error:
        yield Remark("folder-unreadable", None, str(error), "keep in the folder only what the skill needs")
        return
    for name in links[:MOST_LINKS_TOLD]:
        target = os.path.realpath(folder / name)
        if not os.path.exists(target):  # noqa: PTH110 - a Path raises where links go in a circle
            yield Remark(
                "link-broken", None, f"the link {name!r} leads nowhere", "remove it, or correct where it leads"
            )
        elif os.path.commonpath([root, target]) != root:
            yield Remark("link-outside", None, f"the link {name!r} leads out of the folder", "put a copy in its place")


def _file_in(folder: Path) -> Path:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of a skill")
    file = skill_file(folder)
    if file is None:
        raise InputError(f"{folder}: there is no {SKILL_FILE} in it")
    return file


def _folder(file: Path) -> Path:
    """The folder of a skill, by the name that was given for it: a link has a name of its own."""
    return Path(os.path.abspath(file)).parent  # noqa: PTH100 - resolve() would go where links lead


def _text(page: Page, key: str) -> str | None:
    value = page.keys.get(key)
    return value.strip() if isinstance(value, str) else None


def _metadata(page: Page) -> dict[str, str]:
    value = page.keys.get("metadata")
    return {str(key): str(inner) for key, inner in value.items()} if isinstance(value, dict) else {}


def _allowed_tools(page: Page) -> tuple[str, ...]:
    value = page.keys.get("allowed-tools")
    if isinstance(value, list):
        return tuple(value)
    # A blank parts two tools, but not within the brackets of one: `Bash(git add:*) Read`.
    return tuple(re.findall(r"[^\s,(]+(?:\([^()]*\))?", value)) if isinstance(value, str) else ()
