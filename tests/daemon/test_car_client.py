"""CAR's own client, as it is published, against a real daemon."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from daemon_clients import serving
from trueup.core.process import Command, run

PROGRAM = Path(__file__).with_name("car_client.py")


async def test_it_registers_runs_submits_and_reads(tmp_path):
    """It finds the tokens where CAR keeps its own."""
    car_home = tmp_path / "car"
    car_home.mkdir()
    async with serving(XDG_DATA_HOME=str(tmp_path / "data")) as served:
        (car_home / "ai.parslee.car").symlink_to(Path(served.where["token_file"]).parent)
        environ = {"CAR_DAEMON_URL": served.url, "CAR_HOME": str(car_home), "CAR_NO_VERSION_WARNING": "1"}
        argv = (sys.executable, str(PROGRAM))
        finished = await run(Command(argv=argv, env=os.environ | environ, cwd=tmp_path, timeout_secs=60))
    assert finished.exit_code == 0, finished.stderr.tail(4000)
    got = json.loads(finished.stdout.tail(100_000).splitlines()[-1])

    assert [(each["name"], each["source"]) for each in got["tools"]] == [
        ("drive_cli", "user_defined"),
        ("search", "user_defined"),
    ]
    assert [each["name"] for each in got["policies"]] == ["no-destructive"]
    assert got["state"] == ["[1]", True, False, ["k"], '{"k":[1]}']

    refusal = "policy 'no-destructive': param 'prompt' matches denied pattern 'rm -rf'"
    assert [(each["action_id"], each["message"]) for each in got["verified"]["issues"]] == [("a2", refusal)]
    assert not got["verified"]["valid"]
    assert [each["status"] for each in got["executed"]["results"]] == ["succeeded", "rejected"]
    assert got["executed"]["results"][1]["error"] == refusal
    assert [each["status"] for each in got["submitted"]["results"]] == ["succeeded"]
    assert [(each["tool"], each["params"], each["action_id"]) for each in got["asked"]] == [
        ("drive_cli", {"prompt": "mend it"}, "a1")
    ] * 2

    records = got["trace"]["records"]
    assert [record["kind"] for record in records] == ["started", "turn", "turn", "turn", "model_turn", "ended"]
    assert sorted((record["prompt"], record["policy_rejected"] is None) for record in records[1:4]) == [
        ("mend it", True),
        ("mend it", True),
        ("rm -rf /", False),
    ]
    assert [record["index"] for record in records[1:5]] == [0, 1, 2, 3]
    assert (got["model_turn"]["ok"], got["completed"]["ok"], got["trace"]["cursor"]) == (True, True, 6)
    assert [(each["status"], each["turn_count"], each["agent_id"]) for each in got["runs"]["runs"]] == [
        ("completed", 4, "ann")
    ]
    assert got["removed"] == [1, 1, 0]
    assert got["refused"] == [-32601, "unknown method: frob"]
