"""The mirror: layers, trees and packs, with real git and without touching the user's repository."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess

import pytest

from checkouts import Checkout
from trueup.core.errors import InputError
from trueup.workspace._git import GitError

ODD_NAMES = [
    b"with space",
    b"new\nline",
    b"quo\"te's",
    b"tab\there",
    b"-dash",
    b"caf\xe9",
    "日本".encode(),
    b"*[star]?",
    b"back\\slash",
]


def objects_in(folder) -> set[str]:
    listed = Checkout(folder).git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return set(listed.split())


async def test_a_layer_is_a_clean_clone_at_the_commit(user, mirror, tmp_path):
    await (await mirror()).checkout(user.head, tmp_path / "layer")
    layer = Checkout(tmp_path / "layer")
    assert (layer.head, layer.branch, layer.status()) == (user.head, "trueup", "")
    assert layer.read("calc.py") == user.read("calc.py")


async def test_a_layer_holds_no_object_of_a_later_branch(user, mirror, tmp_path):
    base = user.head
    user.git("checkout", "-q", "-b", "answer")
    answer = user.commit("the answer", secret="42\n")
    user.git("checkout", "-q", "main")
    user.git("stash", "list")
    await (await mirror()).checkout(base, tmp_path / "layer")
    held = objects_in(tmp_path / "layer")
    assert base in held
    assert answer not in held
    assert user.git("rev-parse", f"{answer}:secret") not in held
    assert not (tmp_path / "layer/.git/objects/info/alternates").exists()


async def test_a_layer_has_the_tags_of_its_ancestors_and_no_others(user, mirror, tmp_path):
    user.git("tag", "light")
    user.git("tag", "-a", "-m", "annotated", "v1")
    base = user.head
    user.commit("later", later="x")
    user.git("tag", "-a", "-m", "not yet", "v2")
    await (await mirror()).checkout(base, tmp_path / "layer")
    layer = Checkout(tmp_path / "layer")
    assert layer.git("tag").split() == ["light", "v1"]
    assert layer.git("describe") == "v1"


async def test_a_layer_has_no_remote_and_no_hook_and_a_neutral_author(user, mirror, tmp_path):
    user.git("remote", "add", "origin", "https://example.org/x.git")
    user.write(".git/hooks/post-checkout", "#!/bin/sh\n")
    await (await mirror()).checkout(user.head, tmp_path / "layer")
    layer = Checkout(tmp_path / "layer")
    assert layer.git("remote") == ""
    assert not (layer.root / ".git/hooks").exists()
    assert layer.git("config", "user.name") == "trueup"


async def test_a_second_caller_waits_and_finds_the_layer_ready(user, mirror, tmp_path):
    mirrors = [await mirror() for _ in range(4)]
    await asyncio.gather(*(one.checkout(user.head, tmp_path / "layer") for one in mirrors))
    assert Checkout(tmp_path / "layer").status() == ""
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".new")] == []


async def test_a_layer_that_cannot_be_written_leaves_nothing(user, mirror, tmp_path):
    opened = await mirror()
    blob = user.git("rev-parse", "HEAD:calc.py")
    (user.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GitError):
        await opened.checkout(user.head, tmp_path / "layer")
    assert not (tmp_path / "layer").exists()
    assert not (tmp_path / ".layer.new").exists()


async def test_names_of_any_bytes_survive(user, mirror, tmp_path):
    for name in ODD_NAMES:
        user.write(b"odd/" + name, "x")
    base = user.commit()
    opened = await mirror()
    await opened.checkout(base, tmp_path / "layer")
    assert sorted(os.listdir(os.fsencode(tmp_path / "layer/odd"))) == sorted(ODD_NAMES)
    for name in ODD_NAMES:
        user.write(b"odd/" + name, "changed")
    tree = await opened.snapshot(user.root, base)
    changed = await opened.changes(base, tree)
    assert sorted(os.fsencode(change.path) for change in changed) == sorted(b"odd/" + name for name in ODD_NAMES)
    commit = await opened.commit(tree, base, "m")
    await opened.export(commit, base, tmp_path / "export")
    assert sorted(os.listdir(os.fsencode(tmp_path / "export/files/odd"))) == sorted(ODD_NAMES)
    assert await opened.restored(tree, base, [change.path for change in changed]) == await opened.tree_of(base)


async def test_a_filter_driver_of_the_user_does_not_run_for_a_layer(user, mirror, tmp_path, canary):
    user.write(".gitattributes", "*.py filter=evil ident\n")
    base = user.commit()
    user.git("config", "filter.evil.smudge", f"touch {canary}; cat")
    user.git("config", "filter.evil.clean", f"touch {canary}; cat")
    opened = await mirror()
    await opened.checkout(base, tmp_path / "layer")
    user.write("calc.py", "changed\n")
    await opened.snapshot(user.root, base)
    assert not canary.exists()


def lfs_pointer(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"


async def test_a_pointer_stays_a_pointer_where_its_object_is_not_local(user, mirror, tmp_path):
    user.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    base = user.commit(**{"data.bin": lfs_pointer(b"real\0data")})
    await (await mirror()).checkout(base, tmp_path / "layer")
    assert (tmp_path / "layer/data.bin").read_text() == lfs_pointer(b"real\0data")


async def test_a_local_lfs_object_is_in_the_layer_and_is_no_change(user, mirror, tmp_path):
    user.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    base = user.commit(**{"data.bin": lfs_pointer(b"real\0data")})
    digest = hashlib.sha256(b"real\0data").hexdigest()
    user.write(f".git/lfs/objects/{digest[:2]}/{digest[2:4]}/{digest}", b"real\0data")
    opened = await mirror()
    await opened.checkout(base, tmp_path / "layer")
    assert (tmp_path / "layer/data.bin").read_bytes() == b"real\0data"
    assert Checkout(tmp_path / "layer").status() == ""
    user.write("data.bin", b"real\0data")
    assert await opened.snapshot(user.root, base) == await opened.tree_of(base)


async def test_a_changed_lfs_file_is_a_changed_pointer(user, mirror):
    user.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    base = user.commit(**{"data.bin": lfs_pointer(b"old")})
    user.write("data.bin", b"new\0data")
    opened = await mirror()
    (change,) = await opened.changes(base, await opened.snapshot(user.root, base))
    assert (await opened.read(change.new_id)).decode() == lfs_pointer(b"new\0data")


async def test_autocrlf_gives_a_layer_the_line_ends_that_the_user_has(user, mirror, tmp_path):
    user.git("config", "core.autocrlf", "true")
    opened = await mirror()
    await opened.checkout(user.head, tmp_path / "layer")
    assert b"\r\n" in (tmp_path / "layer/calc.py").read_bytes()
    assert Checkout(tmp_path / "layer").status() == ""
    user.write("calc.py", "def add(a, b):\r\n    return a - b\r\n")
    assert await opened.snapshot(user.root, user.head) == await opened.tree_of(user.head)


async def test_line_ends_follow_the_attributes_of_the_base_in_every_folder(user, mirror, tmp_path):
    user.write(".gitattributes", "*.txt text eol=crlf\n[attr]raw -text\n*.dat raw\n")
    user.write("deep er/.gitattributes", "*.txt eol=lf\n/only.md text eol=crlf\n")
    for path in ("a.txt", "deep er/b.txt", "deep er/x/c.txt", "deep er/only.md", "deep er/x/only.md"):
        user.write(path, "line\n")
    user.write("d.dat", "line\r\n")
    base = user.commit()
    opened = await mirror()
    await opened.checkout(base, tmp_path / "layer")
    layer = tmp_path / "layer"
    assert (layer / "a.txt").read_bytes() == b"line\r\n"
    assert (layer / "deep er/b.txt").read_bytes() == b"line\n"
    assert (layer / "deep er/x/c.txt").read_bytes() == b"line\n"
    assert (layer / "deep er/only.md").read_bytes() == b"line\r\n"
    assert (layer / "deep er/x/only.md").read_bytes() == b"line\n"
    assert (layer / "d.dat").read_bytes() == b"line\r\n"
    assert Checkout(layer).status() == ""


async def test_a_submodule_that_the_user_has_is_filled_in(user, mirror, tmp_path):
    library = Checkout(tmp_path / "library")
    library.commit(**{"lib.py": "x = 1\n"})
    user.git("submodule", "add", "-q", str(library.root), "lib")
    base = user.commit()
    opened = await mirror()
    await opened.checkout(base, tmp_path / "layer")
    assert (tmp_path / "layer/lib/lib.py").read_text() == "x = 1\n"
    assert Checkout(tmp_path / "layer").status() == ""
    assert await opened.snapshot(user.root, base) == await opened.tree_of(base)


async def test_a_submodule_that_is_not_there_is_an_empty_folder(user, mirror, tmp_path):
    user.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    user.git("commit", "-q", "-m", "a submodule")
    opened = await mirror()
    await opened.checkout(user.head, tmp_path / "layer")
    assert list((tmp_path / "layer/lib").iterdir()) == []


async def test_a_submodule_name_does_not_lead_out_of_the_repository(user, mirror, tmp_path):
    outside = Checkout(tmp_path / "outside")
    secret = outside.commit(**{"secret.txt": "s"})
    user.write(".gitmodules", '[submodule "../../../outside/.git"]\n\tpath = lib\n\turl = x\n')
    user.git("add", "-A")
    user.git("update-index", "--add", "--cacheinfo", f"160000,{secret},lib")
    user.git("commit", "-q", "-m", "a submodule")
    await (await mirror()).checkout(user.head, tmp_path / "layer")
    assert list((tmp_path / "layer/lib").iterdir()) == []


async def test_a_shallow_clone_gives_a_shallow_layer(user, mirror, tmp_path):
    user.commit("second", **{"second.txt": "2"})
    shallow = tmp_path / "shallow"
    user.git("clone", "-q", "--depth", "1", f"file://{user.root}", str(shallow))
    opened = await mirror(shallow)
    await opened.checkout(user.head, tmp_path / "layer")
    layer = Checkout(tmp_path / "layer")
    assert (layer.git("rev-list", "--count", "HEAD"), layer.status()) == ("1", "")
    layer.git("fsck", "--strict")


async def test_a_repository_with_sha256_ids_works_too(tmp_path, mirror):
    user = Checkout(tmp_path / "long", "--object-format=sha256")
    base = user.commit(**{"a.txt": "a\n"})
    opened = await mirror(user.root)
    await opened.checkout(base, tmp_path / "layer")
    user.write("a.txt", "b\n")
    tree = await opened.snapshot(user.root, base)
    await opened.export(await opened.commit(tree, base, "m"), base, tmp_path / "export")
    assert len(tree) == 64
    assert (tmp_path / "export/files/a.txt").read_text() == "b\n"


async def test_objects_that_the_user_borrows_are_borrowed_too(user, mirror, tmp_path):
    user.git("clone", "-q", "--shared", str(user.root), str(tmp_path / "shared"))
    opened = await mirror(tmp_path / "shared")
    assert await opened.read(user.git("rev-parse", "HEAD:calc.py")) == user.read("calc.py").encode()


async def test_a_snapshot_has_tracked_changes_and_new_files_and_nothing_ignored(user, mirror):
    base = user.commit(**{".gitignore": "*.log\n"})
    user.write(".git/info/exclude", "private/\n")
    user.write("calc.py", "changed\n")
    user.write("new.py", "new\n")
    user.write("debug.log", "noise\n")
    user.write("private/notes", "mine\n")
    (user.root / "tests/test_calc.py").unlink()
    opened = await mirror()
    changes = await opened.changes(base, await opened.snapshot(user.root, base))
    assert [(change.status, change.path) for change in changes] == [
        ("modified", "calc.py"),
        ("added", "new.py"),
        ("deleted", "tests/test_calc.py"),
    ]


async def test_what_the_user_ignores_everywhere_is_not_in_a_snapshot(user, mirror, private_home):
    (private_home / ".config/git").mkdir(parents=True)
    (private_home / ".config/git/ignore").write_text(".idea/\n")
    user.write(".idea/workspace.xml", "x")
    opened = await mirror()
    assert await opened.snapshot(user.root, user.head) == await opened.tree_of(user.head)


async def test_a_snapshot_leaves_the_index_of_the_user_alone(user, mirror):
    user.write("staged.py", "x")
    user.git("add", "staged.py")
    user.write("calc.py", "changed\n")
    before = (user.root / ".git/index").read_bytes()
    opened = await mirror()
    await opened.snapshot(user.root, user.head)
    assert (user.root / ".git/index").read_bytes() == before


async def test_a_snapshot_sees_through_the_bits_by_which_an_index_hides_files(user, mirror):
    user.git("update-index", "--assume-unchanged", "calc.py")
    user.git("update-index", "--skip-worktree", "tests/test_calc.py")
    user.write("calc.py", "hidden\n")
    user.write("tests/test_calc.py", "hidden\n")
    opened = await mirror()
    changes = await opened.changes(user.head, await opened.snapshot(user.root, user.head))
    assert [change.path for change in changes] == ["calc.py", "tests/test_calc.py"]


async def test_a_second_snapshot_sees_what_changed_since_the_first(user, mirror):
    opened = await mirror()
    user.write("calc.py", "one\n")
    first = await opened.snapshot(user.root, user.head)
    user.write("calc.py", "two\n")
    second = await opened.snapshot(user.root, user.head)
    assert first != second
    (change,) = await opened.changes(first, second)
    assert await opened.read(change.new_id) == b"two\n"


async def test_a_patch_makes_a_tree(user, mirror):
    base = user.head
    user.write("calc.py", "patched\n")
    patch = user.git("diff", "--binary").encode() + b"\n"
    opened = await mirror()
    expected = await opened.snapshot(user.root, base)
    assert await opened.apply_patch(base, patch) == expected


async def test_a_patch_that_does_not_apply_says_why_and_what_to_do(user, mirror):
    patch = b"--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-nothing like it\n+x\n"
    with pytest.raises(InputError, match=r"calc\.py.*\n?(.|\n)*git diff --binary"):
        await (await mirror()).apply_patch(user.head, patch)


async def test_a_commit_has_the_same_id_whenever_it_is_made(user, mirror):
    opened = await mirror()
    tree = await opened.tree_of(user.head)
    first = await opened.commit(tree, user.head, "the same")
    await asyncio.sleep(1.1)
    assert await opened.commit(tree, user.head, "the same") == first


async def test_restoring_undoes_changes_additions_and_deletions(user, mirror):
    opened = await mirror()
    base = await opened.tree_of(user.head)
    changed = await opened.with_files(base, {"calc.py": ("100644", b"x"), "conftest.py": ("100644", b"evil")})
    gone = await opened.restored(changed, await opened.with_files(base, {}), ["conftest.py"])
    assert [change.path for change in await opened.changes(base, gone)] == ["calc.py"]
    assert await opened.restored(changed, base, ["calc.py", "conftest.py"]) == base


async def test_restoring_a_file_takes_the_place_of_a_folder_and_the_other_way_round(user, mirror):
    opened = await mirror()
    base = await opened.tree_of(user.head)
    swapped = await opened.with_files(base, {"calc.py/inner": ("100644", b"x"), "tests": ("120000", b"/etc")})
    assert [change.path for change in await opened.changes(base, swapped)] == [
        "calc.py",
        "calc.py/inner",
        "tests",
        "tests/test_calc.py",
    ]
    assert await opened.restored(swapped, base, ["calc.py", "tests/test_calc.py"]) == base


async def test_many_blobs_are_read_at_once(user, mirror):
    opened = await mirror()
    entries = await opened.entries(user.head)
    blobs = await opened.read_many(entry.id for entry in entries.values())
    assert blobs[entries["calc.py"].id] == user.read("calc.py").encode()
    with pytest.raises(GitError, match="no object"):
        await opened.read("1" * 40)


def lay_over(layer, export) -> None:
    """Apply an export the way a stack does: deletions first."""
    for path in (export / "deleted").read_text().split("\0")[:-1]:
        (layer / path).unlink()
        if not any((layer / path).parent.iterdir()):
            (layer / path).parent.rmdir()
    for file in sorted((export / "files").rglob("*")):
        target = layer / file.relative_to(export / "files")
        if file.is_dir() and not file.is_symlink():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target, follow_symlinks=False)
    for file in (export / "pack").iterdir():
        shutil.copy2(file, layer / ".git/objects/pack")
    shutil.copy2(export / "index", layer / ".git/index")
    (layer / ".git/refs/heads/trueup").write_text((export / "head").read_text())


async def test_a_layer_with_an_export_over_it_is_a_clean_clone_of_the_commit(user, mirror, tmp_path):
    base = user.head
    opened = await mirror()
    await opened.checkout(base, tmp_path / "layer")
    user.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (user.root / "link").symlink_to("/etc/passwd")
    Checkout(user.root / "vendored").commit()
    shutil.rmtree(user.root / "tests")
    user.write("tests", "now a file\n")
    (user.root / "calc.py").unlink()
    user.write("calc.py/inner.py", "now a folder\n")
    commit = await opened.commit(await opened.snapshot(user.root, base), base, "the change")
    await opened.export(commit, base, tmp_path / "export")
    lay_over(tmp_path / "layer", tmp_path / "export")
    layer = Checkout(tmp_path / "layer")
    assert (layer.head, layer.status()) == (commit, "")
    assert os.access(layer.root / "run.sh", os.X_OK)
    assert os.readlink(layer.root / "link") == "/etc/passwd"
    layer.git("fsck", "--strict")


async def test_an_export_of_nothing_is_empty(user, mirror, tmp_path):
    await (await mirror()).export(user.head, user.head, tmp_path / "export")
    assert list((tmp_path / "export/files").iterdir()) == []
    assert list((tmp_path / "export/pack").iterdir()) == []


async def test_a_pack_is_taken_in_if_it_completes_the_tree(user, mirror, tmp_path):
    opened = await mirror()
    other = Checkout(tmp_path / "other")
    other.commit(**{"a.txt": "from elsewhere\n"})
    tree = other.git("rev-parse", "HEAD^{tree}")
    pack = packed(other, tree)
    await opened.import_pack(pack, tree)
    assert await opened.paths(tree) == ["a.txt"]


async def test_a_pack_that_lacks_a_file_is_not_to_be_trusted(user, mirror, tmp_path):
    opened = await mirror()
    other = Checkout(tmp_path / "other")
    other.commit(**{"a.txt": "from elsewhere\n"})
    tree = other.git("rev-parse", "HEAD^{tree}")
    pack = packed(other, tree, f"^{other.git('rev-parse', 'HEAD:a.txt')}")
    with pytest.raises(GitError, match="not to be trusted"):
        await opened.import_pack(pack, tree)
    assert not await opened.git.ok("cat-file", "-e", tree)


async def test_a_pack_with_another_tree_than_promised_is_not_to_be_trusted(user, mirror, tmp_path):
    opened = await mirror()
    other = Checkout(tmp_path / "other")
    other.commit(**{"a.txt": "from elsewhere\n"})
    with pytest.raises(GitError, match="is not a tree"):
        await opened.import_pack(packed(other, "HEAD^{tree}"), "2" * 40)


async def test_a_pack_with_a_tree_that_holds_a_git_folder_is_refused(user, mirror, tmp_path):
    opened = await mirror()
    other = Checkout(tmp_path / "other")
    blob = other.git("hash-object", "-w", "--stdin", stdin=b"[core]\n")
    inner = other.git("mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    entry = b"40000 .git\0" + bytes.fromhex(inner)
    tree = other.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=entry)
    with pytest.raises(GitError, match=r"not sound.*\.git"):
        await opened.import_pack(packed(other, tree), tree)


async def test_a_pack_that_is_a_link_or_a_pipe_is_not_opened(user, mirror, tmp_path):
    opened = await mirror()
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "absent"):
        with pytest.raises(GitError, match="not to be trusted"):
            await opened.import_pack(tmp_path / name, "2" * 40)


def packed(checkout: Checkout, *revs: str) -> bytes:
    done = subprocess.run(
        ["git", "pack-objects", "--revs", "--stdout", "-q"],
        cwd=checkout.root,
        input="".join(f"{rev}\n" for rev in revs).encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout


async def test_a_mirror_that_is_opened_again_does_not_disturb_who_is_using_it(user, mirror):
    opened = await mirror()

    async def reopen() -> None:
        for _ in range(20):
            await mirror()

    async def use() -> list[str]:
        return [await opened.tree_of(user.head) for _ in range(40)]

    trees, _, _ = await asyncio.gather(use(), reopen(), reopen())
    assert set(trees) == {user.git("rev-parse", "HEAD^{tree}")}


async def test_the_mirror_does_not_change_the_repository_of_the_user(user, mirror, tmp_path):
    user.write("new.py", "x\n")
    before = {file: file.read_bytes() for file in user.root.rglob("*") if file.is_file()}
    opened = await mirror()
    base = user.head
    await opened.checkout(base, tmp_path / "layer")
    await opened.commit(await opened.snapshot(user.root, base), base, "m")
    assert {file: file.read_bytes() for file in user.root.rglob("*") if file.is_file()} == before
