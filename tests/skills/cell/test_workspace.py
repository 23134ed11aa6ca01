"""The folder of a cell: what it begins with, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from scripted_provider import ScriptedProvider, cell_of
from trueup.core.usage import Usage
from trueup.skills._case import CommandEval, FileEval, Workspace
from trueup.skills._cell import run_cell
from trueup.skills._model import AssistantTurn, RespondRequest
from trueup.skills._report import CellStatus


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where workspaces are made, so that a test can see what is left of them."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


async def test_a_cell_begins_with_its_folder_then_its_files_then_its_setup(tmp_path: Path, temporary: Path):
    fixture = tmp_path / "fixture"
    (fixture / "sub").mkdir(parents=True)
    (fixture / "sub/run.sh").write_text("#!/bin/sh\necho ran\n")
    (fixture / "sub/run.sh").chmod(0o755)
    (fixture / "shortcut").symlink_to(fixture / "sub/run.sh")
    (fixture / "name.txt").write_text("Ada")
    workspace = Workspace(
        folder=str(fixture), files={"name.txt": "Bob", "deep/er.txt": "x"}, setup="cat name.txt deep/er.txt > both.txt"
    )
    spec = cell_of(
        FileEval(path="both.txt", equals="Bobx"),
        CommandEval(command="./shortcut && readlink shortcut", output_contains="ran"),
        CommandEval(command="readlink shortcut", output_contains="sub/run.sh"),
        CommandEval(command=f"readlink shortcut | grep {fixture}", exit_code=1),
        workspace=workspace,
    )
    report = await run_cell(spec, ScriptedProvider())
    assert report.passed, report
    assert (fixture / "name.txt").read_text() == "Ada"
    assert not any(temporary.iterdir())


async def test_a_setup_that_fails_is_an_error_of_input_before_anything_is_spent(temporary: Path):
    provider = ScriptedProvider()
    spec = cell_of(FileEval(path="x"), workspace=Workspace(setup="echo no such luck >&2; exit 3"))
    report = await run_cell(spec, provider)
    assert report.status is CellStatus.ERROR
    assert report.error is not None
    assert (report.error.kind, report.error.stage) == ("input", "workspace")
    assert "exited with 3" in report.error.message
    assert "no such luck" in report.error.message
    assert provider.requests == []
    assert report.usage == Usage.total([])
    assert not any(temporary.iterdir())


async def test_what_an_agent_closed_or_nested_is_removed_all_the_same(temporary: Path):
    async def close(request: RespondRequest) -> AssistantTurn:
        nest(request.folder, 1500)
        (request.folder / "deep/er").mkdir(parents=True)
        (request.folder / "deep/er/file").write_text("x")
        (request.folder / "deep/er").chmod(0o500)
        (request.folder / "deep").chmod(0o000)
        return AssistantTurn(message="Done.")

    report = await run_cell(cell_of(FileEval(path="nothing", exists=False)), ScriptedProvider(close))
    assert report.passed, report
    assert not any(temporary.iterdir())


def nest(folder: Path, levels: int) -> None:
    """Folders in folders, deeper than most programs can follow."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=here)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


async def test_a_cancelled_cell_leaves_nothing(temporary: Path):
    begun = asyncio.Event()

    async def linger(request: RespondRequest) -> AssistantTurn:
        (request.folder / "file").write_text("x")
        begun.set()
        await asyncio.sleep(60)
        raise AssertionError

    cell = asyncio.create_task(run_cell(cell_of(FileEval(path="file")), ScriptedProvider(linger)))
    await begun.wait()
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    assert not any(temporary.iterdir())


async def test_a_cell_cancelled_while_it_copies_leaves_nothing(tmp_path: Path, temporary: Path):
    fixture = tmp_path / "fixture"
    fixture.mkdir()
    for number in range(300):
        (fixture / f"file-{number}").write_text("x" * 1000)
    spec = cell_of(FileEval(path="x"), workspace=Workspace(folder=str(fixture)))
    cell = asyncio.create_task(run_cell(spec, ScriptedProvider()))
    while not any(temporary.iterdir()):
        await asyncio.sleep(0)
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    assert not any(temporary.iterdir())


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda folder: (folder / "out").symlink_to("/etc/passwd"), "leads out of the folder"),
        (lambda folder: (folder / "out").symlink_to("../secret"), "leads out of the folder"),
        (lambda folder: os.mkfifo(folder / "pipe"), "neither a file nor a folder"),
    ],
    ids=["absolute", "relative", "pipe"],
)
async def test_a_fixture_never_brings_in_what_is_not_its_own(tmp_path: Path, make, complaint: str):
    fixture = tmp_path / "fixture"
    fixture.mkdir()
    make(fixture)
    report = await run_cell(cell_of(FileEval(path="x"), workspace=Workspace(folder=str(fixture))), ScriptedProvider())
    assert report.error is not None
    assert (report.error.kind, report.error.stage) == ("input", "workspace")
    assert complaint in report.error.message


async def test_a_link_of_a_fixture_never_leads_from_the_copy_back_to_the_original(tmp_path: Path):
    fixture = tmp_path / "fixture"
    (fixture / "sub").mkdir(parents=True)
    (fixture / "sub/kept.txt").write_text("as it was")
    (fixture / "sub/round").symlink_to(Path("../" * 30, str(fixture / "sub/kept.txt").lstrip("/")))
    (fixture / "by-name").symlink_to("../fixture/sub")
    (fixture / "chain").symlink_to("by-name/kept.txt")

    async def poison(request: RespondRequest) -> AssistantTurn:
        for name in ("sub/round", "by-name/kept.txt", "chain"):
            with (request.folder / name).open("a") as file:
                file.write("!")
        return AssistantTurn(message="done")

    spec = cell_of(FileEval(path="sub/kept.txt", equals="as it was!!!"), workspace=Workspace(folder=str(fixture)))
    assert (await run_cell(spec, ScriptedProvider(poison))).passed
    assert (fixture / "sub/kept.txt").read_text() == "as it was"


async def test_a_fixture_with_links_in_a_circle_is_copied(tmp_path: Path):
    fixture = tmp_path / "fixture"
    (fixture / "sub").mkdir(parents=True)
    (fixture / "sub/up").symlink_to("..")
    (fixture / "self").symlink_to("self")
    spec = cell_of(CommandEval(command="test -L self && test -d sub/up/sub"), workspace=Workspace(folder=str(fixture)))
    assert (await run_cell(spec, ScriptedProvider())).passed


@pytest.mark.parametrize("name", ["../escaped.txt", "/tmp/escaped.txt", ".", "sub/../../escaped.txt", "nul\0.txt"])
async def test_a_file_of_a_case_stays_in_the_workspace(tmp_path: Path, name: str):
    report = await run_cell(cell_of(FileEval(path="x"), workspace=Workspace(files={name: "x"})), ScriptedProvider())
    assert report.error is not None
    assert report.error.kind == "input"
    assert not list(tmp_path.rglob("escaped.txt"))
