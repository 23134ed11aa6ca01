"""The scripted model as a program, for tests that are not written in Python."""

from __future__ import annotations

import json
import sys

import aiohttp
import pytest

from trueup.core.process import Command, Process, run

PROGRAM = (sys.executable, "-m", "trueup.testing.model")


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "script.txt"
    file.write_text("say hello from the script\nfault 401\n")
    return str(file)


async def test_it_prints_its_address_and_what_it_is_asked_and_ends_with_its_stdin(script):
    command = Command(argv=(*PROGRAM, "--script", script, "--port", "0", "--until-eof"), stdin=None)
    async with Process(command) as process, aiohttp.ClientSession() as http:
        lines = process.lines()
        url = json.loads(await anext(lines))["url"]
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        async with http.post(f"{url}/v1/messages", json=body) as reply:
            assert (await reply.json())["content"][0]["text"] == "hello from the script"
        async with http.post(f"{url}/v1/messages", json=body) as reply:
            assert reply.status == 401
        told = json.loads(await anext(lines))
        process.close_stdin()
        finished = await process.wait()
    assert (told["api"], told["prompt"], told["aside"]) == ("anthropic", "hi", False)
    assert finished.exit_code == 0


async def test_it_ends_when_it_is_asked_to():
    async with Process(Command(argv=(*PROGRAM, "--quiet"), grace_secs=20)) as process:
        assert "url" in json.loads(await anext(process.lines()))
        process.stop()
        finished = await process.wait()
    assert finished.exit_code == 0


async def test_a_script_with_a_mistake_is_refused(tmp_path):
    (tmp_path / "s").write_text("dance\n")
    finished = await run(Command(argv=(*PROGRAM, "--script", str(tmp_path / "s"))))
    assert finished.exit_code == 2
    assert "dance" in finished.stderr.text
