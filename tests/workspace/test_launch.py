"""Programs in a workspace that are watched while they run."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from agents_at_work import changed
from trueup.core.errors import InfrastructureError, InputError, SpawnError
from trueup.core.process import Command
from trueup.core.protocols import Launcher
from trueup.workspace import NO_SANDBOX, Backend, Profile, Workspace
from trueup.workspace._sandbox import installed_backends
from trueup.workspace._sandbox._backend import BUBBLEWRAP, UNSHARE

KINDS = {
    "bubblewrap": BUBBLEWRAP,
    "unshare": UNSHARE,
    "bubblewrap-copied": Backend("bubblewrap", copies=True),
    "unshare-copied": Backend("unshare", copies=True),
    "none": NO_SANDBOX,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def backend(request) -> Backend:
    if request.param != NO_SANDBOX and Backend(request.param.name) not in installed_backends():
        pytest.skip(f"{request.param.name} is not installed")
    return request.param


@pytest.fixture
async def anywhere(layers, user, backend):
    """A workspace in every kind of sandbox, and without one."""
    made = await Workspace.create(await layers(backend), user.head)
    yield made
    await made.discard()


async def lines_of(launcher: Launcher, command: Command) -> list[str]:
    async with launcher.launch(command) as process:
        return [line async for line in process.lines()]


async def test_lines_come_while_a_program_runs_and_input_goes_in(anywhere):
    command = Command(argv=("sh", "-c", "echo ready; read word; echo got $word; cat"), stdin=None)
    async with anywhere.open() as shell, shell.launch(command) as process:
        lines = process.lines()
        assert await anext(lines) == "ready"
        await process.write(b"one\ntwo\n")
        process.close_stdin()
        assert [line async for line in lines] == ["got one", "two"]
        assert (await process.wait()).exit_code == 0


async def test_a_program_gets_its_input_its_variables_and_its_folder(anywhere):
    command = Command(
        shell="cat; echo $COLOUR $TRUEUP_PORT_1; pwd", stdin=b"told\n", env={"COLOUR": "red"}, cwd="tests"
    )
    async with anywhere.open() as shell:
        told, variables, folder = await lines_of(shell, command)
        assert (told, folder) == ("told", f"{shell.root}/tests")
    assert variables.split()[0] == "red"
    assert int(variables.split()[1]) > 0


async def test_work_of_a_launched_program_is_in_the_snapshot_and_not_in_the_users_files(anywhere, user):
    async with anywhere.open() as shell:
        await lines_of(shell, Command(argv=("sh", "-c", "echo x > new; rm calc.py; git add -A; git status --short")))
    assert changed(await anywhere.snapshot()) == {"new": "added", "calc.py": "deleted"}
    assert user.status() == ""


async def test_leaving_ends_the_whole_tree(anywhere):
    nap = f"6{os.getpid()}"
    command = Command(shell=f"setsid sleep {nap} & sleep {nap} & echo up; wait")
    async with anywhere.open() as shell:
        async with shell.launch(command) as process:
            assert await anext(process.lines()) == "up"
        assert not _running(nap)


async def test_a_cancelled_watcher_leaves_nothing_running(anywhere):
    nap = f"5{os.getpid()}"
    async with anywhere.open() as shell:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1), shell.launch(Command(argv=("sleep", nap))) as process:
                await process.wait()
        assert not _running(nap)


async def test_a_missing_program_is_one_clear_sentence(anywhere):
    async with anywhere.open() as shell:
        with pytest.raises(SpawnError, match="could not start 'no-such-engine': .*no such program on"):
            await lines_of(shell, Command(argv=("no-such-engine", "--now")))


async def test_a_missing_folder_is_one_clear_sentence(anywhere):
    async with anywhere.open() as shell:
        with pytest.raises(SpawnError, match="folder"):
            await lines_of(shell, Command(argv=("true",), cwd="nowhere"))


async def test_a_program_is_found_where_it_would_be_started(anywhere):
    async with anywhere.open() as shell:
        await lines_of(shell, Command(shell="printf '#!/bin/sh\\necho mine\\n' > tool; chmod +x tool"))
        found = [await shell.find_program(name) for name in ("sh", "./tool", "no-such-engine", "./calc.py")]
        assert await lines_of(shell, Command(argv=("./tool",))) == ["mine"]
    assert [bool(place) for place in found] == [True, True, False, False]


async def test_who_fills_the_disk_is_ended_and_the_block_says_so(anywhere):
    command = Command(shell="while :; do head -c 9000000 /dev/zero >> big; done")
    async with anywhere.open(disk_mb=20) as shell:
        with pytest.raises(InfrastructureError, match="wrote more than 20 MB"):
            async with shell.launch(command) as process:
                await process.wait()
                raise ValueError("what a reader makes of a program that ended too soon")


async def test_copied_layers_do_not_count_as_written(layers, user):
    user.write("large.bin", os.urandom(3_000_000))
    workspace = await Workspace.create(await layers(NO_SANDBOX), user.commit("large"))
    async with workspace.open(disk_mb=1) as shell:
        assert await lines_of(shell, Command(shell="sleep 1.5; echo done")) == ["done"]
    await workspace.discard()


async def test_single_files_are_shown_where_they_are_wanted(anywhere, tmp_path, private_home):
    script, prompt = tmp_path / "engine.sh", tmp_path / "prompt"
    script.write_text("#!/bin/sh\ncat $1\n")
    script.chmod(0o755)
    prompt.write_text("do it\n")
    targets = {
        str(script): "/tmp/deep/er/engine.sh",
        str(prompt): "/run/trueup/prompt.md",
        str(tmp_path / "at-home"): f"{private_home}/.config/engine/settings",
    }
    (tmp_path / "at-home").write_text("mine\n")
    async with anywhere.open(Profile(readable=targets)) as shell:
        places = [shell.seen_at(source) for source in targets]
        told = await lines_of(shell, Command(argv=(places[0], places[1])))
        told += await lines_of(shell, Command(argv=("cat", places[2])))
        if shell.is_confined:
            assert places == list(targets.values())
            await lines_of(shell, Command(shell=f"echo bad > {places[1]}; rm -f {places[1]}; true"))
    assert told == ["do it", "mine"]
    assert prompt.read_text() == "do it\n"
    change = await anywhere.snapshot()
    assert (changed(change), change.ignored) == ({}, [])


@pytest.mark.parametrize("copies", [False, True], ids=["mounted", "copied"])
async def test_a_file_of_the_users_checkout_can_be_shown_elsewhere_and_not_inside(layers, user, copies):
    engine = user.write("engine.py", "print('untracked')\n")
    workspace = await Workspace.create(await layers(Backend("unshare", copies=copies)), user.head)
    async with workspace.open(Profile(readable={str(engine): "/opt-engine/engine.py"})) as shell:
        assert await lines_of(shell, Command(argv=("cat", "/opt-engine/engine.py"))) == ["print('untracked')"]
        assert await lines_of(shell, Command(shell="ls -A; ls -A /opt-engine")) == [
            ".git",
            "calc.py",
            "tests",
            "engine.py",
        ]
    for inside in (str(engine), f"{user.root}/new/place", f"{user.root}/../user/x", "relative"):
        with pytest.raises(InputError, match="outside of the repository"):
            async with workspace.open(Profile(readable={str(engine): inside})):
                pass
    assert changed(await workspace.snapshot()) == {}
    await workspace.discard()


async def test_what_is_to_be_shown_must_exist(workspace, tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        async with workspace.open(Profile(readable={str(tmp_path / "gone"): "/run/trueup/gone"})):
            pass


async def test_links_that_an_agent_left_do_not_lead_what_is_shown_out_of_the_sandbox(workspace, tmp_path, private_home):
    outside, prompt = tmp_path / "outside", tmp_path / "prompt"
    outside.mkdir()
    prompt.write_text("do it\n")
    async with workspace.open() as shell:
        await lines_of(shell, Command(shell=f"ln -s {outside} ~/.config; ln -s {outside} /tmp/engine"))
    targets = {str(prompt): f"{private_home}/.config/prompt.md", str(tmp_path / "store"): "/tmp/engine/store"}
    async with workspace.open(Profile(readable=targets)) as shell:
        assert await lines_of(shell, Command(argv=("cat", f"{private_home}/.config/prompt.md"))) == ["do it"]
    assert list(outside.iterdir()) == []


async def test_without_a_sandbox_the_environment_is_the_users_less_trueups_own(layers, user, monkeypatch):
    """A git hook, from which trueup may be called, names the user's repository in the environment."""
    base = user.head
    monkeypatch.setenv("MY_TOKEN", "mine")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin:/usr/bin:/bin")
    monkeypatch.setenv("GIT_DIR", str(user.root / ".git"))
    workspace = await Workspace.create(await layers(NO_SANDBOX), base)
    async with workspace.open() as shell:
        line = (
            'echo "$MY_TOKEN:$VIRTUAL_ENV:$HOME:$PATH"; git rev-parse --show-toplevel; rm -rf .git; git status || true'
        )
        told = await lines_of(shell, Command(shell=line))
        root = str(shell.root)
    await workspace.discard()
    path = "/usr/bin:/bin" if sys.prefix != sys.base_prefix else f"{sys.prefix}/bin:/usr/bin:/bin"
    assert told == [f"mine::{os.environ['HOME']}:{path}", root]


def _running(argument: str) -> list[Path]:
    deadline = time.monotonic() + 1
    while (left := [path for path in Path("/proc").glob("[0-9]*/cmdline") if _names(path, argument)]) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.02)
    return left


def _names(path: Path, argument: str) -> bool:
    try:
        return argument.encode() in path.read_bytes().split(b"\0")
    except OSError:
        return False
