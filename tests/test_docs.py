"""The documents say what the program does."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", ["reference.md", "configuration.md", "wire.md", "agents.md"])
def test_what_is_written_by_the_program_is_what_it_says_now(page, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    pages = importlib.import_module("generate").PAGES
    assert (ROOT / "docs" / page).read_text() == pages[page](), "run `make docs`"


def test_every_link_within_the_page_of_the_wire_leads_somewhere():
    text = (ROOT / "docs" / "wire.md").read_text()
    headings = [
        re.sub(r"[^\w\- ]", "", line).replace(" ", "-").lower() for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    ]
    there = {*headings, *re.findall(r'<a id="([^"]+)">', text)}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= there


def test_every_link_in_the_documents_leads_somewhere():
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document}: {target}"


def test_every_document_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name not in ("README.md", "wire.in.md")]
    assert [
        str(page.relative_to(ROOT / "docs")) for page in pages if f"({page.relative_to(ROOT / 'docs')}" not in index
    ] == []
