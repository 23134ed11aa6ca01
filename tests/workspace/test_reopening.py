"""Workspaces that begin with a tree, outlive their owner, and are many."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from agents_at_work import changed, work
from trueup.core.errors import InfrastructureError, InputError
from trueup.core.process import Command, Process
from trueup.workspace import (
    NO_SANDBOX,
    Backend,
    Setup,
    Workspace,
    clean_workspaces,
    list_workspaces,
)
from trueup.workspace._sandbox._backend import UNSHARE

KINDS = {"mounted": UNSHARE, "copied": Backend("unshare", copies=True), "none": NO_SANDBOX}

# A trueup of its own, that works in a workspace until it is killed.
OWNER = """
import asyncio, sys
from pathlib import Path
from trueup.core.process import Command
from trueup.workspace import Backend, Layers, Mirror, Repository, Workspace
async def main(root, mirror, store, name, copies, line):
    repo = await Repository.open(Path(root))
    layers = Layers(repo, await Mirror.open(repo, Path(mirror)), Path(store), Backend(name, copies=copies == "True"))
    workspace = await Workspace.create(layers, await repo.resolve("HEAD"))
    async with workspace.open() as shell, shell.launch(Command(shell=line)) as process:
        async for said in process.lines():
            print(workspace.id, said, flush=True)
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def backend(request) -> Backend:
    return request.param


@pytest.fixture
def from_tree(layers, user, backend):
    """A workspace that begins with a tree other than the base's."""

    async def made(tree: str, **more) -> Workspace:
        return await Workspace.create(await layers(backend), user.head, tree=tree, **more)

    return made


@pytest.fixture
async def tree(user, mirror) -> str:
    """Work in which something was added, changed, deleted, linked, and put in place of a folder."""
    here = await mirror()
    return await here.with_files(
        user.head,
        {
            "calc.py": ("100644", b"def add(a, b):\n    return a + b\n"),
            "tool.sh": ("100755", b"#!/bin/sh\n"),
            "deep/er/new": ("100644", b"new\n"),
            "link": ("120000", b"/etc/passwd"),
            "tests": ("100644", b"no folder any more\n"),
        },
    )


async def test_work_begins_with_a_tree_as_changes_that_nobody_committed(from_tree, tree, user):
    workspace = await from_tree(tree)
    told = await work(workspace, "git rev-parse HEAD; git status --short; stat -c %A tool.sh; readlink link")
    assert told.splitlines() == [
        user.head,
        " M calc.py",
        " D tests/test_calc.py",
        "?? deep/",
        "?? link",
        "?? tests",
        "?? tool.sh",
        "-rwxr-xr-x",
        "/etc/passwd",
    ]
    assert (await workspace.snapshot()).tree == tree
    await workspace.discard()


async def test_what_is_deleted_later_does_not_come_back(from_tree, tree):
    workspace = await from_tree(tree)
    await work(workspace, "rm -r deep link tool.sh; git checkout -q -- calc.py; echo own > deep")
    await work(workspace, "test ! -e link")
    assert changed(await workspace.snapshot()) == {"deep": "added", "tests": "added", "tests/test_calc.py": "deleted"}
    await workspace.discard()


async def test_a_tree_that_is_not_there_leaves_no_workspace_behind(from_tree, tmp_path):
    with pytest.raises(InfrastructureError):
        await from_tree("1" * 40)
    assert list_workspaces(tmp_path / "store") == []


async def test_a_link_of_the_tree_does_not_lead_the_users_own_files_out(from_tree, user, mirror, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    tree = await (await mirror()).with_files(user.head, {"settings": ("120000", os.fsencode(outside))})
    user.write("settings/my.local", "mine\n")
    workspace = await from_tree(tree, include=("*.local",))
    assert (await workspace.snapshot()).tree == tree
    assert list(outside.iterdir()) == []
    await workspace.discard()


async def test_a_released_workspace_is_reopened_as_it_was(layers, user, backend, tmp_path):
    here = await layers(backend)
    workspace = await Workspace.create(here, user.head)
    await work(workspace, "echo one > first; rm calc.py")
    await workspace.release()
    await workspace.discard()
    assert [kept.suspended for kept in list_workspaces(tmp_path / "store")] == [True]
    assert clean_workspaces(tmp_path / "store") == []
    again = await Workspace.reopen(here, workspace.id, user.head)
    await work(again, "cat first; echo two > second")
    assert changed(await again.snapshot()) == {"first": "added", "second": "added", "calc.py": "deleted"}
    assert [kept.suspended for kept in list_workspaces(tmp_path / "store")] == [False]
    await again.discard()


async def test_suspended_workspaces_go_where_that_is_asked_for(layers, user, tmp_path):
    workspace = await Workspace.create(await layers(), user.head)
    await workspace.release()
    assert [kept.path.name for kept in clean_workspaces(tmp_path / "store", suspended_too=True)] == [workspace.id]
    assert list_workspaces(tmp_path / "store") == []


async def test_a_workspace_in_use_is_not_reopened(layers, user):
    here = await layers()
    workspace = await Workspace.create(here, user.head)
    with pytest.raises(InputError, match=f"{workspace.id} is in use by process {os.getpid()}"):
        await Workspace.reopen(here, workspace.id, user.head)
    await workspace.discard()


@pytest.mark.parametrize("name", ["top-gone1234", "../user/top-x", "", "top-x/../top-y"])
async def test_a_workspace_that_is_gone_is_not_reopened(layers, user, name):
    with pytest.raises(InputError, match="is gone|names no workspace"):
        await Workspace.reopen(await layers(), name, user.head)


async def test_a_workspace_of_another_base_or_sandbox_is_not_reopened_and_stays(layers, user):
    base = user.head
    workspace = await Workspace.create(await layers(UNSHARE), base)
    await workspace.release()
    other = user.commit("more", more="1")
    with pytest.raises(InputError, match=f"and not of {other[:12]} here"):
        await Workspace.reopen(await layers(UNSHARE), workspace.id, other)
    with pytest.raises(InputError, match="was made with the sandbox `unshare`"):
        await Workspace.reopen(await layers(NO_SANDBOX), workspace.id, base)
    again = await Workspace.reopen(await layers(UNSHARE), workspace.id, base)
    await again.discard()


async def test_a_workspace_is_open_once(workspace):
    async with workspace.open():
        with pytest.raises(InfrastructureError, match="is open already"):
            await workspace.snapshot()


async def test_after_kill_9_of_its_owner_the_files_are_as_they_were_left(layers, user, backend, tmp_path):
    here = await layers(backend)
    line = "echo kept > kept; rm calc.py; (setsid sh -c 'while :; do date +%N > busy; done' &); until [ -e busy ]; do sleep 0.01; done; echo at work; sleep 60"
    places = (str(user.root), str(tmp_path / "cache" / "mirror"), str(tmp_path / "store" / "user"))
    arguments = (*places, backend.name, str(backend.copies), line)
    async with Process(Command(argv=(sys.executable, "-c", OWNER, *arguments))) as owner:
        workspace_id, said = (await anext(owner.lines())).split(" ", 1)
        with pytest.raises(InputError, match=f"in use by process {owner.pid}"):
            await Workspace.reopen(here, workspace_id, user.head)
        os.kill(owner.pid, signal.SIGKILL)
        again = await _reopened(here, workspace_id, user.head)
    assert said == "at work"
    before = await again.snapshot()
    assert changed(before) == {"kept": "added", "calc.py": "deleted", "busy": "added"}
    assert (await again.snapshot()).tree == before.tree
    await again.discard()


async def _reopened(layers, workspace_id: str, base: str) -> Workspace:
    """As soon as the owner's death is known to the kernel."""
    for _ in range(100):
        try:
            return await Workspace.reopen(layers, workspace_id, base)
        except InputError as error:
            assert "in use" in str(error)
            await asyncio.sleep(0.01)
    raise AssertionError("its owner never died")


async def test_ignored_files_that_an_agent_left_are_named(layers, user, backend):
    user.write(".gitignore", "*.log\nbuild/\n.deps/\n*.local\n")
    user.write("my.local", "mine\n")
    base = user.commit("ignores")
    here = await layers(backend)
    setup = Setup(
        commands=("mkdir -p .deps/lib && echo one > .deps/lib/one && echo two > .deps/two && echo x > setup.log",)
    )
    dependencies = await here.dependencies(setup, base)
    workspace = await Workspace.create(here, base, dependencies, include=("*.local",))
    assert (await workspace.snapshot()).ignored == []
    await work(
        workspace, "mkdir -p build/x; touch build/x/y a.log b.txt; echo own > .deps/lib/evil; echo longer > .deps/two"
    )
    change = await workspace.snapshot()
    assert change.ignored == [".deps/lib/evil", ".deps/two", "a.log", "build/"]
    assert (change.ignored_total, changed(change)) == (4, {"b.txt": "added"})
    await workspace.discard()


async def test_of_many_ignored_files_the_first_are_named_and_all_are_counted(workspace):
    await work(workspace, "echo '*.log' > .gitignore; touch {1..250}.log")
    change = await workspace.snapshot()
    assert (len(change.ignored), change.ignored_total) == (100, 250)


async def test_twenty_workspaces_work_at_once(layers, user):
    """Each sees its own work and none of the others'."""
    here = await layers()

    async def session(number: int) -> dict[str, str]:
        workspace = await Workspace.create(here, user.head)
        try:
            await work(workspace, f"echo {number} > made-{number}; sleep 0.2; ls | grep -c made- | grep -qx 1")
            return changed(await workspace.snapshot())
        finally:
            await workspace.discard()

    assert await asyncio.gather(*map(session, range(20))) == [{f"made-{n}": "added"} for n in range(20)]
    assert user.status() == ""
