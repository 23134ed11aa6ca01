"""Skill reports on pages: the list, one of them, its cells, and two compared."""

from __future__ import annotations

import os
from html.parser import HTMLParser
from pathlib import Path

import pytest

from page_visitors import visitor
from skill_cells import ABOUT, cell
from skill_reports import CASES, evil_report, full_report
from trueup.runs import Started
from trueup.skills import build_report, keep_report


class Page(HTMLParser):
    """What a browser would make of a page: its elements and its text."""

    def __init__(self, status: int, html: str) -> None:
        super().__init__()
        self.status, self.html = status, html
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def links(self, start: str) -> list[str]:
        """The addresses on the page that begin with something."""
        return [attrs["href"] for tag, attrs in self.tags if tag == "a" and attrs["href"].startswith(start)]


async def seen(human, path: str) -> Page:
    async with human.get(path) as answer:
        return Page(answer.status, await answer.text())


def folder() -> Path:
    return Path(os.environ["HOME"], ".local/share/trueup/reports")


def keep(report, when: str) -> str:
    """Keep a report as if at another time."""
    name = keep_report(report)
    renamed = f"{when}-{name[-8:]}"
    (folder() / f"{name}.jsonl").rename(folder() / f"{renamed}.jsonl")
    return renamed


async def test_without_reports_the_list_says_how_one_is_made(human):
    page = await seen(human, "/reports")
    assert page.status == 200
    assert "trueup test cases/" in page.text


async def test_a_stranger_sees_no_report(front):
    name = keep_report(full_report())
    async with visitor(front.port) as stranger, stranger.get(f"/reports/{name}") as answer:
        assert answer.status == 401


async def test_the_list_has_the_newest_first_with_rate_interval_and_cost(human):
    old = keep(full_report(), "20250101T101500")
    new = keep(build_report([cell()], ABOUT), "20260101T101500")
    page = await seen(human, "/reports")
    assert page.links("/reports/") == [f"/reports/{new}", f"/reports/{old}"]
    assert "2025-01-01 10:15" in page.text
    assert "not passed" in page.text
    assert "1 error, 1 skipped" in page.text
    assert "100% 21% to 100%" in page.text
    assert "$0.5000" in page.text
    assert page.html.count("<svg") == 2


async def test_a_report_that_cannot_be_read_is_shown_as_such_and_breaks_nothing(human):
    good, bad, short = keep_report(full_report()), keep_report(full_report()), keep_report(full_report())
    (folder() / f"{bad}.jsonl").write_bytes(b'{"passed": "\xff<script>')
    whole = (folder() / f"{short}.jsonl").read_bytes()
    (folder() / f"{short}.jsonl").write_bytes(whole[: whole.index(b"\n", 20_000) + 1])
    page = await seen(human, "/reports")
    assert page.status == 200
    assert page.text.count("unreadable") == 1
    assert f"/reports/{good}" in page.links("/reports/")
    for path in (
        f"/reports/{bad}",
        f"/reports/{short}",
        f"/reports/{bad}/cells",
        f"/reports/compare?before={good}&after={bad}",
    ):
        page = await seen(human, path)
        assert page.status == 400
        assert "report" in page.text


async def test_a_long_list_is_shown_in_parts(human):
    name = keep_report(build_report([cell()], ABOUT))
    for number in range(54):
        os.link(folder() / f"{name}.jsonl", folder() / f"20240101T0000{number:02}-00000000.jsonl")
    first, second = await seen(human, "/reports"), await seen(human, "/reports?page=2")
    assert "1 to 50 of 55 reports" in first.text
    assert (len(first.links("/reports/")), len(second.links("/reports/"))) == (50, 5)
    for odd in ("0", "99", "-1", "²", "9" * 400, "x"):
        assert (await seen(human, f"/reports?page={odd}")).status == 200


async def test_a_report_shows_both_arms_rates_and_what_the_skill_changes(human):
    name = keep_report(full_report())
    page = await seen(human, f"/reports/{name}")
    assert page.status == 200
    for words in (
        "Matrix",
        "Without the skill",
        "the budget is used up",
        "What the skill changes",
        "codex gpt-5",
        "3/3",
        "1/1",
    ):
        assert words in page.text
    labels = [attrs["aria-label"] for tag, attrs in page.tags if tag == "svg"]
    assert len(labels) == 1 + 6 + 4
    assert all("95 %" in label for label in labels)
    assert not [attrs for _, attrs in page.tags if "style" in attrs]


async def test_every_square_leads_to_its_cells(human):
    name = keep_report(full_report())
    page = await seen(human, f"/reports/{name}")
    squares = page.links(f"/reports/{name}/cells")
    assert len(squares) > 4 * 3 * 2
    for address in squares:
        assert (await seen(human, address)).status == 200
    repeats = await seen(human, next(each for each in squares if "case=greets" in each))
    cells = repeats.links(f"/reports/{name}/cells/")
    assert len(cells) == 3
    for address in cells:
        assert CASES[0] in (await seen(human, address)).text


async def test_cells_are_chosen_by_status_arm_and_place(human):
    name = keep_report(full_report())

    async def count(query: str) -> int:
        return len((await seen(human, f"/reports/{name}/cells?{query}")).links(f"/reports/{name}/cells/"))

    assert await count("") == 4 * 3 * 4 + 1
    assert await count("status=error") == 1
    assert await count("status=skipped") == 1
    assert await count("arm=without&on=codex+gpt-5") == 4
    assert await count("arm=without&status=passed") == 3
    assert await count("status=nonsense") == 0
    page = await seen(human, f"/reports/{name}/cells?status=error")
    assert "rate_limit in respond: too many calls" in page.text


async def test_a_cell_shows_its_transcript_votes_and_mock_calls(human):
    name = keep_report(full_report())
    page = await seen(human, f"/reports/{name}/cells/00a-1")
    for words in (
        "cat calendar.json",
        '"monday": "Smith"',
        "result, failed",
        "2 votes, agreement 50%",
        "It did not ask.",
        "stub",
        "It is on Tuesday now.",
    ):
        assert words in page.text


async def test_a_cell_leads_to_its_run_where_that_is_recorded(human, store):
    run_of_ours = (await store.start(Started("skill cell"))).run_id
    for run_id, told in ((run_of_ours, f"/runs/{run_of_ours}"), ("gone", "is not among the runs of this daemon")):
        name = keep_report(build_report([cell(key="k", run_id=run_id)], ABOUT))
        page = await seen(human, f"/reports/{name}/cells/k-1")
        assert told in page.html


async def test_a_long_text_is_cut_until_the_whole_is_asked_for(human):
    found = full_report().runs[0]
    long = "word " * 10_000 + "the end"
    message = found.transcript.messages[0]
    transcript = type(found.transcript)([type(message)(message.role, long)])
    name = keep_report(build_report([cell(key="k", transcript=transcript)], ABOUT))
    page = await seen(human, f"/reports/{name}/cells/k-1")
    assert "the end" not in page.text
    assert "34,007 more characters" in page.text
    assert "the end" in (await seen(human, f"/reports/{name}/cells/k-1?whole")).text


@pytest.mark.parametrize("place", ["", "/cells", "/cells/" + "e" * 64 + "-1", "/cells/" + "e" * 64 + "-1?whole"])
async def test_what_others_wrote_stays_text(human, place):
    name = keep_report(evil_report())
    page = await seen(human, f"/reports/{name}{place}")
    assert page.status == 200
    assert "<script>document.title" in page.text
    assert not {"img", "object", "iframe"} & {tag for tag, _ in page.tags}
    assert all(attrs.get("src", "").startswith("/static/") for tag, attrs in page.tags if tag == "script")
    assert not {character for character in "\x1b\u202e" if character in page.html}
    assert "49" not in page.text.replace("{{ 7*7 }}", "")


@pytest.mark.parametrize(
    "path",
    [
        "/reports/20260101T000000-00000000",
        "/reports/20260101T000000-00000000/cells",
        "/reports/20260101T000000-00000000/cells/k-1",
        "/reports/..%2f..%2ftrusted",
        "/reports/a%0Ab",
        "/reports/compare?before=x&after=y",
    ],
)
async def test_a_report_that_is_not_there_is_not_found(human, path):
    assert (await seen(human, path)).status == 404


@pytest.mark.parametrize(
    "cell_name", ["nothing-1", "00a-9", "00a", "-", "00a--1", "00a-" + "9" * 5000, "00a-²", "%0A-1"]
)
async def test_a_cell_that_is_not_there_is_not_found(human, cell_name):
    name = keep_report(full_report())
    assert (await seen(human, f"/reports/{name}/cells/{cell_name}")).status == 404


async def test_two_reports_are_compared_with_what_moved(human):
    before, after = keep_report(full_report()), keep_report(full_report(better=True))
    page = await seen(human, f"/reports/compare?before={before}&after={after}")
    assert page.status == 200
    for words in ("inconclusive", "improved", "only 4 cases in common", "the first report is partial", "codex gpt-5"):
        assert words in page.text
    assert page.html.count("<svg") == 4
    back = await seen(human, page.links("/reports/compare")[0])
    assert "worsened" in back.text


async def test_reports_without_a_case_in_common_are_compared_too(human):
    before, after = keep_report(evil_report()), keep_report(build_report([cell("other")], ABOUT))
    page = await seen(human, f"/reports/compare?before={before}&after={after}")
    assert page.status == 200
    assert "no judged case in common" in page.text
    assert "was not judged in the second" in page.text
    assert "<script>document.title" in page.text


async def test_a_comparison_of_less_than_two_says_what_is_missing(human):
    page = await seen(human, f"/reports/compare?before={keep_report(full_report())}")
    assert page.status == 400
    assert "choose one before and one after" in page.text


async def test_an_empty_report_is_a_page_too(human):
    name = keep_report(build_report([], ABOUT))
    page = await seen(human, f"/reports/{name}")
    assert "No cell was run." in page.text
    assert "No cell is like that." in (await seen(human, f"/reports/{name}/cells")).text
