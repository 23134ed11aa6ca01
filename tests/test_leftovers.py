"""The rule that the suite leaves nothing behind is itself enforced."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trueup.core.process import Command, Finished, run

HERE = Path(__file__).parent


async def suite_with(test: str, folder: Path) -> Finished:
    (folder / "test_it.py").write_text(f"import subprocess, tempfile\ndef test_it():\n    {test}\n")
    argv = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "leftovers",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "test_it.py",
    )
    env = {"PYTHONPATH": str(HERE), "PATH": "/usr/bin:/bin"}
    return await run(Command(argv=argv, cwd=folder, env=env, timeout_secs=60, merge_stderr=True))


async def test_a_clean_suite_passes(tmp_path):
    finished = await suite_with("tempfile.TemporaryDirectory().cleanup()", tmp_path)
    assert finished.exit_code == 0, finished.stdout.text


@pytest.mark.parametrize(
    ("test", "complaint"),
    [
        (
            "subprocess.Popen(['setsid', 'sleep', '77'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)",
            "sleep 77",
        ),
        ("tempfile.mkdtemp(prefix='forgotten-')", "forgotten-"),
    ],
)
async def test_a_suite_that_leaves_something_fails(tmp_path, test, complaint):
    finished = await suite_with(test, tmp_path)
    assert finished.exit_code != 0
    assert "the suite left behind" in finished.stdout.text
    assert complaint in finished.stdout.text
