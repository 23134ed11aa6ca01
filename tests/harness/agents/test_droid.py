"""droid, on output that it once gave."""

from __future__ import annotations

import json

import pytest

from agent_recordings import ended, heard, listening, of_kind, request
from trueup.core.errors import InputError, Kind
from trueup.core.usage import Usage
from trueup.harness import Mode, SessionNamed, ToolCall, ToolKind, ToolResult
from trueup.harness.agents._droid import KEY, Droid

HERE = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1", "OPENAI_API_KEY": "a-real-key"}


def settings_of(put) -> dict:
    return json.loads(put.env["TRUEUP_FILE_0"])["customModels"][0]


def test_a_run_tells_what_it_used_with_the_cached_tokens_among_those_that_went_in():
    _, outcome = heard("droid", "ok")
    assert outcome.usage == Usage(input_tokens=2400, output_tokens=100, cache_read_tokens=400, cache_write_tokens=0)


def test_a_session_that_goes_on_is_a_copy_with_another_id_and_counts_anew():
    before, after = "f6e20796-a640-4dd0-8136-34883442703b", "fe24f817-4288-4410-90a3-dc83554e9351"
    events, outcome = heard("droid", "resume", resume=before)
    assert of_kind(events, SessionNamed) == [SessionNamed(after)]
    assert (outcome.session_id, outcome.usage.input_tokens) == (after, 2400)
    argv = Droid().invoke(request(resume=before), asks=False).argv
    assert f"--fork={before}" in argv
    assert not any(word.startswith(("-s", "--session-id")) for word in argv), "that way it ends without a word"


def test_a_file_that_is_made_is_a_tool_that_writes():
    events, _ = heard("droid", "write")
    [call] = of_kind(events, ToolCall)
    assert (call.name, call.tool_kind, call.input["file_path"]) == ("Create", ToolKind.WRITE, "/repo/m011d84.txt")


def test_a_tool_that_the_mode_does_not_allow_went_wrong():
    events, outcome = heard("droid", "denied")
    [result] = of_kind(events, ToolResult)
    assert (result.ok, outcome.ok) == (False, True)
    assert "riskLevel" in result.output


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("401", Kind.AUTH, "401 scripted 401"),
        ("refused", Kind.NETWORK, "Connection error."),
        ("garbage", Kind.PROTOCOL, "LLM response contained no usable output"),
    ],
)
def test_why_it_failed_is_what_the_loop_said_and_not_that_it_failed(name, kind, told):
    _, outcome = heard("droid", name, exit_code=1)
    assert (outcome.failure_kind, outcome.error) == (kind, told)


@pytest.mark.parametrize("name", ["429", "500"])
def test_one_that_tries_again_for_ever_says_nothing_and_is_not_ok(name):
    events, outcome = heard("droid", name, exit_code=None)
    assert [type(event) for event in events] == [SessionNamed]
    assert (outcome.ok, outcome.session_id is not None) == (False, True)


def test_a_session_that_it_does_not_know_ends_without_a_word():
    outcome = listening("droid", resume="99999999-2222-4333-8444-555555555555").outcome(ended(exit_code=1))
    assert (outcome.failure_kind, outcome.session_id) == (Kind.SESSION_NOT_FOUND, None)
    assert listening("droid").outcome(ended(exit_code=1)).failure_kind is Kind.PROTOCOL


def test_a_vendor_is_named_in_a_file_and_its_key_is_not_in_there():
    put = Droid().invoke(request(env=HERE, model="some-model"), asks=False)
    told = settings_of(put)
    assert (told["model"], told["baseUrl"]) == ("some-model", "http://127.0.0.1:4000/v1")
    assert (told["apiKey"], put.env[KEY]) == (f"${{{KEY}}}", "a-real-key")
    assert put.env["FACTORY_AIRGAP_ENABLED"] == "true"
    assert "--model=custom:trueup-0" in put.argv


def test_anthropic_is_spoken_to_in_its_own_way():
    put = Droid().invoke(request(env={"ANTHROPIC_API_KEY": "a-real-key"}, model="some-model"), asks=False)
    assert settings_of(put)["provider"] == "anthropic"


def test_a_server_without_a_model_is_refused_before_anything_is_spent():
    with pytest.raises(InputError, match="droid does not know which model there is at http://127.0.0.1:4000/v1: name"):
        Droid().invoke(request(env=HERE), asks=False)


def test_by_the_persons_own_account_nothing_is_laid_out():
    put = Droid().invoke(request(model="claude-opus-5"), asks=False)
    assert put.env == {}
    assert "--model=claude-opus-5" in put.argv


@pytest.mark.parametrize(
    ("mode", "word"), [(Mode.READ_ONLY, None), (Mode.EDIT, "--auto=low"), (Mode.FULL, "--skip-permissions-unsafe")]
)
def test_a_mode_is_its_own_autonomy(mode, word):
    argv = Droid().invoke(request(mode=mode), asks=False).argv
    assert [each for each in argv if each.startswith(("--auto", "--skip"))] == ([word] if word else [])


def test_a_session_is_known_to_belong_to_the_folder_in_which_it_began(tmp_path):
    file = tmp_path / ".factory" / "sessions" / "-work-here" / "0c46b220.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text('{"type":"session_start","id":"0c46b220","cwd":"/home/ada/here"}\n{"type":"message"}\n')
    assert Droid().began_in("0c46b220", {"HOME": str(tmp_path)}) == "/home/ada/here"
    assert Droid().began_in("another", {"HOME": str(tmp_path)}) is None
