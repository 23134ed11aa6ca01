"""A repository in a few lines: what is there, what builds it, what checks it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trueup.contract._summary import _within, summarize


def write(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


def test_folders_end_in_a_slash_and_git_is_no_entry(tmp_path):
    write(tmp_path, "src/a.py", "README.md", ".git/config")
    assert summarize(tmp_path).splitlines()[:3] == ["Top-level entries:", "- README.md", "- src/"]


def test_many_entries_are_counted(tmp_path):
    write(tmp_path, *(f"f{number:03}" for number in range(100)))
    lines = summarize(tmp_path).splitlines()
    assert lines[40:42] == ["- f039", "- and 60 more"]


def test_build_systems_are_named_with_their_tools(tmp_path):
    write(tmp_path, "pytest.ini", "uv.lock", "core/Cargo.toml", "Makefile")
    assert "Build systems: Python (pytest, uv), Make, Rust (cargo)" in summarize(tmp_path).splitlines()


def test_a_build_system_without_checks_is_named_too(tmp_path):
    (tmp_path / "package.json").write_text("{}")
    assert summarize(tmp_path).endswith("Build systems: JavaScript")


def test_the_commands_found_come_with_folder_and_reason(tmp_path):
    write(tmp_path, "core/Cargo.toml")
    assert summarize(tmp_path).splitlines()[-2:] == [
        "- setup: `cd core && cargo fetch` (core/Cargo.toml is there)",
        "- core_tests_pass in core: `cargo test` (core/Cargo.toml is there)",
    ]


def test_an_empty_repository_has_a_summary(tmp_path):
    assert summarize(tmp_path) == "Top-level entries:\n- none\nBuild systems: none detected"


def test_a_missing_repository_has_a_summary(tmp_path):
    assert "none detected" in summarize(tmp_path / "missing")


def test_a_name_cannot_break_its_line(tmp_path):
    write(tmp_path, "two\nlines", "red\x1b[31m")
    assert summarize(tmp_path).splitlines()[1:3] == ["- red\\x1b[31m", "- two\\nlines"]


def test_a_long_summary_is_cut_at_a_line(tmp_path):
    write(tmp_path, *(f"file-{number:03}" for number in range(100)))
    assert summarize(tmp_path, limit=45).splitlines() == ["Top-level entries:", "- file-000", "… (cut)"]


@given(st.lists(st.text("ab é", max_size=20)), st.integers(0, 60))
def test_the_limit_always_holds(lines, limit):
    assert len(_within(lines, limit)) <= limit
