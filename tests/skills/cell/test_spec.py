"""Keys of cells: what decides is in them, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from scripted_provider import cell_of
from trueup.core.errors import InputError
from trueup.skills._case import Boolean, Contains, FileEval, JsonEval, Match, Mock, User, Workspace
from trueup.skills._cell import CellSkill, CellSpec, fixtures_digest
from trueup.skills._model import Delivery
from trueup.skills._report import Arm

POLITE = Boolean(criterion="it is polite")
SKILL = CellSkill(name="greeter", path="/project/skills/greeter", instructions="Greet people.", digest="d2")


@pytest.mark.parametrize(
    "changed",
    [
        {"skill": SKILL},
        {"platform": "codex"},
        {"platform_version": "2.2"},
        {"model": "opus"},
        {"repeat": 2},
        {"arm": Arm.WITHOUT},
        {"judges": ("haiku", "opus")},
        {"votes": 3},
        {"delivery": Delivery.INSTALL},
        {"provider": "oneharness"},
        {"prompts": "p2"},
        {"fixtures": "f2"},
        {"name": "greets twice"},
        {"input": "Greet Bob."},
        {"user": User(persona="a guest")},
        {"spy": True},
        {"mocks": (Mock(match=Match(tool="bash"), stub="ok"),)},
        {"workspace": Workspace(files={"a.txt": "a"})},
        {"workspace": Workspace(setup="git init")},
    ],
    ids="-".join,
)
def test_whatever_decides_what_happens_changes_the_key(changed: dict[str, Any]):
    assert cell_of(POLITE, **changed).key != cell_of(POLITE).key


def test_an_eval_changes_the_key():
    keys = {cell_of(each).key for each in (POLITE, Boolean(criterion="it is rude"), Contains(text="Ada"))}
    assert len(keys) == 3


def test_the_turns_change_the_key_only_where_there_is_a_conversation():
    user = User(persona="a guest")
    assert cell_of(POLITE, max_turns=3).key == cell_of(POLITE, max_turns=4).key
    assert cell_of(POLITE, user=user, max_turns=3).key != cell_of(POLITE, user=user, max_turns=4).key
    own = User(persona="a guest", max_turns=2)
    assert cell_of(POLITE, user=own, max_turns=3).key == cell_of(POLITE, user=own, max_turns=4).key


def test_the_arm_without_the_skill_has_the_same_key_whatever_the_skill_is():
    assert cell_of(POLITE, arm=Arm.WITHOUT, skill=SKILL).key == cell_of(POLITE, arm=Arm.WITHOUT).key


def test_the_same_project_in_another_folder_has_the_same_keys(tmp_path: Path):
    def cell_in(project: Path) -> CellSpec:
        spec = cell_of(POLITE, workspace=Workspace(folder=str(project / "fixture")))
        case = replace(spec.case, source=project / "cases/greets.yaml", skill=project / "skills/greeter")
        skill = replace(spec.skill, path=str(case.skill))
        return replace(spec, case=case, skill=skill, fixtures=fixtures_digest(case))

    here = tmp_path / "here"
    (here / "fixture/sub").mkdir(parents=True)
    (here / "fixture/sub/a.txt").write_text("a")
    (here / "fixture/link").symlink_to(here / "fixture/sub")
    shutil.copytree(here, tmp_path / "there", symlinks=True)
    (tmp_path / "there/fixture/link").unlink()
    (tmp_path / "there/fixture/link").symlink_to(tmp_path / "there/fixture/sub")
    assert cell_in(here).key == cell_in(tmp_path / "there").key


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a.txt").write_text("b"),
        lambda folder: (folder / "a.txt").chmod(0o755),
        lambda folder: (folder / "a.txt").rename(folder / "b.txt"),
        lambda folder: (folder / "empty").mkdir(),
        lambda folder: (folder / "link").symlink_to("a.txt"),
    ],
    ids=["content", "executable", "name", "folder", "link"],
)
def test_what_a_fixture_holds_changes_its_digest(tmp_path: Path, change: Any):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "a.txt").chmod(0o644)
    case = cell_of(POLITE, workspace=Workspace(folder=str(tmp_path))).case
    before = fixtures_digest(case)
    change(tmp_path)
    assert fixtures_digest(case) != before


def test_a_fixture_that_is_not_there_is_said_so(tmp_path: Path):
    case = cell_of(POLITE, workspace=Workspace(folder=str(tmp_path / "nowhere"))).case
    with pytest.raises(InputError, match="there is no folder"):
        fixtures_digest(case)


def test_a_cell_can_be_sent_elsewhere():
    spec = cell_of(
        POLITE,
        JsonEval(pointer="/name", equals=None),
        FileEval(path="out.txt", exists=False),
        mocks=(Mock(name="push", match=Match(input={"command": "git push"}), deny="no"),),
        workspace=Workspace(files={"a": "b"}),
        arm=Arm.WITHOUT,
    )
    assert CellSpec.decode(spec.encode()) == spec
    assert CellSpec.decode(spec.encode()).key == spec.key


def test_half_a_character_in_a_case_has_a_key_too():
    assert cell_of(POLITE, input="\udcff").key != cell_of(POLITE, input="\udcfe").key
