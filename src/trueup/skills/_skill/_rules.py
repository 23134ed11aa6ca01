"""The rules of the frontmatter."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from ._model import Remark
from ._page import Page

KNOWN_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MOST_NAME = 64
MOST_DESCRIPTION = 1024
MOST_COMPATIBILITY = 500


def frontmatter_remarks(page: Page, folder: str) -> Iterator[Remark]:
    """Everything that the specification says about keys and values."""
    yield from _unknown_keys(page)
    yield from _name(page, folder)
    yield from _description(page)
    yield from _license(page)
    yield from _compatibility(page)
    yield from _metadata(page)
    yield from _allowed_tools(page)


def _unknown_keys(page: Page) -> Iterator[Remark]:
    for key in page.keys:
        if key in KNOWN_KEYS:
            continue
        nearest = difflib.get_close_matches(str(key).lower().replace("_", "-"), KNOWN_KEYS, n=1)
        fix = f"did you mean {nearest[0]!r}?" if nearest else "put it below metadata, or remove it"
        yield Remark("key-unknown", page.line(str(key), key=True), f"unknown key {str(key)!r}", fix)


def _name(page: Page, folder: str) -> Iterator[Remark]:
    name, line = page.keys.get("name"), page.line("name")
    if _is_blank(name):
        yield Remark("name-missing", line, "there is no name", f"write name: {suggested_name(folder)}")
        return
    if not isinstance(name, str):
        yield Remark("name-type", line, f"the name is {_kind(name)} and not text", "put it in quotes")
        return
    if len(name) > MOST_NAME:
        yield Remark(
            "name-length", line, f"the name has {len(name)} characters, more than {MOST_NAME}", "choose a shorter one"
        )
    if not re.fullmatch("[a-z0-9-]+", name):
        yield Remark(
            "name-characters",
            line,
            f"the name {_short(name)!r} has other characters than a to z, 0 to 9 and hyphens",
            f"write name: {suggested_name(name)}",
        )
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield Remark(
            "name-hyphens",
            line,
            f"the name {_short(name)!r} has a hyphen at an edge or a doubled one",
            f"write name: {suggested_name(name)}",
        )
    if name != folder:
        yield Remark(
            "name-folder",
            line,
            f"the name {_short(name)!r} is not that of the folder {folder!r}",
            "rename one of the two",
        )


def _description(page: Page) -> Iterator[Remark]:
    description, line = page.keys.get("description"), page.line("description")
    if _is_blank(description):
        yield Remark(
            "description-missing",
            line,
            "there is no description",
            "say what the skill does and when to use it: agents choose by that",
        )
        return
    if not isinstance(description, str):
        yield Remark(
            "description-type", line, f"the description is {_kind(description)} and not text", "put it in quotes"
        )
        return
    if len(description) > MOST_DESCRIPTION:
        yield Remark(
            "description-length",
            line,
            f"the description has {len(description)} characters, more than {MOST_DESCRIPTION}",
            "move details to the instructions",
        )
    if "<" in description or ">" in description:
        yield Remark(
            "description-markup",
            line,
            "the description has < or > in it",
            "say it in words: some agents take it for markup",
        )


def _license(page: Page) -> Iterator[Remark]:
    value = page.keys.get("license", "")
    if not isinstance(value, str):
        yield Remark(
            "license-type",
            page.line("license"),
            f"license is {_kind(value)} and not text",
            "name a license, or a file of the folder",
        )


def _compatibility(page: Page) -> Iterator[Remark]:
    if "compatibility" not in page.keys:
        return
    value, line = page.keys["compatibility"], page.line("compatibility")
    if _is_blank(value):
        yield Remark("compatibility-length", line, "compatibility is empty", "remove the key: most skills need none")
    elif not isinstance(value, str):
        yield Remark("compatibility-type", line, f"compatibility is {_kind(value)} and not text", "put it in quotes")
    elif len(value) > MOST_COMPATIBILITY:
        yield Remark(
            "compatibility-length",
            line,
            f"compatibility has {len(value)} characters, more than {MOST_COMPATIBILITY}",
            "move details to the instructions",
        )


def _metadata(page: Page) -> Iterator[Remark]:
    value = page.keys.get("metadata", {})
    if not isinstance(value, dict):
        yield Remark(
            "metadata-type",
            page.line("metadata"),
            f"metadata is {_kind(value)} and not a map",
            "write keys and values below it",
        )
        return
    for key, inner in value.items():
        wrong = key if not isinstance(key, str) else inner
        if not isinstance(wrong, str):
            yield Remark(
                "metadata-values",
                page.line("metadata", str(key), key=True),
                f"metadata {str(key)!r} is {_kind(wrong)}, which agents read differently",
                "put it in quotes",
            )


def _allowed_tools(page: Page) -> Iterator[Remark]:
    value = page.keys.get("allowed-tools", "")
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        return
    yield Remark(
        "allowed-tools-type",
        page.line("allowed-tools"),
        f"allowed-tools is {_kind(value)} and not text",
        "write names of tools, with blanks between them or as a list",
    )


def suggested_name(text: str) -> str:
    """The name that comes nearest to a text."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:MOST_NAME].strip("-") or "my-skill"


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _short(text: str) -> str:
    return text if len(text) <= MOST_NAME else f"{text[:MOST_NAME]}…"


def _kind(value: object) -> str:
    words = {type(None): "empty", str: "text", bool: "a boolean", int: "a number", float: "a number", dict: "a map"}
    return words.get(type(value), f"a {type(value).__name__}")
