"""Sessions in a repository whose base has policies."""

from __future__ import annotations

import os

import pytest

from session_play import Play
from small_project import MEND, SUITE
from trueup.coder import State, events
from trueup.core.errors import InputError
from trueup.harness import PermissionDecided, ToolResult
from trueup.runs import RunStore
from trueup.testing import ScriptedModel, Tool

NO_PUSH = "policies:\n- name: no-push\n  rule: deny_command\n  pattern: git push\n"


@pytest.fixture
async def play(project, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-mine")
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Play(project, store)


async def test_the_base_decides_what_an_engine_may_do_and_the_engine_cannot_change_that(play):
    await play.project.commit({".trueup/policy.yaml": NO_PUSH})
    forget = "echo 'policies: []' > .trueup/policy.yaml && git checkout -q .trueup"
    script = [
        Tool.shell("true && (git push origin main)"),
        Tool.shell("echo 'policies: []' > .trueup/policy.yaml"),
        Tool.shell("git push --force"),
        Tool.shell(f"echo 'do not git push'; {MEND}; {forget}"),
        "Done.",
    ]
    async with ScriptedModel(script) as model:
        story = await play.code("", SUITE, engine="native", model=f"anthropic:claude-fake@{model.url}")
    assert story.state is State.MERGED, story.message
    denied = [each.reason for each in play.watching.of(PermissionDecided) if not each.allowed]
    assert len(denied) == 2
    refused, _, again, allowed = play.watching.of(ToolResult)
    assert (refused.ok, again.ok, allowed.ok) == (False, False, True)
    assert all("no-push" in said for said in (*denied, refused.output))


async def test_whoever_cannot_be_asked_is_said_to_be_held_by_the_sandbox_alone(play):
    await play.project.commit({".trueup/policy.yaml": NO_PUSH})
    await play.code(MEND, SUITE)
    (selected,) = play.watching.of(events.EngineSelected)
    assert selected.left_out == [
        ".trueup/policy.yaml: command does not ask before it acts, and is held by the sandbox alone"
    ]


async def test_policies_that_cannot_be_read_are_told_by_their_line_before_anything_is_begun(play):
    await play.project.commit({".trueup/policy.yaml": NO_PUSH.replace("pattern", "patern")})
    with pytest.raises(InputError, match=r"\.trueup/policy\.yaml:4:.*'patern'.*pattern"):
        await play.code(MEND, SUITE)
    assert await play.sessions.list() == []


async def test_the_home_is_the_home_however_it_is_written(play):
    rule = "policies:\n- name: keys\n  rule: deny_path\n  pattern: ~/.ssh\n"
    await play.project.commit({".trueup/policy.yaml": rule})
    reads = [Tool.shell(f"cat {home}/.ssh/id; true") for home in ("~", "$HOME", os.environ["HOME"])]
    async with ScriptedModel([*reads, Tool.shell(MEND), "Done."]) as model:
        story = await play.code("", SUITE, engine="native", model=f"anthropic:claude-fake@{model.url}")
    assert story.state is State.MERGED, story.message
    assert [each.ok for each in play.watching.of(ToolResult)] == [False, False, False, True]
