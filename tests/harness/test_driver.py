"""What every harness has from the one who drives it: a version, and lines that cannot do harm."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from coded import is_running
from trueup.core.errors import InputError
from trueup.core.process import Command, Process
from trueup.core.protocols import Event
from trueup.harness import HarnessRequest, HarnessResult, Status, find_harness

CODEX = """#!/bin/sh
if [ "$1" = --version ]; then echo asked >> {folder}/asked; {version}; exit; fi
{before}
echo '{{"type":"thread.started","thread_id":"t"}}'
echo '{{"type":"turn.completed","usage":{{"input_tokens":3}}}}'
"""
TELLS = "echo codex-cli {}"


class Here:
    """Starts programs as they are; forgets what is recorded."""

    @asynccontextmanager
    async def launch(self, command: Command):
        async with Process(command) as process:
            yield process

    async def record(self, event: Event) -> None: ...


class Codex:
    """A codex that counts how often it is asked for its version."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environ = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder)}

    def install(self, version: str = TELLS.format("0.163.0"), before: str = "sleep 0.2") -> None:
        program = self._folder / "codex"
        # A new file each time, as an installer would put it there.
        program.unlink(missing_ok=True)
        program.write_text(CODEX.format(folder=self._folder, version=version, before=before))
        program.chmod(0o755)

    async def run(self) -> HarnessResult:
        request = HarnessRequest(prompt="do it", cwd=str(self._folder))
        return await find_harness("codex", self.environ).run(request, Here(), Here())

    @property
    def times_asked(self) -> int:
        file = self._folder / "asked"
        return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.fixture
def codex(tmp_path) -> Codex:
    return Codex(tmp_path)


async def test_a_version_that_the_agent_does_not_tell_is_asked_for_once(codex):
    codex.install()
    first = await codex.run()
    second = await codex.run()
    assert [result.version for result in (first, second)] == ["0.163.0", "0.163.0"]
    assert codex.times_asked == 1


async def test_many_runs_at_once_ask_once(codex):
    codex.install(before="sleep 0.5")
    results = await asyncio.gather(*(codex.run() for _ in range(6)))
    assert {result.version for result in results} == {"0.163.0"}
    assert codex.times_asked == 1


async def test_another_program_file_is_another_version(codex):
    codex.install()
    await codex.run()
    codex.install(TELLS.format("0.170.0"))
    assert (await codex.run()).version == "0.170.0"


async def test_what_a_probe_found_out_need_not_be_asked_again(codex):
    codex.install()
    await find_harness("codex", codex.environ).probe()
    assert ((await codex.run()).version, codex.times_asked) == ("0.163.0", 1)


@pytest.mark.parametrize("version", ["sleep 60", "exit 3", "kill -9 $$", "printf '\\377\\376'"])
async def test_a_version_that_does_not_come_neither_delays_nor_fails_a_run(codex, version):
    codex.install(version)
    async with asyncio.timeout(10):
        result = await codex.run()
    assert (result.status, result.version) == (Status.OK, None)
    assert result.duration_secs < 5


async def test_a_version_that_did_not_come_is_asked_for_again(codex):
    codex.install("sleep 60")
    await codex.run()
    await codex.run()
    assert codex.times_asked == 2


async def test_an_end_is_not_held_up_by_what_the_agent_leaves_behind_and_nothing_of_it_stays(codex):
    nap = f"{5000 + os.getpid()}.75"
    codex.install(before=f"trap '' TERM\nsetsid sleep {nap} &")
    async with asyncio.timeout(10):
        result = await codex.run()
    assert result.status is Status.OK
    assert not is_running(nap)


async def test_a_last_word_of_several_megabytes_is_understood(tmp_path):
    denied = [{"tool_name": "Write", "tool_use_id": str(n), "tool_input": {"content": "x" * 400_000}} for n in range(5)]
    last = {"type": "result", "subtype": "success", "is_error": False, "permission_denials": denied}
    (tmp_path / "line").write_text(json.dumps(last) + "\n")
    program = tmp_path / "claude"
    # As the real one does, it stays as long as more may be said to it.
    program.write_text("#!/bin/sh\ncat line\ncat >/dev/null\n")
    program.chmod(0o755)
    request = HarnessRequest(prompt="x", cwd=str(tmp_path), timeout_secs=5)
    result = await find_harness("claude-code", {"PATH": f"{tmp_path}:/usr/bin:/bin"}).run(request, Here(), Here())
    assert (result.status, len(result.denied)) == (Status.OK, 5)


async def test_an_agent_that_is_killed_is_told_by_how_and_by_the_beginning_of_its_last_record(tmp_path):
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\nprintf \'{"type":"assistant","x":"%02000d"}\\n\' 7\nkill -9 $$\n')
    program.chmod(0o755)
    request = HarnessRequest(prompt="x", cwd=str(tmp_path))
    result = await find_harness("claude-code", {"PATH": f"{tmp_path}:/usr/bin:/bin"}).run(request, Here(), Here())
    assert (result.status, result.signal) == (Status.FAILED, 9)
    beginning = 'the agent ended (signal 9) without a record of success: {"type":"assistant","x":"000'
    assert result.error.startswith(beginning)


@pytest.mark.parametrize("depth", [300, 100_000])
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("claude-code", '{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"a":', "}}]}}"),
        ("codex", '{"type":"item.completed","item":{"type":"command_execution","id":"1","arguments":', "}}"),
        ("codex-goes-on", '{"id":"config/read","result":{"config":', "}}"),
    ],
)
async def test_a_record_that_is_nested_too_deeply_to_be_kept_is_none(tmp_path, name, before, after, depth):
    (tmp_path / "line").write_text(before + "[" * depth + "]" * depth + after + "\n")
    program = tmp_path / {"claude-code": "claude"}.get(name, "codex")
    program.write_text('#!/bin/sh\ncat line\necho \'{"type":"result","subtype":"success","is_error":false}\'\n')
    program.chmod(0o755)
    heard = Heard()
    request = HarnessRequest(prompt="x", cwd=str(tmp_path), resume="t" if name == "codex-goes-on" else None)
    harness = find_harness(name.removesuffix("-goes-on"), {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    result = await harness.run(request, Here(), heard)
    assert result.status is (Status.OK if name == "claude-code" else Status.FAILED)
    assert heard.events == []


class Heard(Here):
    """Keeps what is recorded."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def record(self, event: Event) -> None:
        self.events.append(event)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("claude", "did you mean 'claude-code'?"),
        ("codx", "did you mean 'codex'?"),
        ("nobody", "name one of claude-code, codex"),
        ("native", "`trueup code --engine native`"),
        ("auto", "`trueup code --engine auto`"),
        ("command:cat", "`trueup code --engine command:cat`"),
    ],
)
def test_a_name_that_is_no_harness_is_refused_with_what_there_is(tmp_path, name, told):
    with pytest.raises(InputError, match="unknown agent") as refused:
        find_harness(name, {"PATH": "/usr/bin", "HOME": str(tmp_path)}, tmp_path)
    assert told in str(refused.value)


async def test_a_program_is_the_one_that_path_names_from_here_wherever_it_works(tmp_path, monkeypatch, codex):
    codex.install()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    harness = find_harness("codex", {"PATH": ".:/usr/bin:/bin"})
    result = await harness.run(HarnessRequest(prompt="x", cwd=str(tmp_path / "elsewhere")), Here(), Here())
    assert result.status is Status.OK
