"""Whether Claude Code is there, and logged in, as far as that can be told without asking a model."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from trueup.harness._claude import ClaudeCode, find_claude


def program(folder: Path, script: str) -> Path:
    file = folder / "claude"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def installed(tmp_path) -> dict[str, str]:
    program(tmp_path / "bin", 'echo "2.1.325 (Claude Code)"')
    return {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path / "home")}


def credentials(environ: dict[str, str], **token) -> None:
    file = Path(environ["HOME"], ".claude", ".credentials.json")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"claudeAiOauth": token}))


async def test_a_program_that_is_not_there_is_said_to_be_missing(tmp_path):
    probe = await ClaudeCode().probe({"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert (probe.installed, probe.path) == (False, None)
    assert "install" in probe.note


async def test_a_program_is_found_where_its_installer_puts_it(tmp_path):
    file = program(tmp_path / ".claude" / "local", "echo 2.1.0")
    assert find_claude({"PATH": "/usr/bin", "HOME": str(tmp_path)}) == str(file)


async def test_a_program_that_is_broken_is_not_installed(tmp_path):
    program(tmp_path, "echo no libc >&2; exit 1")
    probe = await ClaudeCode().probe({"PATH": f"{tmp_path}:/bin"})
    assert not probe.installed
    assert "no libc" in probe.note


async def test_its_version_is_told_and_that_nobody_is_logged_in(installed):
    probe = await ClaudeCode().probe(installed)
    assert (probe.installed, probe.version, probe.logged_in) == (True, "2.1.325", False)


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])
async def test_a_key_in_the_environment_is_a_login(installed, variable):
    probe = await ClaudeCode().probe({**installed, variable: "sk-secret"})
    assert probe.logged_in is True
    assert "sk-secret" not in repr(probe)


@pytest.mark.parametrize(
    ("token", "logged_in"),
    [
        ({"accessToken": "a", "expiresAt": (time.time() + 3600) * 1000}, True),
        ({"accessToken": "a", "expiresAt": 1000, "refreshToken": "r"}, True),
        ({"accessToken": "a", "expiresAt": 1000}, False),
        ({"accessToken": "a", "expiresAt": "tomorrow"}, None),
    ],
)
async def test_a_login_holds_while_it_is_valid_or_can_be_renewed(installed, token, logged_in):
    credentials(installed, **token)
    assert (await ClaudeCode().probe(installed)).logged_in is logged_in


async def test_a_login_that_cannot_be_looked_at_is_unknown(installed):
    assert (await ClaudeCode().probe({**installed, "CLAUDE_CODE_USE_BEDROCK": "1"})).logged_in is None
    Path(installed["HOME"], ".claude").mkdir(parents=True)
    Path(installed["HOME"], ".claude", ".credentials.json").write_text("{")
    assert (await ClaudeCode().probe(installed)).logged_in is None
    Path(installed["HOME"], ".claude", "settings.json").write_text('{"apiKeyHelper": "pass show key"}')
    assert "apiKeyHelper" in (await ClaudeCode().probe(installed)).note
