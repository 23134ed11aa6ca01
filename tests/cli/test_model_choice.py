"""Which model writes a contract: flags, then settings, then the usual one where there is a key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coded import GOAL, json_lines
from trueup.testing import ScriptedModel

ANSWER = json.dumps({"description": "it adds", "checks": [{"name": "adds", "command": GOAL}]})
BY_COMMAND = json.dumps({"description": "by a command", "checks": [{"name": "adds", "command": GOAL}]})


@pytest.fixture
async def model():
    async with ScriptedModel(lambda request: ANSWER) as model:
        yield model


@pytest.fixture
def command(tmp_path) -> str:
    """A command that writes a contract too, and another one."""
    (tmp_path / "model.sh").write_text(f"cat > /dev/null\ncat <<'E'\n{BY_COMMAND}\nE\n")
    return f"bash {tmp_path / 'model.sh'}"


def anthropic(model: ScriptedModel) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "sk-scripted", "ANTHROPIC_BASE_URL": model.url}


def openai(model: ScriptedModel) -> dict[str, str]:
    return {"OPENAI_API_KEY": "sk-scripted", "OPENAI_BASE_URL": f"{model.url}/v1"}


async def test_a_contract_is_written_by_the_model_that_is_named(trueup, model):
    finished = await trueup("contract", "derive", "make it add", "--model", "claude-x", "--json", **anthropic(model))
    assert json.loads(finished.stdout.text)["contract"]["description"] == "it adds"
    [request] = model.requests
    assert request.model == "claude-x"
    assert "make it add" in request.prompt


@pytest.mark.parametrize(("engine", "asked"), [("claude-code", "claude"), ("codex", "gpt")])
async def test_without_a_name_it_is_the_model_of_the_engines_maker(trueup, model, engine, asked):
    both = anthropic(model) | openai(model)
    finished = await trueup("contract", "derive", "make it add", TRUEUP_ENGINE=engine, **both)
    assert finished.exit_code == 0
    assert model.requests[0].model.startswith(asked)


async def test_without_an_engine_it_is_whoever_there_is_a_key_for(trueup, model):
    finished = await trueup("contract", "derive", "make it add", **openai(model))
    assert finished.exit_code == 0
    assert model.requests[0].model.startswith("gpt")


async def test_the_maker_of_the_engine_is_not_asked_without_a_key(trueup, model):
    finished = await trueup("contract", "derive", "make it add", TRUEUP_ENGINE="claude-code", **openai(model))
    assert (finished.exit_code, model.requests) == (2, [])
    assert "no model to ask" in finished.stderr.text


async def test_a_model_in_the_settings_goes_before_the_usual_one(trueup, model):
    await trueup("contract", "derive", "make it add", TRUEUP_MODEL="claude-mine", **anthropic(model))
    assert model.requests[0].model == "claude-mine"


async def test_a_command_in_the_settings_goes_before_a_model_there(trueup, model, command):
    settings = {"TRUEUP_MODEL": "claude-mine", "TRUEUP_GENERATE": command}
    finished = await trueup("contract", "derive", "make it add", **settings, **anthropic(model))
    assert "by a command" in finished.stdout.text
    assert model.requests == []


async def test_a_model_by_flag_goes_before_a_command_in_the_settings(trueup, model, command):
    words = ("contract", "derive", "make it add", "--model", "claude-x")
    finished = await trueup(*words, TRUEUP_GENERATE=command, **anthropic(model))
    assert "it adds" in finished.stdout.text


@pytest.mark.parametrize("flags", [("--model", "claude-x", "--generate", "cat"), ("--model", "claude-x", "--offline")])
async def test_one_of_them_can_be_asked_and_not_two(trueup, flags):
    finished = await trueup("contract", "derive", "x", *flags)
    assert finished.exit_code == 2
    assert "choose" in finished.stderr.text


async def test_a_model_that_nobody_serves_is_bad_input(trueup):
    finished = await trueup("contract", "derive", "x", "--model", "frobnicator")
    assert finished.exit_code == 2
    assert "who serves the model 'frobnicator'" in finished.stderr.text


async def proposed(user, *more: str, engine: str | None = None, **env: str) -> dict[str, object]:
    """What a session without a contract of its own proposes, before anybody agreed."""
    words = ("code", "make add() add", "--engine", engine or user.engine("true"), "--json", *more)
    lines = json_lines(await user.trueup(*words, env=env))
    return next(line for line in lines if line["type"] == "contract_proposed")


async def test_a_session_has_its_contract_written_by_the_usual_model(user_of_code, model):
    told = await proposed(user_of_code, engine="native", **anthropic(model))
    assert told["contract"]["description"] == "it adds"
    assert model.requests[0].model in told["source"]


async def test_a_session_has_its_contract_written_by_the_command_that_is_named(user_of_code, model, command):
    told = await proposed(user_of_code, "--generate", command, **anthropic(model))
    assert told["contract"]["description"] == "by a command"


@pytest.mark.parametrize("has_key", [True, False])
async def test_beside_a_command_no_vendor_is_asked_in_the_users_name(user_of_code, model, has_key):
    (Path(user_of_code.checkout.root) / "Makefile").write_text(f"test:\n\t{GOAL}\n")
    user_of_code.checkout.commit("a Makefile")
    told = await proposed(user_of_code, **(anthropic(model) if has_key else {}))
    assert told["source"] == "the repository's own checks"
    assert model.requests == []


async def test_a_session_is_not_begun_with_a_model_that_nobody_serves(user_of_code):
    words = ("code", "make add() add", "--engine", user_of_code.engine("true"))
    finished = await user_of_code.trueup(*words, env={"TRUEUP_MODEL": "frobnicator"})
    assert finished.exit_code == 2
    assert "who serves the model 'frobnicator'" in finished.stderr.text


async def test_a_judge_is_a_command(user_of_code, tmp_path):
    judge = tmp_path / "judge.sh"
    judge.write_text('cat > /dev/null\necho \'{"concerns": [{"message": "adds without a test"}]}\'\n')
    finished = await user_of_code.trueup(*user_of_code.words(), "--judge", f"bash {judge}", "--yes", "--json")
    assert "judge: adds without a test" in finished.stdout.text
