"""Snapshots of a tree whose owner does not want to be seen through: nothing runs, and nothing is hidden.

The script runs here in plain bash, where what it ran would leave the canary behind; a sandbox only adds walls.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from checkouts import Checkout
from trueup.core.process import Command, run
from trueup.workspace._mirror import Mirror
from trueup.workspace._snapshot import Change, inspect_change, snapshot_script


class Agent(Checkout):
    """An agent's clone, and the snapshot that trueup takes of it."""

    def __init__(self, root: Path, mirror: Mirror, base: str, scratch: Path) -> None:
        self.root = root
        self.base = base
        self._mirror = mirror
        self._scratch = scratch

    async def snapshot(self) -> Change:
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        objects = self._scratch.with_name("layer") / ".git/objects"
        git_dir = await self._mirror.snapshot_gitdir(self.base, self._scratch / "git", objects)
        pack = self._scratch / "pack"
        script = snapshot_script(git_dir=git_dir, work_tree=self.root, pack=pack)
        finished = await run(Command(shell=script, env={"PATH": os.environ["PATH"]}))
        assert finished.exit_code == 0, finished.stderr.text
        tree = finished.stdout.text.strip()
        await self._mirror.import_pack(pack, tree)
        return await inspect_change(self._mirror, self.base, tree)

    async def paths(self) -> list[str]:
        return [file.path for file in (await self.snapshot()).files]

    async def content(self, path: str) -> bytes:
        (blob,) = [file.new_id for file in (await self.snapshot()).files if file.path == path]
        return await self._mirror.read(blob)


@pytest.fixture
async def agent(user, mirror, tmp_path):
    """An agent at work on the user's last commit."""

    async def at_work() -> Agent:
        opened = await mirror()
        await opened.checkout(user.head, tmp_path / "layer")
        # Copied with their times, as an overlay would show them.
        shutil.copytree(tmp_path / "layer", tmp_path / "agent", symlinks=True)
        return Agent(tmp_path / "agent", opened, user.head, tmp_path / "snapshot")

    return at_work


async def test_an_untouched_tree_is_its_base(agent):
    at_work = await agent()
    change = await at_work.snapshot()
    assert (change.files, change.findings) == ([], [])


async def test_a_change_is_what_differs(agent):
    at_work = await agent()
    at_work.write("calc.py", "fixed\n")
    at_work.write("new/file.py", "x\n").chmod(0o755)
    (at_work.root / "tests/test_calc.py").unlink()
    change = await at_work.snapshot()
    assert [(file.status, file.path, file.new_mode) for file in change.files] == [
        ("modified", "calc.py", "100644"),
        ("added", "new/file.py", "100755"),
        ("deleted", "tests/test_calc.py", None),
    ]
    assert await at_work.content("calc.py") == b"fixed\n"


async def test_what_the_agent_committed_is_seen_like_anything_else(agent):
    at_work = await agent()
    at_work.commit("mine", **{"calc.py": "fixed\n"})
    assert await at_work.paths() == ["calc.py"]


async def test_deleting_everything_is_a_change(agent):
    at_work = await agent()
    for entry in at_work.root.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    assert await at_work.paths() == ["calc.py", "tests/test_calc.py"]


async def test_a_file_whose_size_and_time_were_restored_is_seen(agent):
    at_work = await agent()
    await pause()
    file = at_work.root / "calc.py"
    before = file.stat()
    file.write_text(file.read_text().replace("-", "+"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert await at_work.paths() == ["calc.py"]


async def test_many_files_written_at_once_are_all_seen(user, agent):
    for number in range(1100):
        user.write(f"many/{number}", "a")
    user.commit()
    at_work = await agent()
    await pause()
    for number in range(1100):
        file = at_work.root / f"many/{number}"
        before = file.stat()
        file.write_text("b")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(await at_work.paths()) == 1100


async def pause() -> None:
    """Let the clock of the file system move on from the checkout."""
    time.sleep(0.02)


FILTERS = ["clean", "smudge", "process"]


@pytest.mark.parametrize("name", FILTERS)
async def test_a_filter_does_not_run(agent, canary, name):
    at_work = await agent()
    at_work.git("config", f"filter.evil.{name}", f"touch {canary}; cat")
    at_work.git("config", "filter.evil.required", "true")
    at_work.write(".gitattributes", "* filter=evil\n")
    at_work.write("calc.py", "fixed\n")
    assert await at_work.paths() == [".gitattributes", "calc.py"]
    assert not canary.exists()


async def test_a_tree_that_calls_its_files_lfs_pointers_is_read_as_it_is(agent):
    at_work = await agent()
    at_work.write(".gitattributes", "* filter=lfs\n")
    at_work.write("calc.py", "fixed\n")
    assert await at_work.content("calc.py") == b"fixed\n"


@pytest.mark.parametrize(
    "setting",
    [
        "core.fsmonitor",
        "diff.external",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "diff.evil.textconv",
        "core.askPass",
    ],
)
async def test_a_program_in_the_configuration_does_not_run(agent, canary, setting):
    at_work = await agent()
    at_work.write(".gitattributes", "* diff=evil\n")
    with (at_work.root / ".git/config").open("a") as config:
        section, key = setting.rsplit(".", 1)
        kind, _, part = section.partition(".")
        config.write(f'[{kind} "{part}"]\n' if part else f"[{kind}]\n")
        config.write(f'\t{key} = "touch {canary}"\n')
    at_work.write("calc.py", "fixed\n")
    assert await at_work.paths() == [".gitattributes", "calc.py"]
    assert not canary.exists()


async def test_a_hook_does_not_run(agent, canary):
    at_work = await agent()
    for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        at_work.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch {canary}\n").chmod(0o755)
        at_work.write(f"hooks/{name}", f"#!/bin/sh\ntouch {canary}\n").chmod(0o755)
    with (at_work.root / ".git/config").open("a") as config:
        config.write("[core]\n\thooksPath = hooks\n")
    assert len(await at_work.paths()) == 5
    assert not canary.exists()


async def test_a_git_file_that_points_elsewhere_is_not_followed(agent, canary, tmp_path):
    at_work = await agent()
    elsewhere = Checkout(tmp_path / "elsewhere")
    elsewhere.commit(**{"other.txt": "x"})
    elsewhere.git("config", "core.fsmonitor", f"touch {canary}")
    shutil.rmtree(at_work.root / ".git")
    at_work.write(".git", f"gitdir: {elsewhere.root}/.git\n")
    at_work.write("calc.py", "fixed\n")
    assert await at_work.paths() == ["calc.py"]
    assert not canary.exists()


async def test_without_any_git_folder_the_tree_is_still_read(agent):
    at_work = await agent()
    shutil.rmtree(at_work.root / ".git")
    at_work.write("calc.py", "fixed\n")
    assert await at_work.paths() == ["calc.py"]


async def test_another_work_tree_in_the_configuration_is_not_looked_at(agent, tmp_path):
    at_work = await agent()
    shutil.copytree(at_work.root, tmp_path / "decoy")
    at_work.git("config", "core.worktree", str(tmp_path / "decoy"))
    at_work.write("calc.py", "fixed\n")
    assert await at_work.paths() == ["calc.py"]


async def test_included_configuration_and_attribute_files_are_not_read(agent, canary, tmp_path):
    at_work = await agent()
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = touch {canary}\n")
    (tmp_path / "attributes").write_text("* text eol=crlf filter=evil\n")
    at_work.git("config", "include.path", str(tmp_path / "included"))
    at_work.git("config", "core.attributesFile", str(tmp_path / "attributes"))
    at_work.write(".git/info/attributes", "* filter=evil\n")
    at_work.write("calc.py", "fixed\r\n")
    assert await at_work.content("calc.py") == b"fixed\r\n"
    assert not canary.exists()


async def test_own_excludes_hide_nothing_that_is_tracked_or_new(agent):
    at_work = await agent()
    at_work.write(".git/info/exclude", "*\n")
    at_work.git("config", "core.excludesFile", str(at_work.root / ".git/info/exclude"))
    at_work.write("calc.py", "fixed\n")
    at_work.write("new.py", "x\n")
    assert await at_work.paths() == ["calc.py", "new.py"]


async def test_bits_of_the_index_hide_nothing(agent):
    at_work = await agent()
    at_work.git("update-index", "--assume-unchanged", "calc.py")
    at_work.git("update-index", "--skip-worktree", "tests/test_calc.py")
    at_work.write("calc.py", "hidden\n")
    at_work.write("tests/test_calc.py", "hidden\n")
    assert await at_work.paths() == ["calc.py", "tests/test_calc.py"]


async def test_a_replaced_object_is_not_what_the_base_holds(user, agent):
    at_work = await agent()
    real = at_work.git("rev-parse", "HEAD:tests/test_calc.py")
    fake = at_work.git("hash-object", "-w", "--stdin", stdin=b"assert 'fake'\n")
    at_work.git("replace", real, fake)
    at_work.write("tests/test_calc.py", "assert 'fake'\n")
    (file,) = (await at_work.snapshot()).files
    assert (file.old_id, file.new_id) == (real, fake)


async def test_a_replaced_object_in_the_repository_of_the_user_changes_nothing(user, mirror, tmp_path):
    real = user.git("rev-parse", "HEAD:tests/test_calc.py")
    fake = user.git("hash-object", "-w", "--stdin", stdin=b"assert 'fake'\n")
    user.git("replace", real, fake)
    opened = await mirror()
    await opened.checkout(user.head, tmp_path / "layer")
    assert (tmp_path / "layer/tests/test_calc.py").read_text() == "assert True\n"


async def test_moved_refs_and_tags_change_nothing(agent):
    at_work = await agent()
    base = at_work.base
    at_work.write("calc.py", "fixed\n")
    moved = at_work.commit("mine")
    at_work.git("update-ref", "refs/heads/trueup", moved)
    at_work.git("tag", "-f", "v1")
    change = await at_work.snapshot()
    assert (change.base, [file.path for file in change.files]) == (base, ["calc.py"])


@pytest.mark.parametrize(
    "attributes",
    ["* text eol=crlf", "* working-tree-encoding=UTF-16", "* ident", "* text=auto", "[attr]binary text\n* binary"],
)
async def test_attributes_of_the_agent_do_not_change_what_is_read(agent, attributes):
    at_work = await agent()
    at_work.write(".gitattributes", f"{attributes}\n")
    at_work.write("calc.py", "$Id: x $ one\r\ntwo\n")
    assert await at_work.content("calc.py") == b"$Id: x $ one\r\ntwo\n"


async def test_a_file_that_is_left_out_of_archives_is_not_left_out(agent):
    at_work = await agent()
    at_work.write(".gitattributes", "evil.py export-ignore\n* export-subst\n")
    at_work.write("evil.py", "$Format:%H$\n")
    assert await at_work.content("evil.py") == b"$Format:%H$\n"


async def test_a_nested_repository_is_reported_and_runs_nothing(agent, canary):
    at_work = await agent()
    nested = Checkout(at_work.root / "vendor/thing")
    nested.commit(**{"x.py": "x\n"})
    poison(nested, canary)
    change = await at_work.snapshot()
    assert [(finding.kind, finding.path) for finding in change.findings] == [("embedded_repository", "vendor/thing")]
    assert not canary.exists()


async def test_a_nested_repository_without_a_commit_is_reported_too(agent):
    at_work = await agent()
    Checkout(at_work.root / "vendor/thing").write("x.py", "x\n")
    at_work.write("calc.py", "fixed\n")
    change = await at_work.snapshot()
    assert [file.path for file in change.files] == ["calc.py", "vendor/thing"]
    assert "without a commit" in change.findings[0].detail


async def test_a_git_folder_among_tracked_files_hides_none_of_them(agent, canary):
    at_work = await agent()
    nested = Checkout(at_work.root / "tests")
    nested.commit()
    poison(nested, canary)
    at_work.write("tests/test_calc.py", "changed\n")
    at_work.write("tests/new.py", "new\n")
    assert await at_work.paths() == ["tests/new.py", "tests/test_calc.py"]
    assert not canary.exists()


def poison(checkout: Checkout, canary: Path) -> None:
    checkout.git("config", "core.fsmonitor", f"touch {canary}")
    checkout.git("config", "filter.evil.clean", f"touch {canary}; cat")
    checkout.write(".git/info/attributes", "* filter=evil\n")
    checkout.write(".git/hooks/post-index-change", f"#!/bin/sh\ntouch {canary}\n").chmod(0o755)
    for file in checkout.root.rglob("*.py"):
        os.utime(file, (1, 1))


@pytest.fixture
def with_submodule(user, tmp_path) -> str:
    library = Checkout(tmp_path / "library")
    first = library.commit(**{"lib.py": "x = 1\n"})
    user.git("submodule", "add", "-q", str(library.root), "lib")
    user.commit("a submodule")
    return first


async def test_a_submodule_with_a_poisoned_configuration_runs_nothing(user, agent, with_submodule, tmp_path, canary):
    at_work = await agent()
    shutil.rmtree(at_work.root / "lib")
    Checkout(tmp_path).git("clone", "-q", str(tmp_path / "library"), str(at_work.root / "lib"))
    inner = Checkout(at_work.root / "lib")
    inner.write("lib.py", "x = 9\n")
    poison(inner, canary)
    change = await at_work.snapshot()
    assert change.files == []
    assert not canary.exists()


async def test_a_poisoned_submodule_of_the_user_runs_nothing(user, mirror, with_submodule, canary):
    inner = user.root / ".git/modules/lib"
    user.git("config", "--file", str(inner / "config"), "filter.evil.clean", f"touch {canary}; cat")
    (inner / "info/attributes").write_text("* filter=evil\n")
    os.utime(user.root / "lib/lib.py", (1, 1))
    opened = await mirror()
    assert await opened.snapshot(user.root, user.head) == await opened.tree_of(user.head)
    assert not canary.exists()


async def test_a_repository_that_an_earlier_snapshot_found_runs_nothing_and_hides_nothing(user, mirror, canary):
    nested = Checkout(user.root / "nested")
    nested.commit(**{"x.py": "x\n"})
    poison(nested, canary)
    opened = await mirror()
    await opened.snapshot(user.root, user.head)
    await opened.snapshot(user.root, user.head)
    assert not canary.exists()
    shutil.rmtree(nested.root / ".git")
    assert "nested/x.py" in await opened.paths(await opened.snapshot(user.root, user.head))


async def test_a_moved_submodule_is_a_change_and_a_finding(user, agent, with_submodule, tmp_path):
    at_work = await agent()
    shutil.rmtree(at_work.root / "lib")
    Checkout(tmp_path).git("clone", "-q", str(tmp_path / "library"), str(at_work.root / "lib"))
    second = Checkout(at_work.root / "lib").commit("second", **{"lib.py": "x = 2\n"})
    (finding,) = (await at_work.snapshot()).findings
    assert (finding.kind, finding.path) == ("submodule_changed", "lib")
    assert with_submodule in finding.detail
    assert second in finding.detail


@pytest.mark.parametrize("instead", ["nothing", "file", "link above"])
async def test_a_removed_submodule_is_a_change(user, agent, tmp_path, instead):
    library = Checkout(tmp_path / "library")
    library.commit(**{"lib.py": "x = 1\n"})
    user.git("submodule", "add", "-q", str(library.root), "deps/lib")
    user.commit("a submodule")
    at_work = await agent()
    shutil.rmtree(at_work.root / "deps")
    if instead == "file":
        at_work.write("deps/lib", "x\n")
    if instead == "link above":
        (at_work.root / "deps").symlink_to("/tmp")
    kinds = [finding.kind for finding in (await at_work.snapshot()).findings]
    assert "submodule_changed" in kinds


@pytest.mark.parametrize(
    ("path", "target", "kind"),
    [
        ("link", "calc.py", "symlink"),
        ("deep/er/link", "../../calc.py", "symlink"),
        ("link", "/etc/passwd", "symlink_outside"),
        ("link", "../other", "symlink_outside"),
        ("deep/link", "../../other", "symlink_outside"),
        ("link", "tests/../../x", "symlink_outside"),
    ],
)
async def test_a_link_is_a_finding_and_where_it_leads_too(agent, path, target, kind):
    at_work = await agent()
    (at_work.root / path).parent.mkdir(parents=True, exist_ok=True)
    (at_work.root / path).symlink_to(target)
    (finding,) = (await at_work.snapshot()).findings
    assert (finding.kind, finding.path, finding.detail) == (kind, path, f"points to {target!r}")


async def test_a_folder_that_became_a_link_is_not_followed(agent, tmp_path):
    at_work = await agent()
    shutil.move(at_work.root / "tests", tmp_path / "moved")
    (at_work.root / "tests").symlink_to(tmp_path / "moved")
    change = await at_work.snapshot()
    assert [(file.status, file.path) for file in change.files] == [
        ("added", "tests"),
        ("deleted", "tests/test_calc.py"),
    ]


async def test_a_file_that_became_a_link_is_two_findings(agent):
    at_work = await agent()
    (at_work.root / "calc.py").unlink()
    (at_work.root / "calc.py").symlink_to("/dev/null")
    change = await at_work.snapshot()
    assert [finding.kind for finding in change.findings] == ["type_changed", "symlink_outside"]


async def test_a_large_file_is_a_finding(agent):
    at_work = await agent()
    at_work.write("big.bin", b"\0" * 11_000_000)
    (finding,) = (await at_work.snapshot()).findings
    assert (finding.kind, finding.detail) == ("large_file", "11.0 MB")


async def test_a_control_character_in_a_path_is_a_finding(agent):
    at_work = await agent()
    at_work.write(b"evil\x1b[2Jname", "x")
    (finding,) = (await at_work.snapshot()).findings
    assert finding.kind == "control_character_in_path"


async def test_names_of_any_bytes_are_in_the_snapshot(agent):
    at_work = await agent()
    names = [b"new\nline", b"quo\"te's", b"-dash", b"caf\xe9", b"*[star]?", b" lead", b":(top)x"]
    for name in names:
        at_work.write(name, "x")
    assert sorted(os.fsencode(path) for path in await at_work.paths()) == sorted(names)
