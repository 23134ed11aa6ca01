"""Real agents start inside the sandbox in which they are to work."""

from __future__ import annotations

import sys

import pytest

from checkouts import Checkout
from trueup.workspace import Layers, Mirror, Profile, Repository, Workspace, find_backend

pytestmark = pytest.mark.agents


@pytest.fixture
async def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin")
    user = Checkout(tmp_path / "user")
    user.commit("the base", **{"a.txt": "a"})
    repo = await Repository.open(user.root)
    mirror = await Mirror.open(repo, tmp_path / "store" / "mirror")
    made = await Workspace.create(Layers(repo, mirror, tmp_path / "store", await find_backend()), user.head)
    yield made
    await made.discard()


@pytest.mark.parametrize("name", ["claude", "codex"])
async def test_a_real_agent_starts_in_its_workspace(workspace, agent_programs, name):
    program = agent_programs[name]
    async with workspace.open(Profile(readable={str(program.parent): str(program.parent)})) as shell:
        finished = await shell.stack.run_argv((str(program), "--version"), timeout_secs=60)
    assert finished.exit_code == 0, finished.stderr.text
    assert any(character.isdigit() for character in finished.stdout.text)
