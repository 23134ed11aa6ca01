"""`trueup serve` as a user has it; what clients can do with it is shown in tests/daemon."""

from __future__ import annotations

import asyncio
import os
import socket

from aiohttp import web

from daemon_clients import TRUEUP, over_a_socket, serving
from trueup.core.process import Command, Process

POLICIES = """\
policies:
  - name: no-shell
    rule: deny_tool
    target: shell
"""


async def test_it_says_where_it_is_and_never_the_tokens(tmp_path, private_home):
    environ = os.environ | {"XDG_DATA_HOME": str(tmp_path)}
    command = Command(argv=(TRUEUP, "serve", "--port", "0"), env=environ, cwd=tmp_path, grace_secs=20)
    async with Process(command) as process:
        lines = process.lines()
        said = [await anext(lines) for _ in range(3)]
        process.stop()
        finished = await process.wait()
    folder = tmp_path / "trueup" / "daemon"
    assert said[0].startswith("listening at ws://127.0.0.1:")
    assert said[1:] == [f"token for programs: {folder}/auth-token", f"token for you: {folder}/host-token"]
    tokens = [(folder / name).read_text().strip() for name in ("auth-token", "host-token")]
    assert not any(token in finished.stdout.tail(5000) + finished.stderr.tail(5000) for token in tokens)
    assert finished.exit_code == 0


async def test_everything_it_was_told_holds(tmp_path):
    """A repository's policies, another database, a collector: one start for all of them."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".trueup").mkdir()
    (tmp_path / ".trueup" / "policy.yaml").write_text(POLICIES)
    received: asyncio.Queue[str] = asyncio.Queue()

    async def collect(request: web.Request) -> web.Response:
        received.put_nowait(request.path)
        await request.read()
        return web.Response()

    application = web.Application()
    application.router.add_post("/v1/traces", collect)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    collector = f"http://127.0.0.1:{runner.addresses[0][1]}"
    options = ("--no-auth", "--database-url", f"sqlite:///{tmp_path}/x.db", "--otlp-endpoint", collector)
    async with serving(*options, cwd=tmp_path) as served, over_a_socket(served.url) as client:
        assert served.where["token_file"] is None
        assert [each["name"] for each in (await client.call("policy.list"))["policies"]] == ["no-shell"]
        await client.call("tools.register", [{"name": "shell"}])
        run_id = (await client.call("runs.start", {"intent": "x"}))["run_id"]
        action = {"id": "a", "type": "tool_call", "tool": "shell", "parameters": {}}
        result = await client.call("proposal.submit", {"proposal": {"actions": [action]}})
        assert result["results"][0]["error"] == "policy 'no-shell': tool 'shell' denied by policy"
        await client.call("runs.complete", {"run_id": run_id, "outcome": {}})
        assert await asyncio.wait_for(received.get(), 20) == "/v1/traces"
    assert (tmp_path / "x.db").exists()
    await runner.cleanup()


async def test_a_port_that_is_taken_is_told(trueup):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        finished = await trueup("serve", "--port", port, "--no-auth")
    assert finished.exit_code == 2
    assert f"port {port} is taken; is a daemon running already?" in finished.stderr.tail(2000)


async def test_a_bad_policy_file_refuses_to_start_and_names_the_line(trueup, tmp_path):
    (tmp_path / ".trueup").mkdir()
    (tmp_path / ".trueup" / "policy.yaml").write_text(POLICIES.replace("target", "targt"))
    finished = await trueup("serve", "--port", "0", "--no-auth", cwd=tmp_path)
    assert finished.exit_code == 2
    assert "policy.yaml:4" in finished.stderr.tail(2000)


async def test_a_bad_database_is_told(trueup):
    finished = await trueup("serve", "--port", "0", "--no-auth", "--database-url", "nonsense")
    assert finished.exit_code == 2
    assert "'nonsense' is no database" in finished.stderr.tail(2000)
