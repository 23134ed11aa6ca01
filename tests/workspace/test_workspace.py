"""The workspace of an agent: isolated, kept until discarded, and read without trusting anything in it."""

from __future__ import annotations

import pytest

from agents_at_work import changed, work
from trueup.core.errors import InfrastructureError, PolicyRefusedError
from trueup.core.protocols import ShellCommand
from trueup.policy import Policies, PolicyGate, policy_from
from trueup.workspace import Workspace, clean_workspaces, list_workspaces
from trueup.workspace._sandbox._probe import ATTEMPTS


async def test_an_agent_works_at_the_repositorys_own_path_in_a_clone_of_its_own(workspace, user):
    told = await work(workspace, "pwd; git status --short; git log --format=%s; git remote")
    assert told.split() == [str(user.root), "the", "base"]


async def test_no_escape_succeeds_from_a_workspace(workspace):
    """The same attempts as against the checks' sandbox; those that need a server or a secret find none."""
    async with workspace.open() as shell:
        variables = {"OUTSIDE": "/nonexistent", "MARK_A": "no", "MARK_B": "thing", "NAP": "1", "PORT": "1"}
        finished = await shell.stack.run_argv(("bash", "-c", ATTEMPTS), env=variables, timeout_secs=20)
    assert (finished.exit_code, finished.stdout.text) == (0, ""), finished.stderr.text


async def test_the_users_checkout_is_not_touched(workspace, user):
    await work(workspace, "rm -rf .git tests; echo gone > calc.py; git init -q . || true")
    assert user.status() == ""
    assert "return a - b" in user.read("calc.py")


async def test_what_an_agent_did_is_one_tree(workspace, user):
    await work(workspace, "sed -i 's/a - b/a + b/' calc.py; echo new > 'a file'; rm tests/test_calc.py")
    change = await workspace.snapshot()
    assert changed(change) == {"calc.py": "modified", "a file": "added", "tests/test_calc.py": "deleted"}
    assert (change.base, user.status()) == (user.head, "")


async def test_work_goes_on_where_it_stopped(workspace):
    await work(workspace, "echo one > first")
    await workspace.snapshot()
    await work(workspace, "cat first; echo two > second")
    assert changed(await workspace.snapshot()) == {"first": "added", "second": "added"}


async def test_commits_of_the_agent_are_work_like_any_other(workspace):
    await work(workspace, "echo x > x; git add x; git -c user.name=a -c user.email=a@b commit -qm wip; git tag -f base")
    assert changed(await workspace.snapshot()) == {"x": "added"}


async def test_ignored_files_do_not_cross(workspace, user):
    user.write(".gitignore", "build/\n")
    await work(workspace, "echo 'secret/' > .gitignore; mkdir secret build; touch secret/x build/y")
    assert changed(await workspace.snapshot()) == {".gitignore": "added", "build/y": "added"}


@pytest.mark.parametrize(
    "trick",
    [
        "git config filter.x.clean 'touch CANARY; cat'; echo '* filter=x' > .gitattributes; echo x >> calc.py",
        "git config core.fsmonitor 'touch CANARY; echo'; echo x >> calc.py",
        "mkdir -p hooks; printf '#!/bin/sh\\ntouch CANARY\\n' > hooks/post-index-change; chmod +x hooks/*; git config core.hooksPath hooks",
        "rm -rf .git; mkdir /tmp/evil; git init -q /tmp/evil; echo 'gitdir: /tmp/evil/.git' > .git; echo x >> calc.py",
        "git update-index --assume-unchanged calc.py; echo x >> calc.py",
        "git update-index --skip-worktree calc.py; echo x >> calc.py",
        "git config core.worktree /tmp; echo x >> calc.py",
        "touch -r calc.py ref; sed -i 's/a - b/a * b/' calc.py; touch -r ref calc.py; rm ref",
        "rm -rf .git; echo x >> calc.py",
    ],
)
async def test_no_git_trick_runs_anything_or_hides_a_change(workspace, trick, canary):
    await work(workspace, trick.replace("CANARY", str(canary)))
    change = await workspace.snapshot()
    assert set(changed(change)) >= ({"hooks/post-index-change"} if "hooks" in trick else {"calc.py"})
    assert not canary.exists()


async def test_an_agent_that_deletes_everything_has_deleted_everything(workspace):
    await work(workspace, "rm -rf ./* ./.[a-z]*")
    assert set(changed(await workspace.snapshot()).values()) == {"deleted"}


async def test_a_repository_inside_is_reported(workspace):
    await work(
        workspace,
        "git init -q inner; touch inner/x; git -C inner add x; git -C inner -c user.name=a -c user.email=a@b commit -qm x",
    )
    assert [finding.kind for finding in (await workspace.snapshot()).findings] == ["embedded_repository"]


async def test_a_link_to_the_outside_is_reported(workspace):
    await work(workspace, "ln -s /etc/passwd stolen")
    assert [finding.kind for finding in (await workspace.snapshot()).findings] == ["symlink_outside"]


async def test_objects_of_other_branches_are_not_there(layers, user):
    base = user.head
    user.git("checkout", "-q", "-b", "answer")
    answer = user.commit("the answer", **{"answer.txt": "42"})
    user.git("checkout", "-q", "main")
    workspace = await Workspace.create(await layers(), base)
    told = await work(
        workspace, f"git cat-file -t {answer} 2>&1 || true; git cat-file --batch-all-objects --batch-check | wc -l"
    )
    assert told.splitlines()[0].startswith("fatal")
    await workspace.discard()


async def test_daemons_end_when_the_agent_does(workspace):
    await work(workspace, "(setsid sh -c 'sleep 2; echo late > calc.py' >/dev/null 2>&1 </dev/null &)")
    assert changed(await workspace.snapshot()) == {}


async def test_who_fills_the_disk_is_ended_and_the_rest_is_kept(workspace):
    async with workspace.open() as shell:
        with pytest.raises(InfrastructureError, match="wrote more than"):
            await shell.stack.run_argv(("bash", "-c", "while :; do head -c 9000000 /dev/zero >> big; done"), disk_mb=20)
    assert "big" in changed(await workspace.snapshot())


async def test_a_gate_refuses_before_a_command_runs(workspace):
    async with workspace.open() as shell:
        with pytest.raises(PolicyRefusedError, match="pushing is the user's business"):
            await shell.run(ShellCommand(line="touch x && git push origin main", timeout_secs=10))
    assert changed(await workspace.snapshot()) == {}


async def test_the_policies_of_a_repository_are_such_a_gate(workspace):
    no_push = policy_from({"name": "no-push", "rule": "deny_command", "pattern": "git push"})
    async with workspace.open(gate=PolicyGate(Policies([no_push]))) as shell:
        with pytest.raises(PolicyRefusedError, match="no-push"):
            await shell.run(ShellCommand(line="touch x; bash -c 'g\"i\"t push'", timeout_secs=10))
        said = await shell.run(ShellCommand(line="echo do not git push", timeout_secs=10))
    assert said.exit_code == 0
    assert changed(await workspace.snapshot()) == {}


async def test_untracked_files_come_along_where_the_repository_asks_for_them(layers, user):
    user.write(".gitignore", "*.local\n")
    user.write(".worktreeinclude", "*.local\n!secret.local\n")
    base = user.commit("includes")
    for name in ("settings.local", "secret.local", "deep/more.local", "other.txt"):
        user.write(name, "mine\n")
    workspace = await Workspace.create(await layers(), base)
    told = await work(workspace, "find . -name '*.local' -o -name other.txt | sort")
    assert told.split() == ["./deep/more.local", "./settings.local"]
    assert changed(await workspace.snapshot()) == {}
    await workspace.discard()


async def test_ports_are_given_that_nobody_uses(workspace):
    told = await work(workspace, "echo $TRUEUP_PORT_1 $TRUEUP_PORT_2 $TRUEUP_PORT_3")
    assert len(set(told.split())) == 3


async def test_an_abandoned_workspace_is_found_and_cleaned_and_a_living_one_is_not(layers, user, tmp_path):
    living = await Workspace.create(await layers(), user.head)
    dead = await Workspace.create(await layers(), user.head)
    dead._scratch.release()
    stores = tmp_path / "store"
    assert [kept.abandoned for kept in list_workspaces(stores)] == [False, True]
    assert [kept.path.name for kept in clean_workspaces(stores)] == [dead.id]
    assert [kept.path.name for kept in list_workspaces(stores)] == [living.id]
    await living.discard()
