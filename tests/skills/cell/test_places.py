"""Evals of what is in the workspace when the agent is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scripted_provider import ScriptedProvider, cell_of
from trueup.skills._case import CommandEval, FileEval
from trueup.skills._cell import run_cell
from trueup.skills._model import AssistantTurn, RespondRequest
from trueup.skills._report import CellReport


async def after(work: Callable[[Path], object], *evals) -> CellReport:
    async def reply(request: RespondRequest) -> AssistantTurn:
        work(request.folder)
        return AssistantTurn(message="Done.")

    return await run_cell(cell_of(*evals), ScriptedProvider(reply))


def greet(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out/hello.txt").write_text("Hello, Ada!\n")
    (folder / "link.txt").symlink_to("out/hello.txt")


@pytest.mark.parametrize(
    ("eval_", "passed"),
    [
        (FileEval(path="out/hello.txt"), True),
        (FileEval(path="out"), True),
        (FileEval(path="./out/hello.txt", exists=False), False),
        (FileEval(path="nothing.txt"), False),
        (FileEval(path="nothing.txt", exists=False), True),
        (FileEval(path="out/hello.txt/deeper"), False),
        (FileEval(path="out/hello.txt", contains="Ada"), True),
        (FileEval(path="out/hello.txt", contains="Bob"), False),
        (FileEval(path="out/hello.txt", matches=r"^Hello, \w+!"), True),
        (FileEval(path="out/hello.txt", matches="^Ada"), False),
        (FileEval(path="out/hello.txt", equals="Hello, Ada!\n"), True),
        (FileEval(path="out/hello.txt", equals="Hello, Ada!"), False),
        (FileEval(path="out/hello.txt", contains="Ada", equals="x"), False),
        (FileEval(path="link.txt", contains="Ada"), True),
        (FileEval(path="out", contains="Ada"), False),
    ],
)
async def test_a_file_is_as_it_should_be(eval_: FileEval, passed: bool):
    report = await after(greet, eval_)
    assert report.error is None
    assert report.evals[0].passed is passed, report.evals[0].reason


@pytest.mark.parametrize(
    "make",
    [
        lambda folder, secret: (folder / "out").symlink_to(secret),
        lambda folder, secret: (folder / "out").symlink_to(os.path.relpath(secret, folder)),
        lambda folder, secret: (folder / "a").symlink_to(secret.parent) or (folder / "out").symlink_to("a/secret"),
    ],
    ids=["absolute", "relative", "by way of another"],
)
@pytest.mark.parametrize("exists", [True, False])
async def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path, make, exists: bool):
    secret = tmp_path / "secret"
    secret.write_text("a key")
    eval_ = FileEval(path="out", exists=exists, contains="a key" if exists else None)
    report = await after(lambda folder: make(folder, secret), eval_)
    assert not report.passed
    assert report.evals[0].reason == "out leads out of the workspace."


async def test_a_folder_that_leads_out_is_not_gone_through(tmp_path: Path):
    (tmp_path / "secret").write_text("a key")
    report = await after(lambda folder: (folder / "in").symlink_to(tmp_path), FileEval(path="in/secret"))
    assert not report.passed


async def test_a_pipe_is_not_opened():
    report = await after(lambda folder: os.mkfifo(folder / "pipe"), FileEval(path="pipe", contains="x"))
    assert report.evals[0].reason == "pipe is not a file, so it was not opened."


async def test_a_huge_file_is_not_read():
    def make(folder: Path) -> None:
        with (folder / "huge").open("wb") as file:
            file.truncate(1 << 40)

    report = await after(make, FileEval(path="huge", contains="x"), FileEval(path="huge"))
    assert [each.passed for each in report.evals] == [False, True]
    assert "larger than 10 MiB" in report.evals[0].reason


async def test_a_file_without_text_is_no_trouble():
    report = await after(
        lambda folder: (folder / "data").write_bytes(b"\xff\xfe\x00key"), FileEval(path="data", contains="key")
    )
    assert report.passed


async def test_a_link_to_itself_is_no_file():
    report = await after(lambda folder: (folder / "loop").symlink_to("loop"), FileEval(path="loop", contains="x"))
    assert report.error is None
    assert not report.passed


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "a/../../b", "nul\0"])
async def test_a_path_out_of_the_workspace_is_an_error_of_input(path: str):
    report = await after(greet, FileEval(path=path))
    assert report.error is not None
    assert report.error.kind == "input"


@pytest.mark.parametrize(
    ("eval_", "passed"),
    [
        (CommandEval(command="grep -q Ada out/hello.txt"), True),
        (CommandEval(command="grep -q Bob out/hello.txt"), False),
        (CommandEval(command="exit 3", exit_code=3), True),
        (CommandEval(command="cat out/hello.txt", output_contains="Ada"), True),
        (CommandEval(command="cat out/hello.txt >&2", output_contains="Ada"), True),
        (CommandEval(command="cat out/hello.txt", output_contains="Bob"), False),
        (CommandEval(command="kill -9 $$"), False),
    ],
)
async def test_a_command_runs_in_the_workspace(eval_: CommandEval, passed: bool):
    report = await after(greet, eval_)
    assert report.error is None
    assert report.evals[0].passed is passed, report.evals[0].reason


async def test_the_end_of_what_a_command_printed_is_the_reason():
    report = await after(greet, CommandEval(command="seq 10000; echo the last word; exit 2"))
    reason = report.evals[0].reason
    assert "exited with 2 and not with 0" in reason
    assert reason.endswith("the last word")
    assert len(reason) < 3000


async def test_a_command_that_does_not_end_is_ended():
    report = await after(greet, CommandEval(command="sleep 60", timeout_secs=0.2))
    assert "did not end within 0.2 s" in report.evals[0].reason
    assert not report.passed


async def test_evals_of_the_workspace_come_one_after_the_other_in_their_order():
    report = await after(
        greet,
        CommandEval(command="mkdir lock && sleep 0.05 && rmdir lock && touch first"),
        CommandEval(command="mkdir lock && rmdir lock && test -e first && touch second"),
        FileEval(path="second"),
    )
    assert report.passed, report.evals
