"""A skill is loaded only if it is valid, and has a digest of its whole folder."""

from __future__ import annotations

import os
import shutil

import pytest

from trueup.core.errors import InputError
from trueup.skills._skill import folder_digest, load_skill
from trueup.skills._skill._digest import survey

TEXT = """\
---
name: greeter
description: " Greets people. "
license: MIT
compatibility: Needs git
metadata:
  version: 1.5
allowed-tools: Bash(git add:*), Read
---

# Greeter

Greet them, see [the list](references/list.md).
"""


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "greeter"
    (path / "scripts").mkdir(parents=True)
    (path / "SKILL.md").write_text(TEXT)
    (path / "scripts" / "run.sh").write_text("echo hi\n")
    (path / "link").symlink_to("scripts/run.sh")
    return path


def test_a_skill_has_what_its_file_says(folder):
    skill = load_skill(folder)
    assert (skill.name, skill.description, skill.license) == ("greeter", "Greets people.", "MIT")
    assert (skill.compatibility, skill.metadata) == ("Needs git", {"version": "1.5"})
    assert skill.allowed_tools == ("Bash(git add:*)", "Read")
    assert (skill.body_line, skill.instructions) == (11, TEXT.partition("---\n\n")[2].rstrip())
    assert (skill.ref.name, skill.ref.path, skill.ref.instructions) == ("greeter", str(folder), skill.instructions)
    assert [warning.rule for warning in skill.warnings] == ["metadata-values", "reference-missing"]
    assert load_skill(folder / "SKILL.md") == skill


def test_a_skill_that_is_not_valid_is_refused_with_every_error_and_its_line(folder):
    (folder / "SKILL.md").write_text("---\nname: Greeter\nlicence: MIT\n---\nText <!-- scripts/x.py -->\n")
    with pytest.raises(InputError) as refused:
        load_skill(folder)
    file = folder / "SKILL.md"
    assert str(refused.value).splitlines() == [
        f"{file}:2: error [name-characters] the name 'Greeter' has other characters than a to z, 0 to 9 and hyphens; write name: greeter",
        f"{file}:2: error [name-folder] the name 'Greeter' is not that of the folder 'greeter'; rename one of the two",
        f"{file}:2: error [description-missing] there is no description; say what the skill does and when to use it: agents choose by that",
        f"{file}:3: error [key-unknown] unknown key 'licence'; did you mean 'license'?",
    ]


def test_only_the_folder_itself_is_looked_in(folder):
    with pytest.raises(InputError, match=r"there is no SKILL.md in it"):
        load_skill(folder.parent)
    with pytest.raises(InputError, match="no such folder of a skill"):
        load_skill(folder / "nowhere")


def test_the_digest_is_that_of_the_content_and_not_of_the_place_or_the_time(folder, tmp_path):
    copy = tmp_path / "elsewhere" / "greeter"
    shutil.copytree(folder, copy, symlinks=True)
    os.utime(copy / "SKILL.md", (0, 0))
    (copy / "scripts" / "__pycache__").mkdir()
    (copy / "scripts" / "__pycache__" / "run.pyc").touch()
    (copy / ".git").mkdir()
    (copy / ".git" / "HEAD").touch()
    assert load_skill(copy).digest == load_skill(folder).digest


def make_it_run(folder):
    (folder / "scripts" / "run.sh").chmod(0o755)


def change_a_byte(folder):
    (folder / "scripts" / "run.sh").write_text("echo ho\n")


def rename_a_file(folder):
    (folder / "scripts" / "run.sh").rename(folder / "scripts" / "ran.sh")


def lead_elsewhere(folder):
    (folder / "link").unlink()
    (folder / "link").symlink_to("scripts")


def replace_the_link_by_what_it_leads_to(folder):
    (folder / "link").unlink()
    shutil.copy(folder / "scripts" / "run.sh", folder / "link")


def shift_a_boundary(folder):
    (folder / "a").write_text("x4:file")
    (folder / "a").rename(folder / "ax")


@pytest.mark.parametrize(
    "change",
    [
        make_it_run,
        change_a_byte,
        rename_a_file,
        lead_elsewhere,
        replace_the_link_by_what_it_leads_to,
        shift_a_boundary,
        lambda folder: (folder / "empty").touch(),
        lambda folder: os.mkfifo(folder / "pipe"),
    ],
)
def test_the_digest_is_another_one_after_a_change(folder, change):
    before = folder_digest(folder)
    change(folder)
    assert folder_digest(folder) != before


def test_links_in_a_circle_and_names_that_are_no_text_have_a_digest(folder):
    (folder / "loop").symlink_to(".")
    (folder / os.fsdecode(b"\xff\xfe")).touch()
    assert len(load_skill(folder).digest) == 64


def test_a_folder_that_is_too_large_is_refused(folder):
    with open(folder / "data", "wb") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(InputError, match="more than 256 MiB"):
        load_skill(folder)


def test_a_folder_with_too_many_files_is_refused(folder):
    assert len(survey(folder, most_files=3)) == 3
    with pytest.raises(InputError, match="more than 2 files"):
        survey(folder, most_files=2)
