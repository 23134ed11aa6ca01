"""The table of `make bench`: what it says of measurements, and what it writes into the documents."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from trueup.core.process import Command, run

ROOT = Path(__file__).parent.parent


@pytest.fixture
def bench(monkeypatch):
    """Gives modules of the benches, which are not installed."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"bench.{name}")


@pytest.fixture
def rows(bench):
    row = bench("measure").Row
    return [
        row("runner", "+0.5 ms", "+1 ms", True, "1.0 ms by subprocess.run", 1.5),
        row("loop lag", "60 ms", "50 ms", False),
    ]


def test_a_row_says_what_it_was_held_against_and_whether_it_holds(bench, rows):
    lines = bench("table").as_text(rows).splitlines()
    assert [re.split(r"\s{2,}", line) for line in lines] == [
        ["what", "measured", "reference", "ratio", "limit"],
        ["runner", "+0.5 ms", "1.0 ms by subprocess.run", "1.50 x", "+1 ms", "pass"],
        ["loop lag", "60 ms", "50 ms", "short"],
    ]
    assert len({line.index(cell) for line, cell in zip(lines, ("limit", "+1 ms", "50 ms"), strict=True)}) == 1
    assert bench("table").summary(rows) == "1 of 2 hold; short: loop lag"


def test_what_is_reported_is_printed_and_remembered(bench, capsys):
    measure = bench("measure")
    before = len(measure.ROWS)
    assert measure.report("a", "2 s", "3 s", True, reference="1 s alone", ratio=2.0)
    assert not measure.report("b", "4 s", "3 s", False)
    kept, measure.ROWS[before:] = measure.ROWS[before:], []
    assert [(row.what, row.held) for row in kept] == [("a", True), ("b", False)]
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"ok    a +2 s \(2\.00 x 1 s alone\) +limit 3 s", said[0])
    assert re.fullmatch(r"MISS  b +4 s +limit 3 s", said[1])


@pytest.mark.parametrize("place", ["<!-- numbers -->", "<!-- numbers -->\nold | table\n<!-- /numbers -->"])
def test_the_documents_get_the_numbers_where_they_have_a_place_for_them(bench, rows, tmp_path, place):
    table = bench("table")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"# x\n\n{place}\n\nafter\n")
    assert table.write(rows, tmp_path) == [tmp_path / "docs" / "numbers.md", tmp_path / "README.md"]
    once = (tmp_path / "README.md").read_text()
    assert once.startswith("# x\n\n<!-- numbers -->\n| what | measured |")
    assert "| loop lag | 60 ms |  |  | 50 ms | short |" in once
    assert once.endswith("<!-- /numbers -->\n\nafter\n")
    assert "old" not in once
    table.write(rows, tmp_path)
    assert (tmp_path / "README.md").read_text() == once
    numbers = (tmp_path / "docs" / "numbers.md").read_text()
    assert re.search(r"Measured on \w+ \w+ with \d+ cores?, Python 3\.\d+\.\d+, \d{4}-\d\d-\d\d\.", numbers)
    assert "1 of 2 hold; short: loop lag." in numbers


def test_a_document_without_a_place_for_them_stays_as_it_is(bench, rows, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# x\n")
    assert bench("table").write(rows, tmp_path) == [tmp_path / "docs" / "numbers.md"]
    assert (tmp_path / "README.md").read_text() == "# x\n"


def test_every_bench_is_run(bench):
    modules = [file.stem for file in (ROOT / "bench").glob("*.py") if "\nBENCHES" in file.read_text()]
    assert modules
    assert {each for name in modules for each in bench(name).BENCHES} == set(bench("__main__").EVERY)


async def test_one_that_cannot_be_run_is_told_and_the_table_comes_last():
    """The bench of `--help` wants a trueup beside its interpreter, which this one does not have."""
    argv = (
        sys.executable,
        "-c",
        "import sys, runpy\nsys.executable = '/nowhere/python'\nrunpy.run_module('bench', run_name='__main__')",
    )
    finished = await run(Command(argv=(*argv, "help_start"), cwd=ROOT, timeout_secs=60))
    assert finished.exit_code == 1
    said = finished.stdout.text.splitlines()
    assert "not measured: " in said[0]
    assert "could not start '/nowhere/python'" in said[0]
    assert said[2].split() == ["what", "measured", "reference", "ratio", "limit"]
    assert said[-1] == "0 of 1 hold; short: help start"


async def test_a_part_of_the_numbers_is_not_written():
    finished = await run(Command(argv=(sys.executable, "-m", "bench", "help_start", "--write"), cwd=ROOT))
    assert finished.exit_code == 2
    assert "leave the words away" in finished.stderr.text
