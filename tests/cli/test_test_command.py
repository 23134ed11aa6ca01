"""`trueup test` as a user calls it, with providers that are small programs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

import command_line
from coded import TRUEUP, is_running
from terminals import CTRL_C, Terminal
from trueup.core.process import Command, Process
from trueup.skills import kept_report, kept_reports, read_report

USAGE = '"usage":{"input_tokens":10,"output_tokens":5,"cost_usd":0.01}'
ANSWERS = f"""\
read -r request
case $request in
*'"op":"respond"'*"Fail"*) echo '{{"message":"No.",{USAGE}}}';;
*'"op":"respond"'*"Break"*) echo 'out of order' >&2; exit 1;;
*'"op":"respond"'*"Sleep"*) echo begun >>"$BEGUN"; exec sleep "$NAP";;
*'"op":"respond"'*) echo '{{"message":"Hello, Ada",{USAGE}}}';;
*'"op":"judge"'*"No."*) echo '{{"value":false,"reason":"It does not greet.",{USAGE}}}';;
*'"op":"judge"'*) echo '{{"value":true,"reason":"It greets.",{USAGE}}}';;
esac
"""
CONFIG = "provider: {kind: command, command: [sh, provider.sh]}\nplatforms: [p]\nmodels: [m]\njudge_model: judge\n"
SKILL = "---\nname: greeter\ndescription: Greets people by name.\n---\nGreet.\n"


class Author:
    """Somebody with a skill, cases for it, and a provider that needs no model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nap = f"{5000 + os.getpid()}.{time.monotonic_ns()}"
        (folder / "skills" / "greeter").mkdir(parents=True)
        (folder / "cases").mkdir()
        (folder / "tmp").mkdir()
        (folder / "skills" / "greeter" / "SKILL.md").write_text(SKILL)
        (folder / "provider.sh").write_text(ANSWERS)
        (folder / "skilltest.yaml").write_text(CONFIG)

    def case(self, name: str, says: str = "Greet Ada.", evals: str = "") -> None:
        evals = evals or "- {type: boolean, criterion: it greets}\n- {type: contains, text: Hello, name: says hello}"
        text = f"skill: ../skills/greeter\ninput: {says}\nevals:\n{evals}\n"
        (self.folder / "cases" / f"{name}.yaml").write_text(text)

    @property
    def environ(self) -> dict[str, str]:
        own = {"NAP": self.nap, "BEGUN": str(self.folder / "begun"), "TMPDIR": str(self.folder / "tmp")}
        return {**os.environ, **own}

    async def test(self, *arguments: str, cwd: Path | None = None):
        return await command_line.call("test", *arguments, cwd=cwd or self.folder, env=self.environ)

    async def trueup(self, *arguments: str):
        return await command_line.call(*arguments, cwd=self.folder, env=self.environ)

    def started(self, *arguments: str) -> Process:
        return Process(Command(argv=(TRUEUP, "test", *arguments), cwd=self.folder, env=self.environ, timeout_secs=60))

    def read(self, name: str):
        return read_report(self.folder / name)

    async def see_it_sleep(self) -> None:
        deadline = time.monotonic() + 30
        while not (self.folder / "begun").exists():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)


@pytest.fixture
def author(tmp_path, monkeypatch) -> Author:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    return Author(folder)


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


async def test_what_passes_is_counted_recorded_and_told_in_every_form(author):
    author.case("greets")
    author.case("waves")
    files = ["r.json", "r.jsonl", "r.xml", "r.md", "r.html", "r.txt"]
    outputs = [word for name in files for word in ("--output", name)]
    done = await author.test("cases", "--repeat", "2", *outputs)
    assert (done.exit_code, done.stderr.text.count("passed: ")) == (0, 4)
    assert "2 cases × 1 platform × 1 model × 2 repeats" in done.stderr.text
    assert "4 of 4 cells" in done.stdout.text
    report = author.read("r.json")
    assert report == author.read("r.jsonl")
    assert report.summary.usage.cost_usd == pytest.approx(0.08)
    assert report.about.paths == [str(author.folder / "cases")]
    assert (author.folder / "r.txt").read_text() == done.stdout.text
    assert "<testsuite" in (author.folder / "r.xml").read_text()
    assert (author.folder / "r.html").read_text().startswith("<!doctype html>")
    assert (author.folder / "r.md").read_text().startswith("#")
    shown = await author.trueup("runs", "show", report.runs[0].run_id)
    assert "It greets." in shown.stdout.text


async def test_a_report_is_kept_for_the_pages_unless_nothing_is_to_be_recorded(author):
    author.case("greets")
    finished = await author.test("cases")
    [name] = kept_reports()
    assert f"kept as {name}; the pages of `trueup serve` show it" in finished.stderr.text
    assert kept_report(name).passed
    await author.test("cases", "--no-record")
    assert kept_reports() == [name]


async def test_a_failed_eval_exits_one_and_a_broken_provider_three(author):
    author.case("greets")
    author.case("fails", "Fail.")
    failed = await author.test("cases", "--json", "--quiet")
    assert (failed.exit_code, failed.stderr.text) == (1, "")
    data = json.loads(failed.stdout.text)
    assert (data["passed"], data["summary"]["passed"], data["summary"]["failed"]) == (False, 1, 1)
    author.case("breaks", "Break.")
    broken = await author.test("cases")
    assert broken.exit_code == 3
    assert "out of order" in broken.stdout.text
    assert "2 of 3" in broken.stdout.text or "1 of 2" in broken.stdout.text


async def test_a_stream_has_a_line_for_each_cell_and_the_report_last(author):
    author.case("greets")
    author.case("fails", "Fail.")
    done = await author.test("cases", "--format", "json-stream", "--quiet")
    assert done.exit_code == 1
    *cells, last = lines(done.stdout.text)
    assert {(line["type"], line["cell"]["case"]) for line in cells} == {("cell", "greets"), ("cell", "fails")}
    assert last["type"] == "result"
    assert last["report"]["summary"]["runs"] == 2


async def test_cells_that_ended_are_not_run_again_until_the_skill_changes(author):
    author.case("greets")
    await author.test("cases")
    again = await author.test("cases")
    assert "passed (cached): greets" in again.stderr.text
    kept = await author.trueup("cache", "list")
    assert "1 cell of skill tests" in kept.stdout.text
    assert "cached" not in (await author.test("cases", "--no-cache")).stderr.text
    (author.folder / "provider.sh").write_text(ANSWERS + "\n")
    assert "cached" not in (await author.test("cases")).stderr.text
    assert "2 cells of skill tests" in (await author.trueup("cache", "clean")).stdout.text
    assert (await author.trueup("cache", "list")).stdout.text == "nothing is kept\n"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_an_interrupted_run_leaves_a_partial_report_and_no_process(author, sent):
    author.case("a-greets")
    author.case("b-sleeps", "Sleep.")
    author.case("c-greets")
    async with author.started("cases", "--jobs", "1", "--output", "r.json", "--json") as process:
        await author.see_it_sleep()
        os.kill(process.pid, sent)
        finished = await process.wait()
    assert finished.exit_code == 130
    report = author.read("r.json")
    assert [cell.status.value for cell in report.runs] == ["passed", "skipped", "skipped"]
    assert report.partial
    assert json.loads(finished.stdout.text)["partial"]
    assert not is_running(author.nap)
    assert list((author.folder / "tmp").iterdir()) == []
    author.case("b-sleeps")
    resumed = await author.test("cases", "--no-cache", "--resume", "r.json")
    assert resumed.exit_code == 0
    assert resumed.stderr.text.count("passed (cached)") == 1


async def test_what_a_killed_run_had_written_is_gone_on_with(author):
    author.case("a-greets")
    author.case("b-sleeps", "Sleep.")
    async with author.started("cases", "--jobs", "1", "--no-cache", "--output", "r.jsonl") as process:
        await author.see_it_sleep()
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    author.case("b-sleeps")
    resumed = await author.test("cases", "--no-cache", "--resume", "r.jsonl")
    assert (resumed.exit_code, resumed.stderr.text.count("passed (cached)")) == (0, 1)


async def test_a_table_is_kept_up_to_date_on_a_terminal_and_ctrl_c_ends_it(author):
    author.case("a-fails", "Fail.")
    author.case("b-sleeps", "Sleep.")
    argv = (TRUEUP, "test", "cases", "--jobs", "1", "--output", "r.json")
    async with Terminal(argv, author.folder, author.environ) as terminal:
        await terminal.see("1 of 2 cells · 30 tokens, $0.02")
        await terminal.see("p m: 0 passed, 1 failed, 1 running")
        await terminal.see("failed: a-fails · p · m: it greets: It does not greet.")
        terminal.type(CTRL_C)
        assert await terminal.exit_code() == 130
    assert [cell.status.value for cell in author.read("r.json").runs] == ["failed", "skipped"]
    assert not is_running(author.nap)


async def test_a_budget_that_would_be_passed_ends_the_run_and_is_no_success(author):
    for number in range(5):
        author.case(f"greets-{number}")
    done = await author.test("cases", "--budget-usd", "0.05", "--output", "r.json")
    assert done.exit_code == 3
    assert "the budget of $0.05 would be passed: $0.04 are spent" in done.stdout.text
    report = author.read("r.json")
    assert (report.summary.passed, report.summary.skipped, report.partial) == (2, 3, True)


async def test_the_first_failure_can_end_the_run(author):
    author.case("a-fails", "Fail.")
    author.case("b-greets")
    done = await author.test("cases", "--fail-fast", "--jobs", "1", "--json", "--quiet")
    assert done.exit_code == 1
    assert [run["status"] for run in json.loads(done.stdout.text)["runs"]] == ["failed", "skipped"]


async def test_a_bad_case_is_refused_before_anything_runs_or_left_out_where_that_is_wanted(author):
    author.case("greets")
    author.case("odd", evals="- {type: boolean, critrion: it greets}")
    refused = await author.test("cases")
    assert (refused.exit_code, refused.stdout.text) == (2, "")
    assert "cases/odd.yaml:4:19: unknown key 'critrion'" in refused.stderr.text
    assert "did you mean 'criterion'?" in refused.stderr.text
    kept = await author.test("cases", "--keep-going")
    assert kept.exit_code == 2
    assert "1 of 1 cells" in kept.stdout.text
    assert "unknown key 'critrion'" in kept.stderr.text


async def test_the_arm_without_the_skill_can_be_run_and_taken_from_a_report(author):
    author.case("greets")
    await author.test("cases", "--baseline", "--no-cache", "--output", "base.json")
    assert [cell.arm.value for cell in author.read("base.json").runs] == ["with", "without"]
    (author.folder / "skills" / "greeter" / "SKILL.md").write_text(SKILL + "Be brief.\n")
    done = await author.test("cases", "--no-cache", "--baseline-from", "base.json", "--output", "r.json")
    assert done.exit_code == 0
    assert [(cell.arm.value, cell.cached) for cell in author.read("r.json").runs] == [
        ("with", False),
        ("without", True),
    ]


async def test_reports_are_judged_anew_compared_and_held_against_people(author):
    author.case("a")
    author.case("b", "Fail.")
    await author.test("cases", "--output", "before.json")
    (author.folder / "provider.sh").write_text(ANSWERS.replace('"value":false', '"value":true'))
    graded = await author.test("regrade", "before.json", "--judge-model", "other", "--output", "after.json")
    assert graded.exit_code == 1
    after = author.read("after.json")
    assert [[each.passed for each in cell.evals] for cell in after.runs] == [[True, True], [True, False]]
    assert after.about.judge_models == ["other"]
    compared = await author.test("compare", "before.json", "after.json")
    assert (compared.exit_code, compared.stdout.text.split(":")[0]) == (0, "inconclusive")
    assert "the judges differ" in compared.stdout.text
    data = json.loads((await author.test("compare", "before.json", "after.json", "--json")).stdout.text)
    assert data["conclusion"] == "inconclusive"
    blank = await author.test("calibrate", "labels.yaml", "--from", "before.json")
    assert "2 labels to fill in" in blank.stdout.text
    labels = author.folder / "labels.yaml"
    assert (await author.test("calibrate", "labels.yaml", "--from", "before.json")).exit_code == 2
    labels.write_text(labels.read_text().replace("value: null", "value: true"))
    held = await author.test("calibrate", "labels.yaml")
    assert "yes or no: 50% agreement" in held.stdout.text
    assert "b on p m, it greets: you say true, the judge false: It does not greet." in held.stdout.text


async def test_options_go_before_the_configuration_and_a_program_can_be_named(author):
    author.case("greets")
    (author.folder / "skilltest.yaml").unlink()
    (author.folder / "inner").mkdir()
    words = (
        "../cases",
        "--provider",
        "sh ../provider.sh",
        "--platform",
        "p,q",
        "--platform",
        "r",
        "--model",
        "m,n",
        "--json",
    )
    done = await author.test(*words, "--judge-model", "j,k", "--quiet", cwd=author.folder / "inner")
    assert done.exit_code == 0
    data = json.loads(done.stdout.text)
    assert {(run["platform"], run["model"]) for run in data["runs"]} == {(p, m) for p in "pqr" for m in "mn"}
    assert data["about"]["judge_models"] == ["j", "k"]
    assert len(data["runs"][0]["evals"][0]["votes"]) == 2


async def test_a_path_that_is_called_like_a_verb_is_given_with_its_folder(author):
    author.case("greets")
    (author.folder / "cases").rename(author.folder / "compare")
    assert (await author.test("./compare")).exit_code == 0


async def test_a_project_that_was_just_made_passes_offline(author):
    made = await author.trueup("skill", "init", "new")
    assert made.exit_code == 0
    done = await author.test("cases", cwd=author.folder / "new")
    assert (done.exit_code, done.stdout.text.splitlines()[-1]) == (0, "2 passed, 0 failed")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nothing"], "nothing: no such file"),
        (["cases", "--filter", "nobody"], "no case has 'nobody' in its name"),
        (["cases", "--strict-budget"], "--strict-budget is about a budget"),
        (["cases", "--budget-usd", "nan"], "nan is not a finite number"),
        (["cases", "--jobs", "0"], "0 is not in the range"),
        (["cases", "--output", "report.pdf"], "no form of report is known by the ending '.pdf'"),
        (["cases", "--output", "nowhere/r.json"], "there is no folder"),
        (["cases", "--output", "folder.md"], "folder.md: is a folder"),
        (["cases", "--resume", "skilltest.yaml"], "is not a report"),
        (["cases", "--baseline-from", "nothing.json"], "nothing.json: no such file"),
        (["cases", "--provider", "sh 'provider"], "No closing quotation"),
        (["cases", "--provider", " "], "--provider is empty"),
        (["cases", "--platform", "p,,q"], "a platform has a name"),
        (["regrade", "nothing.json"], "nothing.json: no such file"),
        (["compare", "cases"], "Missing argument"),
        (["calibrate", "nothing.yaml"], "nothing.yaml: no such file"),
    ],
)
async def test_bad_input_exits_two_and_says_what_to_do(author, words, complaint):
    author.case("greets")
    (author.folder / "folder.md").mkdir()
    done = await author.test(*words)
    assert (done.exit_code, done.stdout.text) == (2, "")
    assert complaint in done.stderr.text
    assert "Traceback" not in done.stderr.text


@pytest.mark.parametrize("form", [["--json"], ["--format", "json"], ["--format", "json-stream"]])
async def test_for_programs_bad_input_is_json(author, form):
    done = await author.test("nothing", *form)
    assert done.exit_code == 2
    assert json.loads(done.stdout.text) == {"error": "nothing: no such file", "kind": "input"}
