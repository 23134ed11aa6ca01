"""A report in every form."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import PurePath
from xml.etree import ElementTree

import msgspec
import pytest

from skill_cells import ABOUT, cell, outcome
from trueup.core.errors import InputError
from trueup.skills._model import Message, Role, ToolEvent
from trueup.skills._report import Arm, Form, Report, Transcript, build_report, form_of, read_report, render

EVIL = "<script>alert(1)</script> | *b* `c` ]]> \x1b[31m \x00 \udcff </style> \"'&"
EVIL_CELL = cell(
    "evil " + EVIL,
    "failed",
    evals=[outcome(False, label=EVIL, reason=EVIL)],
    transcript=Transcript(
        [
            Message(Role.USER, EVIL),
            Message(
                Role.ASSISTANT,
                EVIL,
                (
                    ToolEvent(kind="tool_call", name=EVIL, input={"command": EVIL}),
                    ToolEvent(kind="tool_result", name="bash", output=EVIL),
                ),
            ),
        ]
    ),
    run_id="run-1",
)


def mixed() -> Report:
    cells = [
        cell("greets"),
        cell("greets", "failed", repeat=2),
        cell("greets", model="opus"),
        cell("waves", "error"),
        cell("waves", "skipped", model="opus"),
        EVIL_CELL,
        cell("greets", "failed", arm=Arm.WITHOUT),
    ]
    return build_report(cells, ABOUT, partial=True, notes=["the budget is used up"])


@pytest.mark.parametrize("form", Form)
def test_every_form_can_be_written_of_any_report(form):
    for report in (mixed(), build_report([], ABOUT), build_report([cell(evals=[], usage=None, model="")], ABOUT)):
        render(report, form).encode()


def test_the_human_form_shows_the_matrix_and_why_cells_did_not_pass():
    text = render(mixed(), Form.HUMAN)
    lines = text.splitlines()
    assert lines[0].split() == ["claude-code", "sonnet", "claude-code", "opus"]
    assert lines[1].split() == ["greets", "1/2", "1/1"]
    assert lines[2].split() == ["waves", "error", "skipped"]
    assert "FAILED  greets · claude-code · sonnet · #2" in text
    assert "  greets by name: It names Ada." in text
    assert "  rate_limit in respond: too many calls" in text
    assert "trueup runs show run-1" in text
    assert "2 passed, 2 failed, 1 errored, 1 skipped (partial)" in text
    assert "note: the budget is used up" in text
    assert "pass@2 " in text


def test_json_is_read_again_as_it_was(tmp_path):
    report = build_report([cell(), cell("other", "error")], ABOUT)
    assert msgspec.json.decode(render(report, Form.JSON), type=Report) == report
    lines = [json.loads(line) for line in render(report, Form.JSON_STREAM).splitlines()]
    assert [line["type"] for line in lines] == ["cell", "cell", "result"]
    file = tmp_path / "stream.jsonl"
    file.write_text(render(report, Form.JSON_STREAM))
    assert read_report(file) == report


def test_junit_has_a_suite_for_each_platform_and_model():
    root = ElementTree.fromstring(render(mixed(), Form.JUNIT))
    assert root.attrib["tests"] == "6"
    assert (root.attrib["failures"], root.attrib["errors"], root.attrib["skipped"]) == ("2", "1", "1")
    assert [suite.attrib["name"] for suite in root] == ["claude-code sonnet", "claude-code opus"]
    failure = root.find(".//testcase[@name='greets #2']/failure")
    assert failure.attrib["message"] == "greets by name: It names Ada."
    assert root.find(".//error").attrib["type"] == "rate_limit"


def test_markdown_is_a_table_whatever_a_case_is_called():
    text = render(mixed(), Form.MARKDOWN)
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table[2] == "| greets | 1/2 | 1/1 |"
    assert all(line.replace("\\|", "").count("|") == 4 for line in table)
    assert "<script" not in text


def test_markdown_calls_nobody_and_links_to_no_issue():
    bad = cell("greets", "failed", evals=[outcome(False, reason="ask @somebody about #12 and org/repo#13")])
    text = render(build_report([bad], ABOUT), Form.MARKDOWN)
    # A backslash does not keep GitHub from it, an empty comment does.
    assert not re.search(r"@\w|#\d", text)
    assert "@<!-- -->somebody" in text


class Page(HTMLParser):
    """What a browser would make of a page: its elements, links and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_runs_and_loads_nothing():
    text = render(mixed(), Form.HTML)
    page = Page(text)
    assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "link", "object", "form"}
    assert all((attrs.get("href") or "#").startswith("#") for _, attrs in page.tags)
    policy = next(attrs["content"] for _, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert any("<script>alert(1)</script>" in each for each in page.texts)
    assert "\x1b" not in text


def test_every_square_of_the_heat_map_leads_to_its_cell():
    page = Page(render(mixed(), Form.HTML))
    wanted = {attrs["href"].removeprefix("#") for tag, attrs in page.tags if tag == "a"}
    there = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert wanted
    assert wanted <= there


def test_the_page_shows_intervals_tool_calls_and_costs():
    text = render(mixed(), Form.HTML)
    assert text.count("<svg") == 3
    assert "tool_call" in text
    assert "Cost at least $" in text or "Cost $" in text
    assert "Without the skill" in text


@pytest.mark.parametrize(("name", "form"), [("a.json", Form.JSON), ("b.XML", Form.JUNIT), ("c.html", Form.HTML)])
def test_a_files_name_says_its_form(name, form):
    assert form_of(PurePath(name)) is form


def test_a_name_that_says_no_form_is_told():
    with pytest.raises(InputError, match=r"r.pdf: no form of report is known by the ending '.pdf'; there are .txt"):
        form_of(PurePath("r.pdf"))
