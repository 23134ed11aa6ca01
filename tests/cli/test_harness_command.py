"""`trueup harness` as a user calls it, with scripted agents in place of the real ones."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from coded import TRUEUP, is_running, json_lines
from trueup.core.process import Command, Process, run
from trueup.testing import ScriptedAgent

WORK = "think hm\nshell echo hi > made.txt\nsay DONE"
NAMES = {"claude": "claude-code", "codex": "codex"}
PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    """A folder for agents on a PATH that has no others."""
    folder = tmp_path / "agents"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{PLAIN_PATH}")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return folder


@pytest.fixture
def install(path):
    """Puts a scripted agent where a real one would be; gives the name of its harness."""

    def put(program: str = "claude", script: str | None = WORK) -> str:
        ScriptedAgent(script, speak=program).install(path / program)
        return NAMES[program]

    return put


async def test_the_list_says_which_agents_are_there_and_how_to_get_the_others(trueup, install):
    install("claude")
    finished = await trueup("harness", "list", "--json", ANTHROPIC_API_KEY="sk-x")
    claude, codex = json.loads(finished.stdout.text)[:2]
    assert (claude["harness"], claude["installed"], claude["logged_in"]) == ("claude-code", True, True)
    assert (codex["harness"], codex["installed"]) == ("codex", False)
    assert "npm install" in codex["note"]
    assert (claude["capabilities"]["budget_usd"], codex["capabilities"]["budget_usd"]) == (True, False)
    assert finished.exit_code == 0


async def test_the_list_says_what_each_agent_can_be_asked_for_and_names_broken_plugins(trueup, tmp_path):
    info = tmp_path / "plugin" / "parrots-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trueup.harnesses]\nparrot = parrots:Parrot\n")
    finished = await trueup("harness", "list", PYTHONPATH=str(info.parent))
    lines = finished.stdout.text.splitlines()
    goose = next(number for number, line in enumerate(lines) if line.startswith("goose  "))
    assert lines[goose + 1].startswith(
        "    modes full · resume · system prompt appended · tells usage, tools · limits turns"
    )
    assert "plugin 'parrot' of parrots is left out: ModuleNotFoundError" in finished.stderr.text
    assert finished.exit_code == 0


async def test_an_agent_that_can_be_used_is_told_with_its_version_and_place(trueup, install, path):
    name = install("claude")
    finished = await trueup("harness", "probe", name, ANTHROPIC_API_KEY="sk-x")
    assert finished.exit_code == 0
    assert finished.stdout.text == f"claude-code  2.1.325  logged in (by ANTHROPIC_API_KEY)  {path / 'claude'}\n"


async def test_an_agent_that_is_not_logged_in_exits_three_and_says_how_to(trueup, install):
    finished = await trueup("harness", "probe", install("claude"))
    assert finished.exit_code == 3
    assert "not logged in: run `claude` once and sign in, or set ANTHROPIC_API_KEY" in finished.stdout.text


async def test_an_agent_that_is_not_installed_exits_three(trueup, path):
    finished = await trueup("harness", "probe", "codex", "--json")
    assert finished.exit_code == 3
    assert json.loads(finished.stdout.text)["installed"] is False


@pytest.mark.parametrize("program", ["claude", "codex"])
async def test_the_answer_is_on_stdout_and_everything_else_on_stderr(trueup, install, tmp_path, program):
    name = install(program)
    finished = await trueup("harness", "run", name, "do it")
    assert (finished.exit_code, finished.stdout.text) == (0, "DONE\n")
    first, call, last = finished.stderr.text.splitlines()
    assert first == f"{name} works in {tmp_path} as you, without a sandbox; mode read_only"
    assert "echo hi > made.txt" in call
    assert last.startswith("ok: session ")
    assert (tmp_path / "made.txt").read_text() == "hi\n"


@pytest.mark.parametrize("program", ["claude", "codex"])
async def test_json_is_the_whole_result(trueup, install, program):
    name = install(program)
    finished = await trueup("harness", "run", name, "do it", "--json")
    told = json.loads(finished.stdout.text)
    assert (told["harness"], told["status"], told["text"], told["failure_kind"]) == (name, "ok", "DONE", None)
    assert told["session_id"]
    assert told["usage"]["output_tokens"] == 150


async def test_a_stream_is_every_event_and_then_the_result(trueup, install):
    lines = json_lines(await trueup("harness", "run", install(), "do it", "--stream"))
    kinds = [line["type"] for line in lines if line["type"] != "usage_reported"]
    assert kinds == ["session_named", "reasoning", "tool_call", "tool_result", "message", "result"]
    assert lines[-1]["status"] == "ok"


async def test_a_stream_comes_while_the_agent_works(install, tmp_path):
    argv = (TRUEUP, "harness", "run", install(script="say begun\nhang"), "do it", "--stream")
    async with Process(Command(argv=argv, cwd=tmp_path)) as process, asyncio.timeout(30):
        async for line in process.lines():
            if json.loads(line)["type"] == "message":
                assert json.loads(line)["text"] == "begun"
                break


@pytest.mark.parametrize(
    ("script", "exit_code", "status", "kind"),
    [
        ("error rate_limit slow down", 1, "failed", "rate_limit"),
        ("error auth who are you", 3, "failed", "auth"),
        ("say DONE\nexit 0", 1, "failed", "protocol"),
        ("say DONE\nkill KILL", 1, "failed", "protocol"),
    ],
)
async def test_success_is_what_the_agent_recorded_as_such_and_nothing_else(
    trueup, install, script, exit_code, status, kind
):
    finished = await trueup("harness", "run", install(script=script), "do it", "--json")
    told = json.loads(finished.stdout.text)
    assert (finished.exit_code, told["status"], told["failure_kind"]) == (exit_code, status, kind)
    assert told["error"]


async def test_a_failure_is_told_on_stderr_with_its_kind(trueup, install):
    finished = await trueup("harness", "run", install(script="error rate_limit slow down"), "do it")
    assert finished.stdout.text == ""
    assert "error: rate_limit: " in finished.stderr.text
    assert "slow down" in finished.stderr.text


async def test_a_login_that_is_missing_is_told_with_the_remedy(trueup, install):
    finished = await trueup("harness", "run", install(script="error auth who are you"), "do it")
    assert finished.exit_code == 3
    assert "claude-code is not logged in: run `claude` once" in finished.stderr.text


async def test_a_missing_agent_exits_three_and_says_how_to_install_it(trueup, path):
    finished = await trueup("harness", "run", "codex", "do it")
    assert finished.exit_code == 3
    assert "error: spawn: codex is not installed: " in finished.stderr.text
    assert "npm install -g @openai/codex" in finished.stderr.text


@pytest.mark.parametrize("limit", ["--timeout", "--idle-timeout"])
async def test_an_agent_that_hangs_is_ended_in_time(trueup, install, limit):
    finished = await trueup("harness", "run", install(script="say begun\nhang"), "do it", limit, "1", "--json")
    told = json.loads(finished.stdout.text)
    assert (finished.exit_code, told["status"], told["failure_kind"]) == (1, "timed_out", "timeout")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_run_exits_130_and_leaves_nothing(install, tmp_path, how):
    nap = f"{4000 + os.getpid()}.{how.value}"
    argv = (TRUEUP, "harness", "run", install(script=f"daemon sleep {nap}\nwrite started x\nhang"), "do it")
    async with Process(Command(argv=argv, cwd=tmp_path)) as process, asyncio.timeout(30):
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.02)
        os.kill(process.pid, how)
        finished = await process.wait()
    assert finished.exit_code == 130
    where = f"interrupted; what it did so far is in {tmp_path}; go on with: trueup harness run claude-code --resume "
    assert finished.stderr.text.splitlines()[-2].startswith(where)
    assert finished.stderr.text.splitlines()[-1].startswith("cancelled: session ")
    assert not is_running(nap)


@pytest.mark.parametrize("form", ["--json", "--stream", "--compact"])
async def test_an_interrupted_run_tells_programs_by_which_id_it_can_go_on(install, tmp_path, form):
    argv = (TRUEUP, "harness", "run", install(script="write started x\nhang"), "do it", form)
    async with Process(Command(argv=argv, cwd=tmp_path), lines=False) as process, asyncio.timeout(30):
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.02)
        os.kill(process.pid, signal.SIGTERM)
        finished = await process.wait()
    told = json.loads(finished.stdout.text if form == "--json" else finished.stdout.text.splitlines()[-1])
    told = told["results"][0] if form == "--compact" else told
    assert (finished.exit_code, told["status"], told["error"]) == (130, "cancelled", "interrupted")
    assert told["session_id"]


async def test_what_is_printed_to_nobody_ends_the_run_and_the_agent(install, tmp_path):
    nap = f"{6000 + os.getpid()}.5"
    name = install(script=f"daemon sleep {nap}\n" + "say more\n" * 40 + "shell sleep 0.2\nsay DONE\nhang")
    line = f"'{TRUEUP}' harness run {name} x --stream | head -n 1"
    async with asyncio.timeout(30):
        finished = await run(Command(shell=line, cwd=tmp_path))
    assert json.loads(finished.stdout.text)["type"] == "session_named"
    assert finished.stderr.text.splitlines()[1:] == []
    assert not is_running(nap)


async def test_the_agent_works_in_the_folder_that_is_named(trueup, install, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    await trueup("harness", "run", install(), "do it", "--cwd", "elsewhere")
    assert (tmp_path / "elsewhere" / "made.txt").exists()


async def test_the_agent_does_not_see_the_environment_in_which_trueup_is_installed(trueup, install, tmp_path, path):
    name = install(script='shell echo "$PATH/$VIRTUAL_ENV" > seen.txt\nsay DONE')
    own = Path(sys.executable).parent
    await trueup("harness", "run", name, "do it", PATH=f"{own}:{path}:{PLAIN_PATH}", VIRTUAL_ENV=str(own.parent))
    assert (tmp_path / "seen.txt").read_text() == f"{path}:{PLAIN_PATH}/\n"


async def test_a_session_is_resumed_by_its_id(trueup, install):
    name, session = install(), "12345678-1234-1234-1234-123456789abc"
    finished = await trueup("harness", "run", name, "go on", "--resume", session, "--json")
    assert json.loads(finished.stdout.text)["session_id"] == session


async def test_model_mode_and_limits_reach_the_agent(trueup, path, tmp_path):
    program = path / "claude"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > words.txt\n')
    program.chmod(0o755)
    limits = ("--turns", "7", "--budget-usd", "0.5")
    await trueup("harness", "run", "claude-code", "do it", "--model", "opus", "--mode", "edit", *limits)
    words = (tmp_path / "words.txt").read_text().splitlines()
    wanted = {"--model=opus", "--permission-mode=acceptEdits", "--max-turns=7", "--max-budget-usd=0.5"}
    assert wanted <= set(words)
    assert "--setting-sources=" in words


async def test_the_users_configuration_is_carried_only_when_asked_for(trueup, path, tmp_path):
    program = path / "claude"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > words.txt\n')
    program.chmod(0o755)
    await trueup("harness", "run", "claude-code", "do it", "--agent-config", "user")
    assert "--setting-sources=user" in (tmp_path / "words.txt").read_text().splitlines()


async def test_an_answer_cannot_act_on_a_terminal(trueup, install):
    finished = await trueup("harness", "run", install(script='say "\\u001b[2Jgone"'), "do it")
    assert finished.stdout.text == "\\x1b[2Jgone\n"


async def test_json_lines_are_utf8_in_every_locale(trueup, install):
    finished = await trueup(
        "harness", "run", install(script='say "naïve 😀"'), "x", "--stream", PYTHONIOENCODING="latin-1"
    )
    assert json_lines(finished)[-1]["text"] == "naïve 😀"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which agent?"),
        (("claude-code",), "there is no prompt"),
        (("claude-code", " "), "there is no prompt"),
        (("claude-code", "two", "words"), "too many words"),
        (("nobody", "x"), "unknown agent 'nobody'"),
        (("claude-code", "x", "--timeout", "nan"), "nan is not a number of seconds"),
        (("claude-code", "x", "--timeout", "-1"), "-1 is not a number of seconds"),
        (("claude-code", "x", "--idle-timeout", "soon"), "soon is not a number of seconds"),
        (("claude-code", "--prompt-file", "-"), "there is no prompt"),
        (("claude-code", "x", "--system-file", "missing.md"), "missing.md: No such file"),
        (("claude-code", "x", "--system-file", "."), "Is a directory"),
        (("claude-code", "x", "--prompt-file", "p.txt"), "the prompt is given twice"),
        (("claude-code", "--prompt-file", "missing.txt"), "missing.txt: No such file"),
        (("claude-code", "x", "--system", "a", "--system-file", "b"), "the system prompt is given twice"),
        (("claude-code", "--prompt-file", "-", "--system-file", "-"), "stdin can be read once"),
        (("claude-code", "x", "--compact", "--json"), "choose"),
        (("codex", "x", "--budget-usd", "1"), "codex cannot do what is asked of it: it knows no limit of dollars"),
        (("goose", "x"), "goose cannot do what is asked of it: nothing would keep it to mode 'read_only'"),
        (("codex", "x", "--mode", "anything"), "is not one of"),
        (("codex", "x", "--cwd", "nowhere"), "does not exist"),
    ],
)
async def test_bad_input_exits_two_before_anything_is_started(trueup, path, arguments, message):
    finished = await trueup("harness", "run", *arguments)
    told = finished.stderr.text + finished.stdout.text
    assert finished.exit_code == 2
    assert message in told
    assert "works in" not in told


class TestAsOneharness:
    """The argv and the envelope of oneharness."""

    async def test_a_good_run_is_one_line_with_the_text(self, trueup, install):
        name = install()
        words = ("harness", "run", "--harness", name, "--compact", "--timeout", "60", "--prompt-file", "-")
        finished = await trueup(*words, stdin=b"do it")
        assert (finished.exit_code, finished.stdout.text.count("\n")) == (0, 1)
        [told] = json.loads(finished.stdout.text)["results"]
        assert (told["harness"], told["status"], told["text"], told["exit_code"]) == (name, "ok", "DONE", 0)
        assert (told["error"], told["failure_kind"], told["stderr"]) == (None, None, "")
        assert told["usage"] == {
            "input_tokens": 3000,
            "output_tokens": 150,
            "cache_read_tokens": 600,
            "cache_write_tokens": 0,
            "cost_usd": 0.01125,
        }
        assert isinstance(told["session_id"], str)
        assert isinstance(told["duration_ms"], int)

    async def test_a_prompt_and_a_system_prompt_may_be_larger_than_an_argument(self, trueup, install, tmp_path):
        (tmp_path / "system.md").write_text("be brief\n" * 20_000)
        prompt = f"{'x' * 200_000}\nSCRIPT: say HEARD\n".encode()
        words = ("--harness", install(script=None), "--compact", "--prompt-file", "-", "--system-file", "system.md")
        finished = await trueup("harness", "run", *words, stdin=prompt)
        assert json.loads(finished.stdout.text)["results"][0]["text"] == "HEARD"

    @pytest.mark.parametrize(
        ("script", "status", "kind"),
        [
            ("error rate_limit slow down", "nonzero", "rate_limit"),
            ("error auth who are you", "nonzero", "auth"),
            ("hang", "timeout", "timeout"),
        ],
    )
    async def test_a_failure_is_told_in_its_words_and_exits_one(self, trueup, install, script, status, kind):
        words = ("--harness", install(script=script), "--compact", "--timeout", "1", "--prompt-file", "-")
        finished = await trueup("harness", "run", *words, stdin=b"do it")
        [told] = json.loads(finished.stdout.text)["results"]
        assert (finished.exit_code, told["status"], told["failure_kind"]) == (1, status, kind)
        assert (told["text"], bool(told["error"])) == (None, True)

    async def test_a_missing_agent_is_skipped(self, trueup, path):
        words = ("--harness", "codex", "--compact", "--timeout", "0", "--prompt-file", "-")
        finished = await trueup("harness", "run", *words, stdin=b"do it")
        [told] = json.loads(finished.stdout.text)["results"]
        assert (finished.exit_code, told["status"]) == (1, "skipped")
        assert "not installed" in told["error"]

    async def test_an_agent_that_says_nothing_has_no_answer_that_a_caller_could_take_for_one(self, trueup, install):
        words = ("--harness", install(script="shell true"), "--compact", "--prompt-file", "-")
        finished = await trueup("harness", "run", *words, stdin=b"do it")
        [told] = json.loads(finished.stdout.text)["results"]
        assert (told["status"], told["text"], told["stdout"]) == ("ok", None, "")


async def test_a_plugin_that_breaks_when_it_is_looked_for_does_not_hide_the_others(trueup, tmp_path):
    info = tmp_path / "plugin" / "moody-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moody\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trueup.harnesses]\nmoody = moody:Moody\n")
    (info.parent / "moody.py").write_text(
        "from trueup.harness.agents import Capabilities, PromptedAgent\n"
        "class Moody(PromptedAgent):\n"
        "    name = program = install = 'moody'\n"
        "    capabilities = Capabilities()\n"
        "    def put(self, request): ...\n"
        "    def converse(self, request): ...\n"
        "    def program_in(self, environ): raise RuntimeError('not before noon')\n"
    )
    finished = await trueup("harness", "list", "--json", PYTHONPATH=str(info.parent))
    assert finished.exit_code == 0, finished.stderr.text
    listed = {each["harness"]: each for each in json.loads(finished.stdout.text)}
    assert "goose" in listed
    assert (listed["moody"]["installed"], listed["moody"]["note"]) == (False, "RuntimeError: not before noon")
