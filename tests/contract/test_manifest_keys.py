"""Manifests with their protected keys put back."""

from __future__ import annotations

import configparser
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.contract._manifest_keys import Merged, merge_protected
from trueup.contract._toml import dump_toml

PYPROJECT = """\
[build-system]
requires = ["hatchling"]

[project]
name = "calc"
dependencies = ["click"]

[tool.pytest.ini_options]
addopts = "-ra"
"""


def merged_toml(new: str, base: str | None = PYPROJECT, path: str = "pyproject.toml") -> tuple[dict, list[str]]:
    merged = merge_protected(path, base, new)
    return tomllib.loads(merged.text), merged.touched


def test_a_change_to_the_product_is_kept_as_it_was_written():
    new = PYPROJECT.replace('["click"]', '["click", "rich"]  # for tables')
    assert merge_protected("pyproject.toml", PYPROJECT, new) == Merged(new, [])


def test_a_changed_runner_option_is_put_back_beside_a_changed_dependency():
    data, touched = merged_toml(PYPROJECT.replace('"click"', '"rich"').replace('"-ra"', '"-ra -k nothing"'))
    assert data["tool"]["pytest"]["ini_options"]["addopts"] == "-ra"
    assert data["project"]["dependencies"] == ["rich"]
    assert touched == ["tool.pytest.ini_options.addopts"]


def test_a_new_runner_table_is_taken_out():
    data, touched = merged_toml(PYPROJECT + '[tool.ruff.lint]\nignore = ["ALL"]\n[tool.mine]\nx = 1\n')
    assert data["tool"].keys() == {"pytest", "mine"}
    assert touched == ["tool.ruff"]


def test_a_removed_runner_table_is_put_back():
    data, touched = merged_toml('[project]\nname = "calc"\n')
    assert data["tool"]["pytest"]["ini_options"] == {"addopts": "-ra"}
    assert touched == ["build-system", "tool.pytest"]


def test_a_table_that_became_something_else_is_put_back():
    data, _ = merged_toml("tool = 5\n")
    assert data["tool"]["pytest"]["ini_options"] == {"addopts": "-ra"}


def test_a_new_manifest_has_no_say_in_how_it_is_checked():
    data, touched = merged_toml(PYPROJECT, base=None)
    assert data == {"project": {"name": "calc", "dependencies": ["click"]}, "tool": {}}
    assert touched == ["build-system", "tool.pytest"]


def test_a_plugin_for_pytest_and_a_program_in_place_of_the_runner_are_taken_out():
    new = '[project.scripts]\ncalc = "calc:main"\npytest = "calc:fake"\n[project.entry-points.pytest11]\nx = "calc"\n'
    data, touched = merged_toml(PYPROJECT.replace("[project]", f"{new}\n[project]"))
    assert data["project"]["scripts"] == {"calc": "calc:main"}
    assert touched == ["project.scripts.pytest", "project.entry-points.pytest11"]


@pytest.mark.parametrize("new", ["[project", "\ufeff[project]\n", "a = 1\na = 2\n", "a = " + "[" * 5000])
def test_a_manifest_that_cannot_be_read_is_protected_whole(new):
    merged = merge_protected("pyproject.toml", PYPROJECT, new)
    assert merged.text == PYPROJECT
    assert merged.touched[0].startswith("the whole file, which cannot be read (")


def test_a_manifest_that_could_never_be_read_and_was_not_touched_is_no_matter():
    assert merge_protected("package.json", "{broken", "{broken") == Merged("{broken", [])


def test_scripts_and_runner_tables_of_package_json_are_put_back_in_order():
    base = {"name": "a", "scripts": {"test": "node --test", "build": "tsc"}, "dependencies": {"x": "1"}}
    new = {"dependencies": {"x": "2"}, "name": "a", "scripts": {"test": "true", "build": "tsc"}, "jest": {"bail": 1}}
    merged = merge_protected("web/package.json", json.dumps(base), json.dumps(new))
    assert merged.touched == ["scripts.test", "jest"]
    data = json.loads(merged.text)
    assert data == {"dependencies": {"x": "2"}, "name": "a", "scripts": base["scripts"]}
    assert list(data)[:2] == ["dependencies", "name"]


def test_a_package_json_that_is_gone_leaves_its_scripts():
    merged = merge_protected("package.json", '{"name": "a", "scripts": {"test": "x"}}', "")
    assert json.loads(merged.text) == {"scripts": {"test": "x"}}


def test_runner_sections_of_setup_cfg_are_put_back():
    base = "[metadata]\nname = calc\n\n[tool:pytest]\naddopts =\n  -ra\n  --strict\n[flake8]\nmax-line-length = 100%\n"
    new = "[DEFAULT]\nignore = E\n[metadata]\nname = calc2\n[options.entry_points]\npytest11 =\n  x = y\nconsole_scripts =\n  a = b\n[flake8]\nmax-line-length = 900\n"
    merged = merge_protected("setup.cfg", base, new)
    read = configparser.RawConfigParser()
    read.read_string(merged.text)
    assert read["tool:pytest"]["addopts"].split() == ["-ra", "--strict"]
    assert read["flake8"]["max-line-length"] == "100%"
    assert read["metadata"]["name"] == "calc2"
    assert list(read["options.entry_points"]) == ["console_scripts"]
    assert not read.defaults()
    assert merged.touched == [
        "tool:pytest",
        "flake8.max-line-length",
        "DEFAULT",
        "options.entry_points.pytest11",
    ]


def test_cargos_lints_tests_and_build_script_are_put_back_and_its_dependencies_stay():
    base = '[package]\nname = "a"\n[lib]\npath = "src/lib.rs"\n[[bin]]\nname = "tool"\n[lints.clippy]\nall = "deny"\n'
    new = """
[package]
name = "a"
build = "evil.rs"
autotests = false
[dependencies]
serde = "1"
[lib]
path = "src/lib.rs"
test = false
[[bin]]
name = "other"
[[bin]]
name = "tool"
harness = false
[profile.test]
debug-assertions = false
"""
    data, touched = merged_toml(new, base, "crates/a/Cargo.toml")
    assert data == {
        "package": {"name": "a"},
        "dependencies": {"serde": "1"},
        "lib": {"path": "src/lib.rs"},
        "bin": [{"name": "other"}, {"name": "tool"}],
        "lints": {"clippy": {"all": "deny"}},
    }
    assert touched == ["lints", "package.build", "package.autotests", "lib.test", "bin.tool.harness", "profile"]


_SCALARS = st.none().map(lambda _: True) | st.integers() | st.floats(allow_nan=False) | st.text() | st.datetimes()
_KEYS = st.text()


@given(
    st.recursive(
        st.dictionaries(_KEYS, _SCALARS),
        lambda inner: st.dictionaries(_KEYS, _SCALARS | inner | st.lists(_SCALARS | inner)),
        max_leaves=8,
    )
)
def test_what_is_written_as_toml_reads_as_the_same_data(data):
    assert tomllib.loads(dump_toml(data)) == data
