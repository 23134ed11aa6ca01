"""The sandbox: what runs inside sees what it needs, and reaches nothing else."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

import msgspec
import pytest

import trueup
from trueup.core.errors import InfrastructureError
from trueup.core.process import Command, run
from trueup.core.protocols import ShellCommand
from trueup.workspace._sandbox import (
    Backend,
    Profile,
    SandboxError,
    Scratch,
    Stack,
    StackPlan,
    abandoned,
    find_backend,
    installed_backends,
    prove,
)
from trueup.workspace._sandbox._backend import BUBBLEWRAP, UNSHARE
from trueup.workspace._sandbox._holder import apply_change


class OpenDoor(Backend, frozen=True):
    """A backend that confines nothing."""

    def enter(self, holder: int, cwd: str, *, network: bool) -> tuple[str, ...]:
        return ("sh", "-c", 'cd /tmp && "$@"', "-")


class HalfOpenDoor(Backend, frozen=True):
    """A backend that shares the machine's network."""

    def enter(self, holder: int, cwd: str, *, network: bool) -> tuple[str, ...]:
        return UNSHARE.enter(holder, cwd, network=True)


@pytest.fixture(params=[BUBBLEWRAP, UNSHARE], ids=["bubblewrap", "unshare"])
def backend(request) -> Backend:
    if request.param not in installed_backends():
        pytest.skip(f"{request.param.name} is not installed")
    return request.param


@pytest.fixture
def layer(tmp_path) -> Path:
    folder = tmp_path / "layer"
    folder.mkdir()
    (folder / "tracked.txt").write_text("base\n")
    return folder


@pytest.fixture
def inside(tmp_path, layer, backend, private_home):
    """Run one line in a stack on the layer, at a path that exists nowhere else."""

    async def run(line: str, *, timeout_secs: float = 30, network: bool = False, environ=None, **plan):
        scratch = Scratch.create(tmp_path / "tops")
        try:
            wanted = StackPlan(**{"repo": Path("/home/someone/project"), "layers": (layer,), **plan})
            async with Stack(wanted, backend, scratch, environ) as stack:
                command = ShellCommand(line=line, timeout_secs=timeout_secs, network=network)
                return await stack.run(command)
        finally:
            scratch.discard()

    return run


async def test_no_escape_that_is_tried_succeeds(backend):
    assert await prove(backend) == []


@pytest.mark.parametrize("copies", [False, True], ids=["mounted", "copied"])
async def test_no_escape_succeeds_for_an_ordinary_user_either(backend, copies, tmp_path):
    """As nobody, with the system's Python: the one that runs the suite may be out of nobody's reach."""
    code = (
        "import asyncio\nfrom trueup.workspace._sandbox import Backend, prove\n"
        f"print(asyncio.run(prove(Backend({backend.name!r}, copies={copies}))))\n"
    )
    places = ":".join(str(Path(module.__file__).parent.parent) for module in (trueup, msgspec))
    become = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.geteuid() == 0 else ()
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TMPDIR": "/tmp", "PYTHONPATH": places}
    script = f"test -r {shlex.quote(trueup.__file__)} && python3 -c 'import msgspec, yaml' || exit 77; exec python3 -c \"$0\""
    finished = await run(Command(argv=(*become, "bash", "-c", script, code), env=env, timeout_secs=60))
    if finished.exit_code == 77:
        pytest.skip("the system's Python cannot be used by nobody here")
    assert finished.stdout.text == "[]\n", finished.stderr.text


async def test_no_escape_succeeds_from_copied_layers(backend):
    assert await prove(Backend(backend.name, copies=True)) == []


async def test_a_sandbox_that_confines_nothing_is_found_out():
    escapes = {escape.what for escape in await prove(OpenDoor("open door"))}
    assert {"reads files outside", "writes files outside", "reaches servers of this machine"} <= escapes


async def test_a_sandbox_that_leaks_one_thing_is_found_out():
    assert [escape.what for escape in await prove(HalfOpenDoor("half open"))] == ["reaches servers of this machine"]


async def test_the_best_backend_is_chosen_by_proof():
    assert await find_backend() in installed_backends()


async def test_without_a_way_in_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="user namespaces.*--sandbox none"):
        await find_backend()


async def test_commands_run_at_the_repositorys_own_path(inside):
    finished = await inside("pwd; cat tracked.txt")
    assert finished.stdout.text == "/home/someone/project\nbase\n"


async def test_writing_changes_the_private_top_and_not_the_layers(inside, layer):
    finished = await inside("echo changed > tracked.txt; echo new > new.txt; rm tracked.txt; ls")
    assert finished.stdout.text == "new.txt\n"
    assert sorted(path.name for path in layer.iterdir()) == ["tracked.txt"]
    assert (layer / "tracked.txt").read_text() == "base\n"


async def test_an_upper_layer_covers_a_lower_one(inside, layer, tmp_path):
    upper = tmp_path / "upper layer: with, marks"
    upper.mkdir()
    (upper / "dependency").write_text("installed\n")
    (upper / "tracked.txt").write_text("covered\n")
    finished = await inside("cat dependency tracked.txt", layers=(upper, layer))
    assert finished.stdout.text == "installed\ncovered\n"


async def test_one_stack_serves_many_commands_that_see_each_others_files(tmp_path, layer, backend):
    scratch = Scratch.create(tmp_path / "tops")
    async with Stack(StackPlan(repo=Path("/p"), layers=(layer,)), backend, scratch) as stack:
        await stack.run(ShellCommand(line="echo 42 > built; echo 43 > /tmp/cached", timeout_secs=9))
        finished = await stack.run(ShellCommand(line="cat built /tmp/cached", timeout_secs=9))
    scratch.discard()
    assert finished.stdout.text == "42\n43\n"


async def test_the_temporary_folder_of_the_machine_is_not_there(inside, tmp_path):
    (tmp_path / "planted").touch()
    finished = await inside("find /tmp /var/tmp /dev/shm -type f; echo x > /tmp/mine && cat /tmp/mine")
    assert finished.stdout.text == "x\n"


async def test_home_is_empty_but_for_toolchains_which_cannot_be_changed(inside, private_home):
    (private_home / ".ssh").mkdir()
    (private_home / ".ssh" / "id").write_text("secret")
    (private_home / ".cargo" / "bin").mkdir(parents=True)
    (private_home / ".cargo" / "bin" / "mytool").write_text("#!/bin/sh\necho tool\n")
    (private_home / ".cargo" / "bin" / "mytool").chmod(0o755)
    (private_home / ".cargo" / "credentials.toml").write_text("token = 'secret'")
    environ = {**os.environ, "PATH": f"{private_home}/.cargo/bin:{os.environ['PATH']}"}
    finished = await inside(
        "ls -A ~ ~/.cargo; mytool; touch ~/.cargo/bin/x 2>&1 | grep -o Read-only; touch ~/mine && echo ok",
        environ=environ,
    )
    assert finished.stdout.text.split() == [
        f"{private_home}:",
        ".cargo",
        f"{private_home}/.cargo:",
        "bin",
        "tool",
        "Read-only",
        "ok",
    ]
    assert not (private_home / "mine").exists()


async def test_the_environment_holds_no_secret(inside):
    environ = {**os.environ, "AWS_SECRET_ACCESS_KEY": "hush", "GITHUB_TOKEN": "hush", "SSH_AUTH_SOCK": "/x"}
    finished = await inside("env; tr '\\0' '\\n' < /proc/1/environ", environ=environ)
    assert "hush" not in finished.stdout.text
    assert "SSH_AUTH_SOCK" not in finished.stdout.text


async def test_secrets_of_the_system_are_blank(inside):
    finished = await inside("cat /etc/shadow 2>/dev/null | wc -c; ls -A /run 2>/dev/null | wc -l")
    assert finished.stdout.text.split() == ["0", "0"]


async def test_loopback_is_up_and_private(inside):
    finished = await inside(
        "python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 8080)); "
        "c = socket.create_connection(('127.0.0.1', 8080)); print('connected')\""
    )
    assert finished.stdout.text == "connected\n"


async def test_the_machines_servers_are_reached_only_where_a_check_says_network(inside):
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        line = f"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo alone"
        assert (await inside(line)).stdout.text == "alone\n"
        assert (await inside(line, network=True)).stdout.text == "reached\n"


async def test_a_daemon_dies_with_its_command(inside):
    nap = f"7{os.getpid()}"
    finished = await inside(f"setsid sleep {nap} & echo left")
    assert finished.stdout.text == "left\n"
    running = [p for p in Path("/proc").glob("[0-9]*/cmdline") if nap.encode() in _read(p)]
    assert running == []


async def test_a_time_out_ends_a_command_inside(inside):
    finished = await inside("trap '' TERM; sleep 60; :", timeout_secs=0.5)
    assert finished.timed_out


async def test_exit_codes_and_signals_come_out(inside):
    assert (await inside("exit 7")).exit_code == 7
    assert (await inside("kill -SEGV $$")).exit_code == 139


async def test_who_fills_the_disk_is_ended(inside):
    with pytest.raises(InfrastructureError, match="wrote more than 20 MB"):
        await inside("while :; do head -c 10000000 /dev/zero >> big; sleep 0.05; done", disk_mb=20)


async def test_a_folder_may_be_shown_or_lent(inside, tmp_path):
    shown, lent = tmp_path / "shown", tmp_path / "lent"
    shown.mkdir()
    lent.mkdir()
    (shown / "file").write_text("see\n")
    profile = Profile(readable={str(shown): str(shown)}, writable={str(lent): "/lent"})
    finished = await inside(f"cat {shown}/file; touch {shown}/x 2>/dev/null; echo y > /lent/z", profile=profile)
    assert finished.stdout.text == "see\n"
    assert sorted(path.name for path in shown.iterdir()) == ["file"]
    assert (lent / "z").read_text() == "y\n"


async def test_a_stack_that_cannot_be_built_says_why(inside, tmp_path):
    with pytest.raises(SandboxError, match="could not be built: BuildError: mount overlay"):
        await inside("true", layers=(tmp_path / "missing",))


async def test_scratch_of_a_dead_owner_is_found_and_that_of_a_living_one_is_not(tmp_path):
    living = Scratch.create(tmp_path)
    dead = Scratch.create(tmp_path)
    dead.release()
    assert abandoned(tmp_path) == [dead.folder]
    living.discard()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_what_is_in_the_way_of_a_change_goes_and_what_its_links_lead_to_stays(tmp_path):
    target, export, outside = tmp_path / "target", tmp_path / "export", tmp_path / "outside"
    for folder in (target / "place" / "deep" / "er", export / "files", outside):
        folder.mkdir(parents=True)
    (outside / "kept").touch()
    (target / "place" / "deep" / "file").touch()
    (target / "place" / "link").symlink_to(outside)
    (target / "place" / "deep" / "broken").symlink_to("nowhere")
    odd = os.fsdecode(b"odd \xff\n name")
    (target / odd).touch()
    (export / "deleted").write_bytes(os.fsencode(odd) + b"\0gone already\0")
    (export / "files" / "place").write_text("a file now")
    apply_change(str(target), str(export))
    assert [path.name for path in target.iterdir()] == ["place"]
    assert (target / "place").read_text() == "a file now"
    assert (outside / "kept").exists()
