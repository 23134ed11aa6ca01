"""`trueup contract`, `trueup schema` and `trueup config` as a user calls them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trueup.core.process import Command, Process, run

PROGRAM = str(Path(sys.executable).with_name("trueup"))
GOOD = "description: it works\nchecks:\n- name: suite\n  command: pytest -q\n"
ANSWER = '{"description": "done", "checks": [{"name": "suite", "command": "pytest -q"}]}'


@pytest.fixture
def contract_file(tmp_path):
    def write(text: str, name: str = "contract.yaml") -> str:
        (tmp_path / name).write_text(text)
        return name

    return write


async def test_a_valid_contract_exits_zero(trueup, contract_file):
    finished = await trueup("contract", "validate", contract_file(GOOD))
    assert (finished.exit_code, finished.stdout.text) == (0, "contract.yaml: valid, 1 check\n")


async def test_a_contract_with_problems_exits_one_and_lists_them(trueup, contract_file):
    bad = GOOD.replace("pytest -q", "cargo --version")
    finished = await trueup("contract", "validate", contract_file(bad))
    assert finished.exit_code == 1
    assert "problem: check 'suite' is a toolchain-only no-op" in finished.stdout.text


async def test_a_weak_contract_is_valid_and_its_weakness_shown(trueup, contract_file):
    finished = await trueup("contract", "validate", contract_file(GOOD.replace("pytest -q", "'true'")), "--json")
    told = json.loads(finished.stdout.text)
    assert (finished.exit_code, told["valid"]) == (0, True)
    assert told["weaknesses"] == ["check 'suite' does nothing that could fail"]


async def test_one_problem_is_counted_as_one(trueup, contract_file):
    finished = await trueup("contract", "validate", contract_file(GOOD.replace("pytest -q", "''")))
    assert finished.stdout.text.endswith("contract.yaml: 1 problem\n")


async def test_a_malformed_contract_exits_two_with_the_place(trueup, contract_file):
    finished = await trueup("contract", "validate", contract_file(GOOD + "  timeout_sec: 5\n"))
    assert finished.exit_code == 2
    assert finished.stderr.text == (
        "error: contract.yaml:5:3: unknown key 'timeout_sec' in checks[0] ('suite'); did you mean 'timeout_secs'?\n"
    )


async def test_an_error_is_json_where_json_was_asked_for(trueup):
    finished = await trueup("contract", "show", "missing.yaml", "--json")
    assert finished.exit_code == 2
    assert json.loads(finished.stdout.text) == {"error": "missing.yaml: no such file", "kind": "input"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("contract", "validate", "--json"), "Missing argument 'FILE'."),
        (("contract", "validate", "--jsn", "--json"), "No such option '--jsn'."),
        (("contract", "derive", "x", "--json", "--repo", "nowhere"), "Directory 'nowhere' does not exist."),
        (("frobnicate", "--json"), "No such command 'frobnicate'."),
        (("contract", "derive", "--offline", "--json", "-o", "."), ".: is a folder; name the file to write"),
    ],
)
async def test_a_usage_error_is_json_too(trueup, tmp_path, arguments, message):
    (tmp_path / "Makefile").write_text("test:\n\t./run-tests\n")
    finished = await trueup(*arguments)
    told = json.loads(finished.stdout.text)
    assert (finished.exit_code, told["kind"], finished.stderr.text) == (2, "input", "")
    assert message in told["error"]


async def test_after_a_double_dash_a_word_is_no_option(trueup):
    finished = await trueup("contract", "show", "--", "--json")
    assert (finished.stdout.text, finished.stderr.text) == ("", "error: --json: no such file\n")


async def test_a_name_that_is_no_text_is_json_all_the_same(tmp_path):
    line = f"LC_ALL=C.UTF-8 '{PROGRAM}' contract show $'\\xff.yaml' --json"
    finished = await run(Command(shell=line, cwd=tmp_path))
    assert finished.stdout.text == '{"error": "\\udcff.yaml: no such file", "kind": "input"}\n'


@pytest.mark.parametrize(
    "text", [GOOD, '{"description": "it works", "checks": [{"name": "suite", "command": "pytest -q"}]}']
)
async def test_a_contract_is_read_from_stdin_in_either_format(trueup, text):
    finished = await trueup("contract", "show", "-", stdin=text.encode())
    assert finished.stdout.text == "it works\nChecks:\n- suite: `pytest -q` (expects exit 0)\n"


async def test_what_acts_on_a_terminal_is_shown_and_json_stays_exact(trueup, contract_file):
    file = contract_file('{"description": "\\u001b[2J\\u009b\\u202e", "checks": []}', "c.json")
    assert (await trueup("contract", "show", file)).stdout.text.startswith("\\x1b[2J\\x9b\\u202e\n")
    exact = json.loads((await trueup("contract", "show", file, "--json")).stdout.text)
    assert exact["description"] == "\x1b[2J\x9b\u202e"


@pytest.mark.parametrize(
    "arguments", [("contract", "show", "\x1b[31m"), ("contract", "derive", "x", "--repo", "\x1b[31m"), ("\x1b[31m",)]
)
async def test_an_error_cannot_act_on_a_terminal(trueup, arguments):
    assert "\\x1b[31m" in (await trueup(*arguments)).stderr.text


async def test_an_endless_stdin_is_read_only_so_far(tmp_path):
    line = f"set +o pipefail; yes | '{PROGRAM}' contract validate -"
    finished = await run(Command(shell=line, cwd=tmp_path, timeout_secs=60))
    assert finished.stderr.text == "error: stdin: larger than 1 MiB; is it the right file?\n"


async def test_a_pipe_in_place_of_a_file_is_not_waited_for(trueup, tmp_path):
    os.mkfifo(tmp_path / "c.yaml")
    finished = await trueup("contract", "validate", "c.yaml")
    assert (finished.exit_code, finished.timed_out) == (2, False)


async def test_show_as_json_is_the_contract_itself(trueup, contract_file):
    finished = await trueup("contract", "show", contract_file(GOOD), "--json")
    assert json.loads(finished.stdout.text)["checks"][0]["timeout_secs"] == 120


async def test_deriving_offline_shows_reasons_and_writes_the_file(trueup, tmp_path):
    (tmp_path / "Makefile").write_text("test:\n\t./run-tests\n")
    finished = await trueup("contract", "derive", "--offline", "-o", "c.yaml")
    assert finished.exit_code == 0
    assert "`make test`" in finished.stdout.text
    assert "Makefile" in finished.stdout.text
    assert (await trueup("contract", "validate", "c.yaml")).exit_code == 0


async def test_deriving_offline_from_nothing_says_what_to_do(trueup):
    finished = await trueup("contract", "derive", "--offline")
    assert finished.exit_code == 2
    assert finished.stderr.text.startswith("error: ")


async def test_a_command_can_be_the_model(trueup, tmp_path):
    model = tmp_path / "model.sh"
    model.write_text(f"cat > prompt.txt; echo 'Here you are:'; echo '{ANSWER}'\n")
    finished = await trueup("contract", "derive", "add a flag", "--generate", f"bash {model}", "--json")
    told = json.loads(finished.stdout.text)
    assert (told["contract"]["checks"][0]["name"], told["attempts"]) == ("suite", 1)
    assert "add a flag" in (tmp_path / "prompt.txt").read_text()


async def test_a_model_that_fails_exits_one_with_its_words(trueup):
    finished = await trueup(
        "contract", "derive", "x", "--generate", "echo quota exceeded >&2; exit 7", "--max-attempts", "2"
    )
    assert finished.exit_code == 1
    assert "after 2 attempts" in finished.stderr.text
    assert "quota exceeded" in finished.stderr.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("derive",), "say what is to be done"),
        (("derive", "x"), "no model to ask"),
        (("derive", "x", "--offline", "--generate", "cat"), "choose"),
        (("derive", "x", "--max-attempts", "0"), "0 is not in the range"),
        (("derive", "x", "--repo", "nowhere"), "does not exist"),
        (("validate",), "Missing argument"),
        (("frobnicate",), "No such command"),
    ],
)
async def test_bad_arguments_exit_two_with_a_sentence(trueup, arguments, message):
    finished = await trueup("contract", *arguments)
    assert finished.exit_code == 2
    assert message in finished.stderr.text
    assert "Traceback" not in finished.stderr.text


async def test_the_schema_of_a_contract_refuses_what_the_program_refuses(trueup):
    schema = json.loads((await trueup("schema", "contract")).stdout.text)
    assert schema["$defs"]["Check"]["additionalProperties"] is False
    assert "\n  " not in schema["$defs"]["Contract"]["description"]
    assert schema["$defs"]["Contract"]["required"] == ["description", "checks"]


async def test_config_show_tells_where_a_value_came_from(trueup, tmp_path):
    (tmp_path / "trueup.yaml").write_text("max_attempts: 5\n")
    environ = {"TRUEUP_GENERATE": "cat", "TRUEUP_DATABASE_URL": "postgresql://ada:secret@db/runs"}
    told = json.loads((await trueup("config", "show", "--json", **environ)).stdout.text)["settings"]
    assert told["database_url"]["value"] == "postgresql://ada:…@db/runs"
    assert told["max_attempts"] == {"value": 5, "origin": "project file", "place": f"{tmp_path}/trueup.yaml:1:1"}
    assert told["generate"] == {"value": "cat", "origin": "environment", "place": "TRUEUP_GENERATE"}


async def test_config_show_warns_of_a_misspelt_variable(trueup):
    finished = await trueup("config", "show", TRUEUP_GENERAT="cat")
    assert "did you mean TRUEUP_GENERATE?" in finished.stderr.text


async def test_a_broken_project_file_is_told_and_exits_two(trueup, tmp_path):
    (tmp_path / "trueup.yaml").write_text("max_attempts: [\n")
    finished = await trueup("config", "show")
    assert finished.exit_code == 2
    assert "trueup.yaml:2:1: not valid YAML" in finished.stderr.text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("contract validate - <&-", "error: stdin is closed, so nothing can be read from it; name a file\n"),
        ("schema contract >&-", "error: stdout is closed, so nothing can be printed; to see nothing, send it to /dev/null\n"),
        ("config show --json >&-", "error: stdout is closed, so nothing can be printed; to see nothing, send it to /dev/null\n"),
        ("contract show missing.yaml 2>&-", ""),
    ],
)  # fmt: skip
async def test_a_closed_stream_gets_a_sentence_at_most(tmp_path, line, message):
    finished = await run(Command(shell=f"'{PROGRAM}' {line}", cwd=tmp_path))
    assert finished.exit_code in {1, 2}
    assert finished.stderr.text == message


@pytest.mark.parametrize("words", ["config show", "contract derive --offline"])
async def test_a_working_folder_that_is_gone_is_told(tmp_path, words):
    (tmp_path / "gone").mkdir()
    finished = await run(Command(shell=f"cd gone && rmdir ../gone && '{PROGRAM}' {words}", cwd=tmp_path))
    assert finished.exit_code == 1
    assert finished.stderr.text.endswith("error: the working folder is gone; change to one that is there\n")


@pytest.mark.parametrize("output", [".", "/", "", "missing/c.yaml"])
async def test_an_output_that_cannot_be_is_told(trueup, tmp_path, output):
    (tmp_path / "Makefile").write_text("test:\n\t./run-tests\n")
    finished = await trueup("contract", "derive", "--offline", "-o", output)
    assert finished.exit_code == 2
    assert finished.stderr.text.startswith("error: ")


BROKEN = (
    "import click, sys; from trueup.cli._main import run; sys.exit(run(click.Command('x', callback=lambda: {}[1])))"
)


async def test_a_mistake_in_trueup_is_one_line_that_asks_for_a_report():
    finished = await run(Command(argv=(sys.executable, "-c", BROKEN)))
    assert finished.exit_code == 1
    assert finished.stderr.text == (
        "error: KeyError: 1 (this is a mistake in trueup, please report it; TRUEUP_DEBUG=1 shows where it happened)\n"
    )


async def test_whoever_looks_for_a_mistake_gets_the_traceback():
    finished = await run(Command(argv=(sys.executable, "-c", BROKEN), env={**os.environ, "TRUEUP_DEBUG": "1"}))
    assert finished.stderr.text.startswith("Traceback (most recent call last)")


async def test_output_that_cannot_be_written_is_an_error_and_no_traceback(trueup, contract_file, tmp_path):
    contract_file(GOOD)
    finished = await run(Command(shell=f"'{PROGRAM}' contract show contract.yaml > /dev/full", cwd=tmp_path))
    assert finished.exit_code == 1
    assert finished.stderr.text == "error: No space left on device\n"


async def test_a_reader_that_has_seen_enough_is_no_error(trueup, tmp_path):
    finished = await run(Command(shell=f"set +o pipefail; '{PROGRAM}' schema contract | head -1", cwd=tmp_path))
    assert (finished.exit_code, finished.stderr.text) == (0, "")


@pytest.mark.parametrize("words", [("schema", "contract"), ("contract", "show", "missing.yaml", "--json")])
def test_a_reader_that_is_gone_already_causes_no_noise(tmp_path, words):
    reading, writing = os.pipe()
    os.close(reading)
    finished = subprocess.run([PROGRAM, *words], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (finished.returncode in {1, 2}, finished.stderr) == (True, b"")


@pytest.mark.parametrize(
    ("more", "stderr", "stdout"),
    [((), "interrupted", ""), (("--json",), "", '{"error": "interrupted", "kind": "interrupted"}\n')],
)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_derivation_exits_130_and_leaves_nothing(tmp_path, how, more, stderr, stdout):
    argv = (PROGRAM, "contract", "derive", "x", "--generate", "touch started; setsid sleep 4321 & sleep 4321", *more)
    async with Process(Command(argv=argv, cwd=tmp_path)) as process:
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.02)
        os.kill(process.pid, how)
        finished = await process.wait()
    assert (finished.exit_code, finished.stderr.text.strip(), finished.stdout.text) == (130, stderr, stdout)


async def test_help_imports_click_and_nothing_heavier():
    code = (
        "import sys, trueup.cli._main as m\n"
        "try: m.cli.main(['--help'], standalone_mode=False)\n"
        "finally: print('\\n'.join(sorted(n.split('.')[0] for n in sys.modules)))"
    )
    finished = await run(Command(argv=(sys.executable, "-c", code)))
    loaded = set(finished.stdout.text.split())
    assert "click" in loaded
    assert loaded.isdisjoint({"msgspec", "yaml", "asyncio"})


async def test_every_command_explains_itself_with_an_example(trueup):
    for words in (
        ("contract", "derive"),
        ("contract", "validate"),
        ("contract", "show"),
        ("config", "show"),
        ("schema", "contract"),
    ):
        finished = await trueup(*words, "--help")
        assert finished.exit_code == 0
        assert "Example" in finished.stdout.text, words
