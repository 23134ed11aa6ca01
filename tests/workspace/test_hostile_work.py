"""Agents that leave their workspace in a state that no honest one would: what they made is taken all the same."""

from __future__ import annotations

import pytest

from agents_at_work import changed, work
from trueup.core.errors import InfrastructureError
from trueup.workspace import NO_SANDBOX, Workspace

KINDS = {"mounted": None, "none": NO_SANDBOX}
EVERYTHING = {"calc.py": "deleted", "tests/test_calc.py": "deleted"}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
async def workspace(request, layers, user):
    user.head_before = user.head
    made = await Workspace.create(await layers(request.param), user.head)
    yield made
    await made.discard()
    assert user.head == user.head_before
    assert user.status() == ""
    assert user.git("fsck", "--strict") == ""


@pytest.mark.parametrize(
    ("deed", "made"),
    [
        ("find . -mindepth 1 -delete", EVERYTHING),
        ("rm -rf .git", {}),
        ("rm -rf .git; touch .git", {}),
        ("mv .git /tmp/elsewhere; ln -s /tmp/elsewhere .git; echo x > x", {"x": "added"}),
        ("rm -rf .git; ln -s /etc .git; echo x > x", {"x": "added"}),
        ("rm -rf .git; ln -s .git .git; echo x > x", {"x": "added"}),
        ("rm -rf .git; mkfifo .git; echo x > x", {"x": "added"}),
        ("mkfifo pipe tests/pipe; echo x > x", {"x": "added"}),
        (
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo x > x",
            {"x": "added"},
        ),
        ("rm calc.py; mkfifo calc.py; echo x > x", {"calc.py": "deleted", "x": "added"}),
        ("rm -r tests; mkfifo tests; echo x > x", {"tests/test_calc.py": "deleted", "x": "added"}),
        ("rm calc.py; mkdir calc.py", {"calc.py": "deleted"}),
        ("echo x > calc.py; chmod 000 .", {"calc.py": "modified"}),
        ("mkdir -p a/b; touch a/b/c; chmod 000 tests a/b a calc.py", {"a/b/c": "added"}),
        ("echo x > .gitignore; chmod 000 .gitignore; echo x > y", {".gitignore": "added", "y": "added"}),
        ("git rm -qr .; git commit -qm gone; git branch -D main trueup; git gc -q --prune=now; true", EVERYTHING),
        (
            "git checkout -q --orphan other; echo x > x; git add -A; git commit -qm rewritten; git update-ref -d refs/heads/trueup",
            {"x": "added"},
        ),
        ("rm -rf .git/objects/*; echo x > x", {"x": "added"}),
        ("printf junk > .git/index; printf junk > .git/config; printf junk > .git/HEAD; echo x > x", {"x": "added"}),
        ("git worktree add -q inner; echo x > x", {"inner": "added", "x": "added"}),
        ("touch .git/index.lock; echo x > x", {"x": "added"}),
        ("for n in $(seq 300); do mkdir d; cd d; done; touch deep", {f"{'d/' * 300}deep": "added"}),
    ],
)
async def test_the_work_is_taken_whatever_was_done_to_the_folder(workspace, deed, made):
    await work(workspace, deed)
    assert changed(await workspace.snapshot()) == made


async def test_work_goes_on_in_a_folder_that_was_closed(workspace):
    await work(workspace, "chmod 000 .")
    assert await work(workspace, "echo still here") == "still here\n"


async def test_without_a_sandbox_a_folder_that_is_gone_is_one_sentence(layers, user):
    workspace = await Workspace.create(await layers(NO_SANDBOX), user.head)
    await work(workspace, 'rm -rf "$PWD"')
    with pytest.raises(InfrastructureError, match=f"{workspace.id} has lost its folder"):
        await workspace.snapshot()
    await workspace.discard()


@pytest.mark.parametrize(
    "deed",
    ["ln -s /nonexistent ~/.cache", "rm -rf ~/.cache; ln -s / ~/.cache", "chmod 000 ~ /tmp", "chmod 000 .. /tmp"],
)
async def test_what_was_done_to_home_does_not_matter(layers, user, deed):
    workspace = await Workspace.create(await layers(), user.head)
    await work(workspace, f"echo x > x; {deed}")
    assert changed(await workspace.snapshot()) == {"x": "added"}
    await workspace.discard()


async def test_a_link_in_the_way_to_the_repository_does_not_lead_its_mount_out(layers, user, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    workspace = await Workspace.create(await layers(), user.head)
    await work(workspace, f'echo x > x; above=$(dirname "$PWD"); mv "$above" "$above-moved"; ln -s {outside} "$above"')
    assert changed(await workspace.snapshot()) == {"x": "added"}
    assert list(outside.iterdir()) == []
    await workspace.discard()
