"""Layers: dependencies are set up once, off to the side, and nothing but untracked files comes out of it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from trueup.core.errors import InputError
from trueup.core.process import Command, run
from trueup.core.protocols import ShellCommand
from trueup.workspace import (
    NO_SANDBOX,
    Backend,
    Dependencies,
    Layers,
    Mirror,
    Repository,
    Setup,
    find_backend,
    list_cache,
    store_of,
)
from trueup.workspace._store import clean_cache

STAMP = "mkdir -p .deps && date +%s%N > .deps/stamp"


class Place:
    """The layers of the user's repository, and what a command says on top of them."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers

    async def setup(self, *commands: str, tree: str | None = None, base: str = "HEAD", **more) -> Dependencies:
        wanted = Setup(commands=commands, **more)
        built = await self.layers.dependencies(wanted, await self.layers.repo.resolve(base), tree)
        assert built is not None
        return built

    async def says(self, line: str, dependencies: Dependencies | None, tree: str | None = None) -> str:
        base = await self.layers.repo.resolve("HEAD")
        async with self.layers.pristine(base, tree, dependencies) as checkout:
            finished = await checkout.run(ShellCommand(line=line, timeout_secs=30))
        return finished.stdout.text.strip()

    async def tree_with(self, **files: str) -> str:
        base = await self.layers.repo.resolve("HEAD")
        entries = {path.replace("__", "/").replace("_txt", ".txt"): text for path, text in files.items()}
        mirror = self.layers.mirror
        return await mirror.with_files(base, {path: ("100644", text.encode()) for path, text in entries.items()})


@pytest.fixture
def place(user, tmp_path, plain_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    async def opened(backend: Backend | None = None, **environ: str) -> Place:
        repo = await Repository.open(user.root)
        store = store_of(repo.root)
        mirror = await Mirror.open(repo, store / "mirror")
        return Place(Layers(repo, mirror, store, backend or await find_backend(), {**os.environ, **environ}))

    return opened


async def test_setup_runs_once_and_every_evaluation_sees_what_it_made(place):
    here = await place()
    first = await here.setup(STAMP)
    again = await (await place()).setup(STAMP)
    assert first == again
    stamp = await here.says("cat .deps/stamp", first)
    assert stamp
    assert await here.says("cat .deps/stamp", again) == stamp


async def test_the_key_changes_with_what_setup_rests_on(place, user):
    user.write("requirements.txt", "one\n")
    user.write("other.txt", "one\n")
    user.commit()
    here = await place(TOKEN="a")
    inputs = {"inputs": ("requirements.txt",), "variables": ("TOKEN",)}
    key = (await here.setup(STAMP, **inputs)).key
    different = [
        await here.setup(STAMP + " # anew", **inputs),
        await here.setup(STAMP, tree=await here.tree_with(requirements_txt="two\n"), **inputs),
        await (await place(TOKEN="b")).setup(STAMP, **inputs),
        await here.setup(STAMP, inputs=("requirements.txt",)),
    ]
    keys = {built.key for built in different}
    assert len(keys) == len(different)
    assert key not in keys
    assert (await here.setup(STAMP, tree=await here.tree_with(other_txt="two\n"), **inputs)).key == key


async def test_two_evaluations_at_once_build_it_once(place):
    here, there = await place(), await place()
    line = f"sleep 0.3; {STAMP}"
    built = await asyncio.gather(here.setup(line), there.setup(line), here.setup(line))
    assert len(set(built)) == 1
    assert [kept.kind for kept in list_cache() if kept.kind == "dependencies"] == ["dependencies"]


async def test_two_processes_build_it_once(place, user, tmp_path):
    await place()
    program = tmp_path / "build.py"
    program.write_text(
        "import asyncio, os, sys\nfrom pathlib import Path\n"
        "from trueup.workspace import Layers, Mirror, Repository, Setup, find_backend, store_of\n"
        "async def main():\n"
        "    repo = await Repository.open(Path(sys.argv[1]))\n"
        "    store = store_of(repo.root)\n"
        "    layers = Layers(repo, await Mirror.open(repo, store / 'mirror'), store, await find_backend())\n"
        "    setup = Setup(commands=('sleep 0.5; mkdir .deps && date +%s%N > .deps/stamp',))\n"
        "    built = await layers.dependencies(setup, await repo.resolve('HEAD'))\n"
        "    print((built.files / '.deps/stamp').read_text(), os.stat(built.folder).st_ino)\n"
        "asyncio.run(main())\n"
    )
    command = Command(argv=(sys.executable, str(program), str(user.root)), env=dict(os.environ), timeout_secs=60)
    one, two = await asyncio.gather(run(command), run(command))
    assert one.exit_code == 0, one.stderr.text
    assert one.stdout.text == two.stdout.text


async def test_tracked_files_are_as_in_the_base_whatever_setup_did_to_them(place, user):
    user.write("docs/deep/guide.txt", "guide\n")
    user.write("docs/index.txt", "index\n")
    user.write("plain", "plain\n")
    user.write("data/keep.txt", "keep\n")
    user.commit()
    here = await place()
    built = await here.setup(
        "echo changed > calc.py; rm tests/test_calc.py; rm -r docs; mkdir -p docs/deep; echo new > docs/new.txt;"
        "rm plain; mkdir plain; touch plain/inside; rm -r data; touch data; rm -rf .git; chmod 000 docs/deep"
    )
    seen = await here.says(
        "git status --porcelain --untracked-files=no && cat docs/deep/guide.txt docs/new.txt plain data/keep.txt", built
    )
    assert seen.split("\n") == ["guide", "new", "plain", "keep"]


async def test_a_link_that_setup_put_in_place_of_a_tracked_folder_leads_nowhere(place, user, tmp_path):
    outside = tmp_path / "outside"
    (outside / "test_calc.py").mkdir(parents=True)
    (outside / "test_calc.py" / "treasure").write_text("mine")
    here = await place()
    built = await here.setup(f"rm -r tests && ln -s {outside} tests")
    assert (outside / "test_calc.py" / "treasure").read_text() == "mine"
    assert await here.says("cat tests/test_calc.py", built) == "assert True"


async def test_a_layer_made_on_one_commit_does_not_hide_files_of_the_next(place, user):
    here = await place()
    line = "mkdir -p made && echo generated > made/file.txt"
    built = await here.setup(line)
    user.write("made/file.txt", "tracked\n")
    user.commit()
    again = await here.setup(line)
    assert again.key != built.key
    assert await here.says("cat made/file.txt", again) == "tracked"


async def test_what_a_change_deleted_is_not_missing_for_others_that_share_its_layer(place, user):
    user.write("requirements.txt", "one\n")
    user.commit()
    here = await place()
    tree = await here.tree_with(requirements_txt="two\n")
    user.git("rm", "-q", "calc.py")
    deleted = await here.layers.mirror.snapshot(user.root, user.head)
    without = await here.layers.mirror.restored(deleted, tree, ["requirements.txt"])
    inputs = {"inputs": ("requirements.txt",)}
    built = await here.setup(STAMP, tree=without, **inputs)
    assert await here.setup(STAMP, tree=tree, **inputs) == built
    assert await here.says("ls calc.py", built, tree) == "calc.py"


async def test_what_setup_left_in_home_is_there_for_checks(place):
    here = await place()
    built = await here.setup("mkdir -p ~/.cache/tool && echo fetched > ~/.cache/tool/package")
    assert await here.says("cat ~/.cache/tool/package; echo more >> ~/.cache/tool/package", built) == "fetched"
    assert await here.says("cat ~/.cache/tool/package", built) == "fetched"


async def test_variables_named_for_setup_are_seen_by_setup_only(place):
    here = await place(TOKEN="secret", OTHER="secret")
    built = await here.setup('echo "[$TOKEN][$OTHER]" > ~/seen', variables=("TOKEN",))
    assert await here.says('cat ~/seen; echo "[$TOKEN][$OTHER]"', built) == "[secret][]\n[][]"


async def test_a_setup_that_fails_is_told_with_its_last_words_and_leaves_nothing(place):
    here = await place()
    with pytest.raises(InputError, match=r"setup `echo no such package; exit 3` failed \(exit 3\):\nno such package"):
        await here.setup("echo no such package; exit 3")
    assert [kept for kept in list_cache() if kept.kind in {"dependencies", "top"}] == []


async def test_a_setup_that_hangs_is_ended(place):
    here = await place()
    started = time.monotonic()
    with pytest.raises(InputError, match=r"did not end within 0.5 s"):
        await here.setup("setsid sleep 60 & sleep 60", limit_secs=0.5)
    assert time.monotonic() - started < 30


async def test_a_daemon_that_setup_left_is_gone(place):
    here = await place()
    built = await here.setup("(setsid sleep 4711 >/dev/null 2>&1 </dev/null &); sleep 0.1")
    assert await here.says("ps -eo args | grep -c '[s]leep 4711'", built) == "0"


async def test_reuse_copies_the_users_folder_and_sees_when_it_changes(place, user):
    user.write(".gitignore", ".venv/\n")
    user.commit()
    user.write(".venv/lib/package.py", "one")
    os.mkfifo(user.root / ".venv" / "pipe")
    built = await (await place()).setup(reuse=(".venv",))
    user.write(".venv/lib/package.py", "changed")
    here = await place()
    assert await here.says("cat .venv/lib/package.py", built) == "one"
    again = await here.setup(reuse=(".venv",))
    assert await here.says("cat .venv/lib/package.py; echo > .venv/lib/package.py", again) == "changed"
    assert user.read(".venv/lib/package.py") == "changed"


@pytest.mark.parametrize("name", ["../outside", "/etc", ".", ".git", "missing"])
async def test_reuse_stays_inside_of_the_repository(place, name, tmp_path):
    (tmp_path / "outside").mkdir()
    with pytest.raises(InputError, match="`reuse` names"):
        await (await place()).setup(reuse=(name,))


async def test_changed_files_are_newer_than_what_setup_built(place, user):
    user.write("answer.c", '#include <stdio.h>\nint main(void) { puts("wrong"); }\n')
    user.write("Makefile", "answer: answer.c\n\t$(CC) -o $@ $<\n")
    user.commit()
    here = await place()
    built = await here.setup("make -s")
    assert await here.says("make && ./answer", built) == "make: 'answer' is up to date.\nwrong"
    user.write("answer.c", '#include <stdio.h>\nint main(void) { puts("right"); }\n')
    tree = await here.layers.mirror.snapshot(user.root, user.head)
    assert (await here.says("make -s && ./answer", built, tree)) == "right"


async def test_layers_are_copied_where_they_cannot_be_mounted(place, user):
    backend = Backend((await find_backend()).name, copies=True)
    here = await place(backend)
    built = await here.setup(f"{STAMP}; echo changed > calc.py; rm -r tests; echo home > ~/file")
    assert await here.says("git status --porcelain --untracked-files=no; cat ~/file; ls .deps", built) == "home\nstamp"


async def test_without_a_sandbox_the_same_layers_are_a_plain_folder(place, user):
    here = await place(NO_SANDBOX)
    built = await here.setup(f"{STAMP}; echo changed > calc.py; rm -r tests")
    assert await here.says("git status --porcelain --untracked-files=no; ls .deps", built) == "stamp"
    assert not (user.root / ".deps").exists()


@asynccontextmanager
async def in_use(here: Place, built: Dependencies):
    base = await here.layers.repo.resolve("HEAD")
    async with here.layers.pristine(base, None, built) as checkout:
        yield checkout


async def test_cleaning_leaves_what_is_in_use_and_takes_it_afterwards(place):
    here = await place()
    built = await here.setup(STAMP)
    async with in_use(here, built) as checkout:
        assert clean_cache(now=time.time() + 1) == []
        assert (await checkout.run(ShellCommand(line="cat .deps/stamp calc.py", timeout_secs=30))).exit_code == 0
    assert clean_cache(now=time.time() + 1) == []
    del here, checkout
    assert {kept.kind for kept in clean_cache(now=time.time() + 1)} == {"base", "dependencies"}
    assert not list(Path(built.folder.parent).iterdir())
    assert (await (await place()).setup(STAMP)).key == built.key


async def test_cleaning_takes_tops_whose_owner_is_gone_even_while_others_work(place):
    here = await place()
    built = await here.setup(STAMP)
    left = built.folder.parent.parent / "tops" / "top-left"
    (left / "upper" / "closed").mkdir(parents=True)
    (left / "upper" / "closed").chmod(0)
    (left / "owner").touch()
    async with in_use(here, built):
        assert [kept.path for kept in clean_cache(now=time.time() + 1)] == [left]
    assert not left.exists()


async def test_layers_that_were_used_lately_stay_when_days_are_given(place):
    here = await place()
    built = await here.setup(STAMP)
    base = await here.layers.base(await here.layers.repo.resolve("HEAD"))
    long_ago = time.time() - 10 * 86_400
    os.utime(base, (long_ago, long_ago))
    os.utime(built.folder, (long_ago, long_ago))
    await here.setup(STAMP)
    del here
    gone = clean_cache(older_than_secs=7 * 86_400, now=time.time())
    assert [kept.path for kept in gone] == [base]


async def test_the_mirror_of_a_repository_that_is_gone_is_taken(place, user):
    await place()
    user.root.rename(user.root.with_name("elsewhere"))
    assert [kept.kind for kept in clean_cache(now=time.time())] == ["mirror"]


async def test_install_scripts_are_off_where_the_manifests_are_a_changes(place, user):
    user.write("requirements.txt", "one\n")
    user.commit()
    here = await place()
    line, inputs = 'mkdir .deps; echo "${npm_config_ignore_scripts:-may run}" > .deps/scripts', ("requirements.txt",)
    tree = await here.tree_with(requirements_txt="two\n")
    of_the_base = await here.setup(line, inputs=inputs)
    of_the_change = await here.setup(line, inputs=inputs, tree=tree)
    assert await here.says("cat .deps/scripts", of_the_base) == "may run"
    assert await here.says("cat .deps/scripts", of_the_change, tree) == "true"
