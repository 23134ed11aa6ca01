"""Removing whatever an agent, or a hostile program, may leave: deeper than a path can name, closed, or full of links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trueup.core.files import remove_tree

DEPTH = 1200


def nest(folder, depth=DEPTH):
    """Folders in folders, with a file in the last; made as a hostile program makes them, step by step."""
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("nested-folder", dir_fd=here)
        inner = os.open("nested-folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


def test_folders_deeper_than_a_path_can_name_are_removed(tmp_path):
    nest(tmp_path / "deep")
    remove_tree(tmp_path / "deep")
    assert list(tmp_path.iterdir()) == []


def test_what_others_can_still_write_to_is_removed_where_they_cannot(tmp_path):
    (tmp_path / "theirs").mkdir()
    nest(tmp_path / "theirs" / "deep", 3)
    (tmp_path / "theirs" / "deep").chmod(0)
    theirs = os.open(tmp_path / "theirs", os.O_RDONLY)
    remove_tree(tmp_path / "theirs" / "deep", aside=tmp_path)
    assert os.listdir(theirs) == []
    assert [each.name for each in tmp_path.iterdir()] == ["theirs"]
    os.close(theirs)


def test_what_a_link_leads_to_stays(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "gone" / "sub").mkdir(parents=True)
    (tmp_path / "gone" / "sub" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "gone")
    remove_tree(tmp_path / "link")
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


def test_closed_folders_are_removed(tmp_path):
    inner = tmp_path / "closed" / "inner"
    (inner / "last").mkdir(parents=True)
    (inner / "file").touch()
    for folder in (inner / "last", inner, inner.parent):
        folder.chmod(0)
    remove_tree(tmp_path / "closed")
    assert list(tmp_path.iterdir()) == []


def test_names_that_look_like_ours_are_nothing_special(tmp_path):
    for number in range(3):
        (tmp_path / "tree" / "a" / f"left-{number}").mkdir(parents=True)
        (tmp_path / "tree" / f"left-{number}").mkdir()
    remove_tree(tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_and_what_is_no_folder(tmp_path):
    remove_tree(tmp_path / "missing")
    (tmp_path / "file").touch()
    remove_tree(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_is_an_error():
    with pytest.raises(PermissionError):
        remove_tree(Path("/proc/self/fdinfo"))
