"""A session driven over the wire, by a program and the human it works for."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from daemon_clients import WireError, over_a_socket, serving
from small_project import MEND, SUITE
from trueup.core.process import Command, run
from trueup.daemon import Daemon, Tokens

CONTRACT = {"description": "slugs", "checks": [{"name": "suite", "command": SUITE}]}
ENGINE = f"command:bash -c {shlex.quote(MEND)}"
PROGRAM = Path(__file__).with_name("car_coder.py")


@pytest.fixture
async def daemon(store, database, project):
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with Daemon(store, tokens=Tokens("for-programs", "for-ada"), database_url=database) as daemon:
        yield daemon


@pytest.fixture
async def program(lines):
    client = lines().client
    await client.call("session.auth", {"token": "for-programs"})
    await client.call("server.handshake", {"client_version": "0", "protocol_version": 3, "required_capabilities": []})
    return client


@pytest.fixture
async def ada(lines):
    client = lines().client
    await client.call("session.auth", {"host_token": "for-ada"})
    await client.call("server.handshake", {"client_version": "0", "protocol_version": 3, "required_capabilities": []})
    return client


async def asked(client, project, **more):
    wanted = {"repo": str(project.root), "intent": "dashes", "engine": ENGINE, "contract": CONTRACT, **more}
    return await client.call("coder.start", wanted)


async def event(client, kind: str, **fields):
    """The next event of a kind, or a change of a session, that has these fields."""
    while True:
        told = (await client.next_told())["params"]
        told = told.get("session", told)
        if told.get("type", kind) == kind and all(told.get(name) == value for name, value in fields.items()):
            return told


async def test_a_program_asks_and_only_the_human_agrees_and_approves(program, ada, project):
    assert await ada.call("coder.watch", {}) == {"sessions": []}
    started = await asked(program, project)
    session_id = started["session_id"]
    assert (started["state"], started["needs_you"], started["requested_engine"]) == (
        "contract_proposed",
        "contract",
        ENGINE,
    )
    assert started["baseline"][0]["check_class"] == "goal"
    assert (await event(ada, "changed", state="contract_proposed", live=False))["session_id"] == session_id

    for method, params in (("coder.confirm_contract", {}), ("coder.approve_merge", {"approve": True})):
        with pytest.raises(WireError, match="is for a human") as refused:
            await program.call(method, {"session_id": session_id, **params})
        assert refused.value.code == -32003

    subscribed = await program.call("coder.subscribe", {"session_id": session_id, "from_seq": 0})
    assert subscribed["events_replayed"] > 3
    first = await event(program, "session_created")
    assert (first["session_id"], first["seq"], first["base"]) == (session_id, 1, started["base"])
    confirmed = await ada.call("coder.confirm_contract", {"session_id": session_id})
    assert confirmed["state"] in ("contract_confirmed", "running", "verifying", "needs_approval")
    verdict = await event(program, "verdict_reached")
    assert verdict["verdict"]["outcome"] == "verified"
    await event(program, "user_input_requested")
    assert (
        "+    return text.lower().replace(' ', '-')"
        in (await ada.call("coder.diff", {"session_id": session_id}))["diff"]
    )

    approved = await ada.call("coder.approve_merge", {"session_id": session_id, "approve": True})
    assert (approved["state"], approved["branch"]) == ("merged", "main")
    assert approved["commit"] == await project.bash("git rev-parse HEAD")
    assert (await event(program, "state_changed", state="merged"))["seq"] > verdict["seq"]
    (row,) = (await program.call("coder.list", {}))["sessions"]
    assert (row["session_id"], row["state"], row["needs_you"]) == (session_id, "merged", None)
    done = await program.call("coder.cancel", {"session_id": session_id})
    assert (done["already_terminal"], done["state"]) == (True, "merged")


async def test_what_is_wrong_is_told_by_its_own_error(program, ada, project):
    mistakes = [
        ({"repo": "/nowhere"}, "is no folder"),
        ({"repo": "."}, "is no folder"),
        ({"repo": "/proc/self/fd/0\0"}, "is no folder"),
        ({"base": "--upload-pack=touch planted"}, "--upload-pack=touch planted"),
        ({"model": "\ud800"}, "invalid params"),
        ({"timeout_secs": 0}, "timeout_secs"),
        ({"intent": " "}, "say what is to be done"),
        ({"engine": "command:nope-nope\n--flag"}, "no such program"),
        ({"engine": "nope"}, "nope"),
        ({"base": "no-such-commit"}, "no-such-commit"),
        ({"contract": {"description": "x", "checks": []}}, "cannot be used"),
        ({"contract": CONTRACT | {"setup": ["true"]}}, "human token"),
        ({"contract": CONTRACT | {"setup_env": ["HOME"], "setup": []}}, "human token"),
        ({"contract": CONTRACT | {"reuse": ["node_modules"]}}, "human token"),
        ({"contract": CONTRACT | {"checks": [{**CONTRACT["checks"][0], "network": True}]}}, "human token"),
        ({"network": "host"}, "human token"),
        ({"max_iterations": -1}, "max_iterations"),
        ({"contract": {"checks": 3}}, "contract"),
    ]
    told = await asyncio.gather(*(asked(program, project, **more) for more, _ in mistakes), return_exceptions=True)
    for error, (_, said) in zip(told, mistakes, strict=True):
        assert isinstance(error, WireError)
        assert said in error.message
    for session_id in ("", "../../x", "%", "\0"):
        with pytest.raises(WireError, match="there is no session"):
            await program.call("coder.cancel", {"session_id": session_id})
    for method in ("get", "cancel", "subscribe", "diff", "resume"):
        with pytest.raises(WireError, match="there is no session 'nope'"):
            await program.call(f"coder.{method}", {"session_id": "nope"})
    with pytest.raises(WireError, match="there is no session 'nope'"):
        await ada.call("coder.approve_merge", {"session_id": "nope", "approve": True})
    assert (await program.call("coder.list", {}))["sessions"] == []


async def test_a_contract_that_gates_nothing_is_not_agreed_to_until_it_is_another(program, ada, project):
    useless = {"description": "slugs", "checks": [{"name": "words", "command": "python3 -c 'import slug'"}]}
    started = await asked(program, project, contract=useless)
    session_id = started["session_id"]
    assert (started["state"], started["baseline_gates_nothing"]) == ("contract_proposed", True)
    with pytest.raises(WireError, match="already green"):
        await ada.call("coder.confirm_contract", {"session_id": session_id})
    with pytest.raises(WireError, match="is contract_proposed, and not needs_approval"):
        await ada.call("coder.approve_merge", {"session_id": session_id, "approve": True})
    revised = await program.call("coder.revise_contract", {"session_id": session_id, "request": "run the suite"})
    assert (revised["revised"], revised["state"]) == (False, "contract_proposed")
    assert "no model to revise the contract" in revised["message"]
    agreed = await ada.call("coder.confirm_contract", {"session_id": session_id, "contract": CONTRACT})
    assert [check["name"] for check in agreed["contract"]["checks"]] == ["suite"]
    cancelled = await program.call("coder.cancel", {"session_id": session_id, "reason": "enough"})
    assert (cancelled["state"], cancelled["message"]) == ("abandoned", "cancelled: enough")


async def test_whoever_watches_no_more_is_told_no_more(program, daemon, project, lines):
    watcher = lines()
    await watcher.client.call("session.auth", {"token": "for-programs"})
    await watcher.client.call(
        "server.handshake", {"client_version": "0", "protocol_version": 3, "required_capabilities": []}
    )
    await watcher.client.call("coder.watch", {})
    assert await watcher.client.call("coder.watch", {"renew": True}) == {"was_registered": True}
    assert watcher.connection in daemon.coding.watchers
    await watcher.leave()
    assert watcher.connection not in daemon.coding.watchers
    assert await program.call("coder.unwatch", {}) == {"unsubscribed": False}


async def test_a_session_is_followed_and_left_by_the_beginning_of_its_id(program, project):
    session_id = (await asked(program, project))["session_id"]
    await program.call("coder.subscribe", {"session_id": session_id[:-1]})
    assert await program.call("coder.unsubscribe", {"session_id": session_id[:-1]}) == {"unsubscribed": True}


async def test_a_daemon_that_is_killed_leaves_no_process_and_its_sessions_can_be_gone_on_with(tmp_path, project):
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    environ = {"XDG_DATA_HOME": str(tmp_path / "data")}
    async with serving("--no-auth", **environ) as served, over_a_socket(served.url) as client:
        session_id = (await asked(client, project, engine="command:sleep 987654"))["session_id"]
        await client.call("coder.subscribe", {"session_id": session_id})
        agreed = await client.begin("coder.confirm_contract", {"session_id": session_id})
        await event(client, "state_changed", state="running")
        await until(lambda: processes(b"sleep\0987654"), True)
        os.kill(served.process.pid, signal.SIGKILL)
        await until(lambda: processes(b"sleep\0987654") or processes(session_id.encode()), False)
        agreed.cancel()
    async with serving("--no-auth", **environ) as served, over_a_socket(served.url) as client:
        left = await client.call("coder.get", {"session_id": session_id})
        assert (left["state"], left["live"]) == ("running", False)
        (row,) = (await client.call("coder.watch", {}))["sessions"]
        assert (row["session_id"], row["live"]) == (session_id, False)
        resumed = await client.call("coder.resume", {"session_id": session_id})
        assert (resumed["session_id"], resumed["live"]) == (session_id, True)
        heard = await client.call("coder.respond", {"session_id": session_id, "steer": True, "text": "hurry"})
        assert heard["ok"] is True
        with pytest.raises(WireError, match="there is nothing to say"):
            await client.call("coder.respond", {"session_id": session_id, "steer": True, "text": " "})
        assert (await client.call("coder.cancel", {"session_id": session_id}))["state"] == "abandoned"
        while (told := await client.next_told())["params"]["session"]["state"] != "abandoned":
            pass
        assert told["method"] == "coder.session_changed"


def processes(marked: bytes) -> bool:
    """Whether any process has this in its command line."""
    return any(marked in line for line in map(command_line, Path("/proc").glob("[0-9]*/cmdline")))


def command_line(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


async def until(there, wanted: bool) -> None:
    async with asyncio.timeout(20):
        while there() is not wanted:
            await asyncio.sleep(0.05)


async def test_cars_own_client_drives_a_session(tmp_path, project):
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    pytest.importorskip("car_runtime", reason="car-runtime is not installed; it has no wheel for every platform")
    car_home = tmp_path / "car"
    car_home.mkdir()
    async with serving(XDG_DATA_HOME=str(tmp_path / "data")) as served:
        (car_home / "ai.parslee.car").symlink_to(Path(served.where["token_file"]).parent)
        environ = {"CAR_DAEMON_URL": served.url, "CAR_HOME": str(car_home), "CAR_NO_VERSION_WARNING": "1"}
        argv = (sys.executable, str(PROGRAM), str(project.root), ENGINE, json.dumps(CONTRACT))
        finished = await run(Command(argv=argv, env=os.environ | environ, cwd=tmp_path, timeout_secs=120))
    assert finished.exit_code == 0, finished.stderr.tail(4000)
    got = json.loads(finished.stdout.tail(100_000).splitlines()[-1])
    assert (got["started"]["state"], got["started"]["baseline_gates_nothing"]) == ("contract_proposed", False)
    assert got["refused"].startswith("-32003 approval denied")
    assert got["verified"]["verdict"]["outcome"] == "verified"
    assert got["approved"]["state"] == "merged"
    assert got["approved"]["commit"] == await project.bash("git rev-parse HEAD")
    assert [each["state"] for each in got["listed"]["sessions"]] == ["merged"]
    assert (got["cancelled"]["already_terminal"], got["cancelled"]["state"]) == (True, "merged")
