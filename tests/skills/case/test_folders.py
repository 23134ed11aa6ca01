"""Cases out of folders: which files are taken, and what becomes of those that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trueup.core.errors import InputError
from trueup.skills._case import load_cases


def names(*paths: Path) -> list[str]:
    return [case.name for case in load_cases(paths).cases]


def refused(*paths: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_cases(paths)
    return str(caught.value)


def test_a_folder_is_read_with_all_below_it_in_order(project):
    for name in ("b.yaml", "a.yml", "deep/er/c.yaml", "deep/d.skilltest.yaml"):
        depth = "../" * (name.count("/") + 1)
        project.write(f"cases/{name}", f"skill: {depth}skills/greeter\ninput: x\n{project.evals}")
    project.write("cases/notes.txt", "no case")
    assert names(project.cases) == ["a", "b", "d.skilltest", "c"]


def test_configuration_hidden_folders_and_packages_are_passed_over(project):
    project.write("cases/a.yaml", project.plain)
    for name in ("skilltest.yaml", "trueup.yaml", ".github/ci.yaml", "node_modules/x/y.yaml"):
        project.write(f"cases/{name}", "kind: other")
    assert names(project.cases) == ["a"]


def test_configuration_that_is_named_as_a_case_is_refused(project):
    told = refused(project.write("skilltest.yaml", "models: [a]"))
    assert told.endswith("skilltest.yaml: is a configuration and no case; use it with --config")


def test_links_in_a_circle_end(project):
    project.write("cases/a.yaml", project.plain)
    (project.cases / "loop").symlink_to(project.cases)
    (project.cases / "self.yaml").symlink_to("self.yaml")
    assert "self.yaml: cannot be read: Too many levels of symbolic links" in refused(project.cases)
    (project.cases / "self.yaml").unlink()
    assert names(project.cases) == ["a"]


def test_a_file_that_is_named_twice_is_one_case(project):
    path = project.write("cases/a.yaml", project.plain)
    (project.cases / "b.yaml").symlink_to(path)
    assert names(path, project.cases, project.cases / "../cases/a.yaml") == ["a"]


def test_two_cases_of_one_name_are_refused(project):
    project.write("cases/a.yaml", project.plain)
    project.write("cases/b.yaml", f"name: a\n{project.plain}")
    told = refused(project.cases)
    assert told == (
        f"{project.cases}/b.yaml: the name 'a' is that of {project.cases}/a.yaml already; give one of them another `name`"
    )


def test_a_file_that_is_no_case_is_told_as_such(project):
    project.write("cases/a.yaml", project.plain)
    project.write("cases/other.yaml", "kind: Deployment\n")
    told = refused(project.cases)
    assert told.startswith(f"{project.cases}/other.yaml: is no case: it has neither `skill` nor `evals`")
    assert "unknown key 'kind'" in refused(project.cases / "other.yaml"), (
        "named itself, it is told what is wrong with it"
    )


def test_yaml_of_a_skill_and_of_a_workspace_is_no_case_and_no_problem(project):
    project.write("tests/a.yaml", f"workspace: app\n{project.plain}")
    for name in ("skills/greeter/agents/openai.yaml", "tests/app/config.yaml", "tests/app/broken.yaml"):
        project.write(name, "kind: [")
    assert names(project.root) == ["a"]
    project.write("tests/app/half.yaml", "skill: x\ninput: y\n")
    assert "half.yaml" in refused(project.root), "it wants to be a case"


def test_keeping_going_leaves_out_what_cannot_be_read_and_says_so(project):
    project.write("cases/a.yaml", project.plain)
    project.write("cases/b.yaml", project.plain.replace("input", "imput"))
    loaded = load_cases([project.cases, project.root / "none.yaml"], keep_going=True)
    assert [case.name for case in loaded.cases] == ["a"]
    assert [problem.rpartition("/")[2].partition(";")[0] for problem in loaded.problems] == [
        "b.yaml:2:1: unknown key 'imput'",
        "none.yaml: no such file",
    ]


def test_a_folder_without_cases_is_refused(project):
    assert refused(project.cases) == f"{project.cases}: no case (*.yaml) is in this folder or below it"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_told(project):
    project.write("cases/shut/a.yaml", project.plain)
    (project.cases / "shut").chmod(0)
    try:
        assert "shut: cannot be read: Permission denied" in refused(project.cases)
    finally:
        (project.cases / "shut").chmod(0o755)


def test_a_pipe_among_the_cases_is_refused_and_not_waited_for(project):
    os.mkfifo(project.cases / "pipe.yaml")
    assert "pipe.yaml: is not a regular file" in refused(project.cases)


def test_of_many_bad_files_the_first_are_told_and_the_others_counted(project):
    for number in range(30):
        project.write(f"cases/{number:02}.yaml", "skill: [\n")
    told = refused(project.cases).splitlines()
    assert (len(told), told[-1]) == (21, "10 more files cannot be used")


def test_ten_thousand_cases_are_read(project):
    for number in range(10_000):
        project.write(f"cases/{number}.yaml", project.plain)
    assert len(names(project.cases)) == 10_000


def test_a_path_that_is_too_long_is_no_case(project):
    assert refused(project.root / ("a" * 300)).endswith(": cannot be read: File name too long")
