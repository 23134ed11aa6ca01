"""Cells that are not paid for twice: the cache, earlier reports, a stored baseline."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from matrix_parts import QUICK, ScriptedProvider, case_named, dollars
from trueup.core.errors import InputError, Kind
from trueup.skills._case import Workspace
from trueup.skills._matrix import (
    CellCache,
    MatrixRequest,
    StoredBaseline,
    cells_of,
    clean_cells,
    list_cells,
    run_matrix,
)
from trueup.skills._model import AssistantTurn, ProviderError
from trueup.skills._report import Arm, Form, cell_line, render


@pytest.fixture
def cache(tmp_path):
    return CellCache(tmp_path / "cells")


@pytest.fixture
def request_for(skill, config):
    def make(*names, **given):
        cases = tuple(case_named(name, skill) for name in names)
        return MatrixRequest(**{"cases": cases, "config": config, "patience": QUICK} | given)

    return make


class Unversioned(ScriptedProvider):
    async def prepare(self, platforms, needs):
        return dict.fromkeys(platforms)


def greeting(usage=None):
    async def respond(request):
        return AssistantTurn(message="Hello", usage=usage)

    return ScriptedProvider(respond)


async def test_a_cell_that_ended_before_is_shown_and_costs_nothing(request_for, cache):
    first = await run_matrix(request_for("a", "b"), greeting(dollars(1.0)), cache=cache)
    provider = greeting(dollars(1.0))
    again = await run_matrix(request_for("a", "b", "c"), provider, cache=cache)
    assert provider.replies == 1
    assert [cell.cached for cell in again.runs] == [True, True, False]
    assert again.summary.usage.cost_usd == 1.0
    assert again.summary.cached == 2
    assert replace(again.runs[0], cached=False) == first.runs[0]


async def test_a_change_of_the_skill_makes_other_cells_and_leaves_the_arm_without_it_alone(request_for, cache, skill):
    await run_matrix(request_for("a", baseline=True), greeting(), cache=cache)
    (skill / "notes.md").write_text("more")
    again = await run_matrix(request_for("a", baseline=True), greeting(), cache=cache)
    assert [(cell.arm, cell.cached) for cell in again.runs] == [(Arm.WITH, False), (Arm.WITHOUT, True)]


async def test_an_entry_that_cannot_be_read_is_as_good_as_absent_and_is_written_anew(request_for, cache, tmp_path):
    await run_matrix(request_for("a"), greeting(), cache=cache)
    (entry,) = (tmp_path / "cells").glob("*/*.json")
    whole = entry.read_text()
    for broken in (
        "",
        "{",
        '{"case": 1}',
        "\udcff",
        whole.replace('"key":"', '"key":"x'),
        whole.replace("passed", "error"),
    ):
        entry.write_bytes(broken.encode(errors="surrogateescape"))
        provider = greeting()
        report = await run_matrix(request_for("a"), provider, cache=cache)
        assert (report.passed, provider.replies) == (True, 1), broken
        assert entry.read_text().startswith('{"case":"a"')


async def test_a_name_that_is_no_text_breaks_nothing(request_for, config, cache):
    odd = replace(config, models=("m\udcff",))
    for cached in (False, True):
        report = await run_matrix(request_for("a", config=odd), greeting(), cache=cache)
        assert [(cell.passed, cell.cached) for cell in report.runs] == [(True, cached)]


async def test_what_could_not_be_judged_then_is_no_baseline_now(request_for):
    async def refuse(request):
        raise ProviderError("respond", "nobody is signed in", kind=Kind.AUTH)

    broken = await run_matrix(request_for("a", baseline=True), ScriptedProvider(refuse))
    stored = StoredBaseline(broken.runs)
    report = await run_matrix(request_for("a", baseline=True, stored_baseline=stored), greeting())
    assert [(cell.arm, cell.passed) for cell in report.runs] == [(Arm.WITH, True), (Arm.WITHOUT, True)]
    assert any("could not be judged" in note for note in report.notes)


@pytest.mark.parametrize("what", ["skill", "fixture"])
async def test_what_changed_while_it_ran_is_not_kept_as_what_it_was_before(request_for, cache, skill, tmp_path, what):
    fixture = tmp_path / "fixture"
    fixture.mkdir()
    case = replace(case_named("a", skill), workspace=Workspace(folder=str(fixture)))

    async def edit(request):
        ({"skill": skill, "fixture": fixture}[what] / "notes.md").write_text("more")
        return AssistantTurn(message="Hello")

    report = await run_matrix(request_for(cases=(case,)), ScriptedProvider(edit), cache=cache)
    assert report.passed
    assert any("changed while" in note for note in report.notes)
    assert not list((tmp_path / "cells").glob("*/*.json"))


async def test_an_error_is_not_kept(request_for, cache, tmp_path):
    async def respond(request):
        raise ProviderError("respond", "odd", kind=Kind.PROTOCOL)

    await run_matrix(request_for("a"), ScriptedProvider(respond), cache=cache)
    assert list((tmp_path / "cells").glob("*/*")) == []


async def test_where_nobody_knows_the_version_of_a_platform_nothing_is_kept(request_for, cache, tmp_path):
    report = await run_matrix(request_for("a"), Unversioned(), cache=cache)
    assert list((tmp_path / "cells").glob("*/*")) == []
    assert "not cached, since the version is not known: p" in report.notes


async def test_a_cache_that_cannot_be_written_breaks_nothing(request_for, tmp_path):
    (tmp_path / "file").write_text("")
    report = await run_matrix(request_for("a"), greeting(), cache=CellCache(tmp_path / "file" / "cells"))
    assert report.passed


async def test_a_partial_report_is_gone_on_with(request_for, tmp_path):
    earlier = await run_matrix(request_for("a", "b"), greeting())
    (tmp_path / "report.json").write_text(render(earlier, Form.JSON))
    provider = greeting()
    request = request_for("a", "b", "c", earlier=tuple(cells_of(tmp_path / "report.json")))
    report = await run_matrix(request, provider)
    assert [cell.cached for cell in report.runs] == [True, True, False]
    assert provider.replies == 1


async def test_a_stream_whose_writer_was_killed_is_gone_on_with(request_for, tmp_path):
    earlier = await run_matrix(request_for("a", "b"), greeting())
    lines = [cell_line(cell) for cell in earlier.runs]
    (tmp_path / "report.jsonl").write_text(lines[0] + lines[1][:50])
    cells = cells_of(tmp_path / "report.jsonl")
    assert cells == [earlier.runs[0]]
    (tmp_path / "whole.jsonl").write_text(render(earlier, Form.JSON_STREAM))
    assert cells_of(tmp_path / "whole.jsonl") == earlier.runs


@pytest.mark.parametrize("content", ["", "hello", "{}", "[1]", '{"type":"cell"}\n'])
def test_what_is_no_report_cannot_be_gone_on_with(tmp_path, content):
    (tmp_path / "report.json").write_text(content)
    with pytest.raises(InputError, match="is not a report"):
        cells_of(tmp_path / "report.json")
    with pytest.raises(InputError, match="no such file"):
        cells_of(tmp_path / "nothing.json")


async def test_a_stored_baseline_stands_in_for_the_arm_without_the_skill(request_for, skill):
    stored = await run_matrix(request_for("a", "b", baseline=True), greeting())
    (skill / "notes.md").write_text("more")
    provider = greeting()
    report = await run_matrix(request_for("a", "b", stored_baseline=StoredBaseline(stored.runs)), provider)
    assert provider.replies == 2
    assert [(cell.arm, cell.cached) for cell in report.runs] == [(Arm.WITH, False), (Arm.WITHOUT, True)] * 2


async def test_what_is_missing_in_a_stored_baseline_is_told_and_run_only_where_that_is_asked_for(request_for, config):
    stored = await run_matrix(request_for("a", baseline=True), greeting())
    provider = greeting()
    report = await run_matrix(request_for("a", "b", stored_baseline=StoredBaseline(stored.runs)), provider)
    assert provider.replies == 2
    assert [(cell.case, cell.arm) for cell in report.runs] == [("a", Arm.WITH), ("a", Arm.WITHOUT), ("b", Arm.WITH)]
    assert not report.partial
    (note,) = [note for note in report.notes if "baseline" in note]
    assert "1 cells are not in the stored baseline" in note
    assert "b on p m, repeat 1: was not run then" in note

    provider = greeting()
    both = request_for("a", "b", baseline=True, stored_baseline=StoredBaseline(stored.runs))
    report = await run_matrix(both, provider)
    assert provider.replies == 3

    other = request_for("a", config=replace(config, judge_model="other"), stored_baseline=StoredBaseline(stored.runs))
    report = await run_matrix(other, greeting())
    assert any("its case, judge, prompts or platform changed" in note for note in report.notes)


async def test_a_report_without_that_arm_has_nothing_for_a_baseline(request_for):
    stored = await run_matrix(request_for("a"), greeting())
    report = await run_matrix(request_for("a", stored_baseline=StoredBaseline(stored.runs)), greeting())
    assert any("a on p m, repeat 1: was not run then" in note for note in report.notes)


async def test_kept_cells_are_listed_and_cleaned(request_for, tmp_path):
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    await run_matrix(request_for("a", "b"), greeting(), cache=CellCache.of_the_user(environ))
    kept = list_cells(environ)
    assert kept.cells == 2
    assert kept.size_bytes > 1000
    assert clean_cells(environ, older_than_secs=3600).cells == 0
    assert clean_cells(environ) == kept
    assert list_cells(environ).cells == 0
