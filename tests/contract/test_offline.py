"""A contract is proposed from the repository's own files, and from nothing else."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projects import checks, commands, scripts, write
from trueup.contract._offline import derive_offline
from trueup.contract._problems import problems_of
from trueup.core.errors import InputError

# What a contract says


def test_the_intent_becomes_the_description(tmp_path):
    write(tmp_path, {"go.mod": "module x\n"})
    assert derive_offline(tmp_path, " add a flag ").contract.description == "add a flag"


def test_without_an_intent_the_own_checks_are_the_aim(tmp_path):
    write(tmp_path, {"go.mod": "module x\n"})
    assert derive_offline(tmp_path).contract.description == "The repository's own checks pass."


def test_every_command_comes_with_its_evidence(tmp_path):
    write(tmp_path, {"pyproject.toml": "[tool.pytest.ini_options]\n"})
    tests = derive_offline(tmp_path).suggestions[-1]
    assert (tests.name, tests.reason) == ("tests_pass", "pyproject.toml has [tool.pytest.ini_options]")


def test_nothing_found_says_what_was_looked_for_and_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"no checks were found.*Rust.*CI files.*`checks:`.*model"):
        derive_offline(tmp_path)


def test_a_repository_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        derive_offline(tmp_path / "missing")


def test_the_proposed_contract_has_no_problem(tmp_path):
    manifests = {"package.json": scripts(test="jest", lint="eslint ."), "Cargo.toml": "", "go.mod": "", "pom.xml": ""}
    write(tmp_path, {f"{folder}{name}": text for folder in ("", "a b/", "a-b/") for name, text in manifests.items()})
    contract = derive_offline(tmp_path).contract
    assert list(problems_of(contract)) == []


# Several packages


def test_each_package_of_a_monorepo_runs_in_its_own_folder(tmp_path):
    write(tmp_path, {"api/go.mod": "", "web/package.json": scripts(test="jest"), "web/package-lock.json": "{}"})
    derived = derive_offline(tmp_path)
    assert checks(derived)["api_tests_pass"] == ("api", "go test ./...")
    assert checks(derived)["web_tests_pass"] == ("web", "npm test")
    assert derived.contract.setup == ["cd api && go mod download", "cd web && npm ci"]
    assert derived.contract.setup_inputs == ["api/go.mod", "web/package.json", "web/package-lock.json"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"Cargo.toml": "[workspace]\nmembers = ['crates/*']\n", "crates/a/Cargo.toml": "[package]\n"},
            [(".", "cargo test --workspace")],
        ),
        (
            {
                "package.json": '{"workspaces": ["apps/*"], "scripts": {"test": "jest"}}',
                "apps/a/package.json": scripts(test="x"),
            },
            [(".", "npm test")],
        ),
        (
            {"pom.xml": "<modules><module>core</module></modules>", "core/pom.xml": "", "core/sub/pom.xml": ""},
            [(".", "mvn -B test")],
        ),
        (
            {"settings.gradle": "include 'a'", "a/build.gradle": ""},
            [(".", "gradle --no-daemon test")],
        ),
        (
            {"pyproject.toml": "[tool.uv.workspace]\nmembers = ['libs/*']\n", "uv.lock": "", "libs/a/pytest.ini": ""},
            [(".", "uv run --no-sync pytest")],
        ),
    ],
)
def test_a_workspace_is_one_package(tmp_path, files, expected):
    assert list(checks(derive_offline(write(tmp_path, files))).values()) == expected


def test_a_go_workspace_tests_the_modules_that_it_uses(tmp_path):
    write(
        tmp_path,
        {"go.work": "go 1.22\nuse (\n\t./a // one\n\t./b\n)\n", "a/go.mod": "", "b/go.mod": "", "c/go.mod": ""},
    )
    found = checks(derive_offline(tmp_path))
    assert found["tests_pass"] == (".", "go test ./a/... ./b/...")
    assert [name for name in found if "tests" in name] == ["tests_pass", "c_tests_pass"]


def test_a_script_that_only_members_have_is_run_in_all_of_them(tmp_path):
    write(
        tmp_path, {"package.json": '{"private": true}', "pnpm-workspace.yaml": "packages: ['libs/**', '!libs/old']\n"}
    )
    write(tmp_path, {"pnpm-lock.yaml": "", "libs/a/package.json": scripts(test="jest")})
    assert list(checks(derive_offline(tmp_path)).values()) == [(".", "pnpm -r run test")]


def test_a_package_outside_the_workspace_is_its_own(tmp_path):
    write(tmp_path, {"Cargo.toml": "[workspace]\nexclude = ['tools/x']\n", "tools/x/Cargo.toml": "[package]\n"})
    assert checks(derive_offline(tmp_path))["tools_x_tests_pass"] == ("tools/x", "cargo test")


@pytest.mark.parametrize(
    "folder", ["node_modules/a", ".hidden", "vendor/a", "tests/fixtures/a", "examples/a", "a/b/c/d/e"]
)
def test_what_is_not_the_projects_own_is_not_a_package(tmp_path, folder):
    write(tmp_path, {f"{folder}/Cargo.toml": ""})
    with pytest.raises(InputError):
        derive_offline(tmp_path)


def test_a_virtual_environment_under_any_name_is_not_a_package(tmp_path):
    write(tmp_path, {"myenv/pyvenv.cfg": "", "myenv/lib/Cargo.toml": ""})
    with pytest.raises(InputError):
        derive_offline(tmp_path)


def test_at_most_ten_packages_are_proposed(tmp_path):
    write(tmp_path, {f"p{number:02}/Cargo.toml": "" for number in range(14)})
    derived = derive_offline(tmp_path)
    assert (len(derived.contract.checks), derived.notes) == (10, ["14 packages found, the first 10 are proposed"])


def test_a_package_without_checks_brings_no_setup(tmp_path):
    write(
        tmp_path,
        {"go.mod": "", "docs/requirements.txt": "sphinx\n", "site/package.json": '{"dependencies": {"a": "1"}}'},
    )
    assert derive_offline(tmp_path).contract.setup == ["go mod download"]


def test_two_languages_in_one_folder_get_names_of_their_own(tmp_path):
    write(tmp_path, {"go.mod": "", "package.json": scripts(test="jest")})
    assert {"tests_pass", "go_tests_pass"} <= checks(derive_offline(tmp_path)).keys()


def test_folders_that_slug_alike_keep_unique_names(tmp_path):
    write(tmp_path, {"a b/Cargo.toml": "", "a-b/Cargo.toml": "", "a_b/Cargo.toml": ""})
    assert list(checks(derive_offline(tmp_path))) == [
        "a_b_tests_pass",
        "a_b_cargo_tests_pass",
        "a_b_cargo_tests_pass_2",
    ]


def test_too_many_checks_are_cut_but_the_tests_stay(tmp_path):
    write(
        tmp_path,
        {"package.json": scripts(lint="x", typecheck="x", build="x", test="x"), "Cargo.toml": "", "go.mod": ""},
    )
    write(
        tmp_path,
        {"rustfmt.toml": "", "clippy.toml": "", "pom.xml": "", "build.gradle": "", "justfile": "test:\n  ./x\n"},
    )
    derived = derive_offline(tmp_path)
    assert [check.name for check in derived.contract.checks][:3] == ["lint_clean", "type_check", "tests_pass"]
    assert len(derived.contract.checks) == 8
    assert derived.notes[0].startswith(".: 13 checks found, 8 are proposed; left out:")


# Repositories that nobody vouches for


def test_broken_json_is_a_note_with_its_place(tmp_path):
    write(tmp_path, {"package.json": '{\n  "scripts": {\n    x\n', "go.mod": ""})
    assert derive_offline(tmp_path).notes == ["package.json:3:5 is not valid JSON; its scripts were not read"]


def test_broken_toml_is_a_note_with_its_place(tmp_path):
    write(tmp_path, {"pyproject.toml": "[tool\n", "go.mod": ""})
    assert derive_offline(tmp_path).notes == ["pyproject.toml:1:6 is not valid TOML; it was not read"]


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "[]", "null", '{"scripts": []}', '{"scripts": {"test": 1}}', '{"workspaces": 3}']
)
def test_json_of_another_shape_is_tolerated(tmp_path, content):
    write(tmp_path, {"package.json": content, "go.mod": ""})
    assert commands(derive_offline(tmp_path))[-1] == "go test ./..."


def test_text_that_is_no_utf8_is_tolerated(tmp_path):
    (tmp_path / "Makefile").write_bytes(b"# \xff\xfe\ntest:\n\t./run \xe9\n")
    assert commands(derive_offline(tmp_path)) == ["make test"]


def test_a_file_over_one_mebibyte_is_not_parsed(tmp_path):
    write(tmp_path, {"package.json": scripts(test="jest") + " " * 1024 * 1024, "go.mod": ""})
    assert derive_offline(tmp_path).notes == ["package.json is larger than 1 MiB; it was not read"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_a_note(tmp_path):
    write(tmp_path, {"package.json": scripts(test="jest"), "go.mod": ""})
    (tmp_path / "package.json").chmod(0)
    assert derive_offline(tmp_path).notes == ["package.json could not be read: Permission denied"]


def test_a_link_out_of_the_repository_is_not_followed(tmp_path):
    write(tmp_path, {"outside/package.json": scripts(test="jest"), "repo/README": ""})
    (tmp_path / "repo/package.json").symlink_to(tmp_path / "outside/package.json")
    (tmp_path / "repo/sub").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError):
        derive_offline(tmp_path / "repo")


def test_links_that_go_in_circles_are_nothing(tmp_path):
    (tmp_path / "package.json").symlink_to(tmp_path / "package.json")
    (tmp_path / "again").symlink_to(tmp_path)
    with pytest.raises(InputError):
        derive_offline(tmp_path)


def test_a_link_to_itself_hides_no_package(tmp_path):
    write(tmp_path, {"api/go.mod": "module x\n"})
    (tmp_path / "loop").symlink_to("loop")
    assert commands(derive_offline(tmp_path))[-1:] == ["go test ./..."]


def test_a_named_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "package.json")
    with pytest.raises(InputError):
        derive_offline(tmp_path)


def test_a_folder_in_place_of_a_manifest_is_nothing(tmp_path):
    (tmp_path / "package.json").mkdir()
    with pytest.raises(InputError):
        derive_offline(tmp_path)


@pytest.mark.parametrize("folder", ["a b", "it's", 'say "hi"', "two\nlines", "$(touch x)", "-n"])
def test_odd_folder_names_are_quoted_in_setup_and_plain_in_cwd(tmp_path, folder):
    write(tmp_path, {f"{folder}/go.mod": ""})
    write(tmp_path, {f"{folder}/go.sum": "here"})
    contract = derive_offline(tmp_path).contract
    see = contract.setup[0].replace("go mod download", "cat go.sum")
    assert subprocess.run(["bash", "-c", see], cwd=tmp_path, capture_output=True, check=True).stdout == b"here"
    assert contract.checks[0].cwd == folder


def test_a_folder_whose_name_is_no_text_is_left_out_with_a_note(tmp_path):
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    write(tmp_path, {"go.mod": ""})
    assert derive_offline(tmp_path).notes == [". has a folder whose name is not text; it was left out"]


def test_a_huge_folder_ends_the_search_with_a_note(tmp_path):
    write(tmp_path, {"go.mod": ""})
    (tmp_path / "data").mkdir()
    subprocess.run("seq 20001 | xargs touch", shell=True, cwd=tmp_path / "data", check=True)
    assert "more than 20000 entries" in derive_offline(tmp_path).notes[0]


MANIFESTS = (
    "pyproject.toml setup.cfg setup.py requirements.txt Pipfile tox.ini noxfile.py package.json pnpm-workspace.yaml Cargo.toml "
    "go.work pom.xml CMakeLists.txt Makefile justfile .github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml"
).split()
PIECES = st.sampled_from(
    [b"[tool.poetry]\n", b"[tox]\n", b"[a", b"test:\n\tx\n", b'{"scripts":{"test":"', b'"}}', b"jobs:\n  a:\n", b"    steps:\n",
     b"      - run: ", b"pytest 'x", b"x = 1\n", b"[[", b"\\ud800", b"use (", b"&a [*a]", b": ", b"- ", b"'", b"\n", b"\t", b"="]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(MANIFESTS), st.binary(max_size=60) | st.lists(PIECES, max_size=12).map(b"".join), min_size=1
    )
)
def test_arbitrary_bytes_in_manifests_never_break_it(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        try:
            derived = derive_offline(Path(folder))
        except InputError:
            return
        assert list(problems_of(derived.contract)) == []
