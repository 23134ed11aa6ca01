"""`trueup contract`, `trueup schema` and `trueup config` as a user calls them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from trueup.core.process import Command, Process, run

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
    "text", [GOOD, '{"description": "it works", "checks": [{"name": "suite", "command": "pytest -q"}]}']
)
async def test_a_contract_is_read_from_stdin_in_either_format(trueup, text):
    finished = await trueup("contract", "show", "-", stdin=text.encode())
    assert finished.stdout.text == "it works\nChecks:\n- suite: `pytest -q` (expects exit 0)\n"


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
    assert schema["$defs"]["Contract"]["required"] == ["description", "checks"]


async def test_config_show_tells_where_a_value_came_from(trueup, tmp_path):
    (tmp_path / "trueup.yaml").write_text("max_attempts: 5\n")
    told = json.loads((await trueup("config", "show", "--json", TRUEUP_GENERATE="cat")).stdout.text)["settings"]
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


async def test_output_that_cannot_be_written_is_an_error_and_no_traceback(trueup, contract_file, tmp_path):
    contract_file(GOOD)
    trueup_program = Path(sys.executable).with_name("trueup")
    finished = await run(Command(shell=f"'{trueup_program}' contract show contract.yaml > /dev/full", cwd=tmp_path))
    assert finished.exit_code == 1
    assert finished.stderr.text == "error: No space left on device\n"


async def test_a_reader_that_has_seen_enough_is_no_error(trueup, tmp_path):
    trueup_program = Path(sys.executable).with_name("trueup")
    finished = await run(Command(shell=f"set +o pipefail; '{trueup_program}' schema contract | head -1", cwd=tmp_path))
    assert (finished.exit_code, finished.stderr.text) == (0, "")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_derivation_exits_130_and_leaves_nothing(tmp_path, how):
    program = str(Path(sys.executable).with_name("trueup"))
    argv = (program, "contract", "derive", "x", "--generate", "touch started; setsid sleep 4321 & sleep 4321")
    async with Process(Command(argv=argv, cwd=tmp_path)) as process:
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.02)
        os.kill(process.pid, how)
        finished = await process.wait()
    assert (finished.exit_code, finished.stderr.text.strip()) == (130, "interrupted")


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
