"""Differences between trees, as patches and as packs: each makes the same tree again."""

from __future__ import annotations

import os
import shutil

import pytest

from checkouts import Checkout
from trueup.core.errors import InfrastructureError
from trueup.workspace import FileStat, Mirror, Repository
from trueup.workspace._git import GitError

TEXT = "".join(f"line {number}\n" for number in range(50))


@pytest.fixture
def user(tmp_path) -> Checkout:
    """A repository with one file of each kind that can be changed."""
    checkout = Checkout(tmp_path / "user")
    checkout.write("text.txt", TEXT)
    checkout.write("no-end.txt", "one\ntwo")
    checkout.write("dos.txt", "one\r\ntwo\r\n")
    checkout.write("binary", bytes(range(256)) * 20)
    checkout.write("tool.sh", "#!/bin/sh\n")
    checkout.write(b'caf\xe9 "quoted"\nname', "odd\n")
    (checkout.root / "link").symlink_to("text.txt")
    checkout.write("folder/inside", "x\n")
    checkout.write(".gitattributes", "*.txt -diff\nbinary diff=program\n*.sh text=auto\n")
    checkout.commit("the base")
    return checkout


def _edit(checkout: Checkout) -> None:
    checkout.write("text.txt", TEXT.replace("line 7\n", "line seven\n"))


def _no_end(checkout: Checkout) -> None:
    checkout.write("no-end.txt", "one\ntwo\nthree")


def _end(checkout: Checkout) -> None:
    checkout.write("no-end.txt", "one\ntwo\n")


def _line_ends(checkout: Checkout) -> None:
    checkout.write("dos.txt", "one\r\ntwo\nthree \t\r\n")


def _binary(checkout: Checkout) -> None:
    checkout.write("binary", bytes(reversed(range(256))) * 21)
    checkout.write("new-binary", os.urandom(3000))


def _rename(checkout: Checkout) -> None:
    checkout.write("text.txt", TEXT + "more\n")
    checkout.git("mv", "text.txt", "moved here.txt")


def _mode(checkout: Checkout) -> None:
    (checkout.root / "tool.sh").chmod(0o755)


def _link(checkout: Checkout) -> None:
    (checkout.root / "link").unlink()
    (checkout.root / "link").symlink_to("/etc/passwd")
    (checkout.root / "new-link").symlink_to("no end")


def _type(checkout: Checkout) -> None:
    (checkout.root / "link").unlink()
    checkout.write("link", "a file now\n")
    (checkout.root / "tool.sh").unlink()
    (checkout.root / "tool.sh").symlink_to("text.txt")


def _odd_names(checkout: Checkout) -> None:
    checkout.write(b'caf\xe9 "quoted"\nname', "odder\n")
    for name in (
        b"new\nline",
        b"-dash",
        b"tab\there",
        b" space ",
        b"a => b",
        b"{x}",
        "ümlaut".encode(),
        b"back\\slash",
    ):
        checkout.write(name, "x\n")


def _folders(checkout: Checkout) -> None:
    shutil.rmtree(checkout.root / "folder")
    checkout.write("folder", "a file now\n")
    (checkout.root / "tool.sh").unlink()
    checkout.write("tool.sh/deep/er", "a folder now\n")


def _delete(checkout: Checkout) -> None:
    for name in ("text.txt", "binary", "link", "no-end.txt"):
        (checkout.root / name).unlink()


def _empty(checkout: Checkout) -> None:
    checkout.write("text.txt", "")
    checkout.write("empty", "")


def _repository_inside(checkout: Checkout) -> None:
    Checkout(checkout.root / "inner").commit("inside", a="a")


EDITS = [
    *(_edit, _no_end, _end, _line_ends, _binary, _rename, _mode, _link, _type, _odd_names, _folders, _delete, _empty),
    _repository_inside,
]


@pytest.fixture
def trees(user, mirror):
    """The mirror, the base, and the tree that an edit makes of it."""

    async def made(edit) -> tuple[Mirror, str, str]:
        here = await mirror()
        edit(user)
        return here, user.head, await here.snapshot(user.root, user.head)

    return made


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
async def test_a_patch_makes_the_same_tree_again_and_back(trees, edit):
    mirror, base, tree = await trees(edit)
    assert await mirror.apply_patch(base, await mirror.diff(base, tree)) == tree
    assert await mirror.apply_patch(tree, await mirror.diff(tree, base)) == await mirror.tree_of(base)


async def test_all_edits_at_once_are_one_patch(trees):
    def everything(checkout: Checkout) -> None:
        for edit in (_edit, _no_end, _line_ends, _binary, _link, _odd_names, _folders, _empty):
            edit(checkout)

    mirror, base, tree = await trees(everything)
    assert await mirror.apply_patch(base, await mirror.diff(base, tree)) == tree


async def test_the_same_tree_is_an_empty_patch(mirror, user):
    here = await mirror()
    assert await here.diff(user.head, user.head) == b""
    assert (await here.diff_stat(user.head, user.head)).files == 0


async def test_no_attribute_or_setting_hides_text_or_runs_a_program(trees, user, canary, private_home):
    """The base says that text is none, and that a program shows the rest."""
    for name in ("diff.program.command", "diff.program.textconv", "diff.external", "core.pager"):
        user.git("config", name, f"touch {canary};")
    (private_home / ".gitconfig").write_text(f"[diff]\n\texternal = touch {canary};\n\tnoprefix = true\n")
    mirror, base, tree = await trees(_edit)
    patch = await mirror.diff(base, tree)
    assert b"--- a/text.txt\n+++ b/text.txt\n" in patch
    assert b"\n-line 7\n+line seven\n" in patch
    assert not canary.exists()


async def test_a_diffstat_counts_lines_and_knows_what_has_none(trees):
    def edit(checkout: Checkout) -> None:
        _rename(checkout)
        _binary(checkout)
        checkout.write("no-end.txt", "one\n2\n3\n")

    mirror, base, tree = await trees(edit)
    stat = await mirror.diff_stat(base, tree)
    assert stat.per_file == [
        FileStat(path="binary", insertions=None, deletions=None),
        FileStat(path="moved here.txt", old_path="text.txt", insertions=1, deletions=0),
        FileStat(path="new-binary", insertions=None, deletions=None),
        FileStat(path="no-end.txt", insertions=2, deletions=1),
    ]
    assert (stat.files, stat.insertions, stat.deletions) == (4, 3, 1)


@pytest.mark.parametrize(
    "edit", [_binary, _odd_names, _delete, lambda checkout: None], ids=["new", "odd", "gone", "same"]
)
async def test_a_pack_brings_a_tree_back_after_the_cache_was_cleaned(trees, user, tmp_path, edit):
    mirror, base, tree = await trees(edit)
    pack = tmp_path / "kept" / "tree.pack"
    await mirror.write_pack(tree, base, pack)
    shutil.rmtree(mirror.folder)
    again = await Mirror.open(await Repository.open(user.root), mirror.folder)
    await again.import_pack(pack, tree, base)
    assert await again.has(tree)
    assert await again.has(tree, base)
    assert [path.name for path in pack.parent.iterdir()] == ["tree.pack"]


async def test_what_a_mirror_does_not_have_it_does_not_claim(trees, user):
    mirror, base, tree = await trees(_binary)
    assert await mirror.has(tree)
    shutil.rmtree(mirror.folder)
    again = await Mirror.open(await Repository.open(user.root), mirror.folder)
    for missing in (tree, "1" * 40, "--all", "", "nonsense"):
        assert not await again.has(missing)
        assert not await again.has(missing, base)
    assert await again.has(base)


async def test_a_tree_of_which_a_file_is_missing_is_not_whole(trees):
    """As after the user's own `git gc`, of an object that was borrowed from them."""
    mirror, base, tree = await trees(_binary)
    entry = (await mirror.entries(tree))["new-binary"]
    (mirror.objects / entry.id[:2] / entry.id[2:]).unlink()
    assert not await mirror.has(tree)
    assert not await mirror.has(tree, base)


async def test_a_cut_pack_is_refused(trees, user, tmp_path):
    mirror, base, tree = await trees(_binary)
    await mirror.write_pack(tree, base, tmp_path / "pack")
    whole = (tmp_path / "pack").read_bytes()
    shutil.rmtree(mirror.folder)
    again = await Mirror.open(await Repository.open(user.root), mirror.folder)
    with pytest.raises(GitError, match="not to be trusted"):
        await again.import_pack(whole[:-100], tree, base)
    assert not await again.has(tree)


async def test_a_pack_that_cannot_be_written_leaves_the_old_one(trees, tmp_path):
    mirror, base, tree = await trees(_binary)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InfrastructureError, match="cannot be written"):
        await mirror.write_pack(tree, base, tmp_path / "file" / "pack")
    assert (tmp_path / "file").read_text() == "in the way"
