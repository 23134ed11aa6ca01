"""Keys of the environment, which providers need and reports must not have."""

from __future__ import annotations

import os

import pytest

from scripted_provider import ScriptedProvider, cell_of
from trueup.core.protocols import Event
from trueup.skills._case import CommandEval, CommandProviderConfig, Config, FileEval, Workspace
from trueup.skills._cell import run_cell
from trueup.skills._model import AssistantTurn, Message, ProviderError, Query, QueryKind, RespondRequest, Role
from trueup.skills._providers import provider_for
from trueup.skills._providers._discreet import DiscreetProvider
from trueup.testing import EventLog

KEY = "sk-ant-0123456789abcdef"
TALK = (Message(Role.USER, "Hi"),)
SHOWS_KEY = "key = os.environ['SOME_API_KEY']; print(json.dumps({}))"


def provider_of(program, after: str, **environ: str):
    config = Config(provider=CommandProviderConfig(command=program.does(after=after)))
    return provider_for(config, {"PATH": os.environ["PATH"], "SOME_API_KEY": KEY, **environ}, program.folder)


async def test_a_key_that_a_program_shows_is_in_none_of_its_answers(program, request_to):
    told = (
        "{'message': key, 'value': True, 'reason': key, 'events': [{'kind': 'tool_call', 'name': 'Bash',"
        " 'input': {key: [key]}}, {'kind': 'tool_result', 'name': 'Bash', 'output': key}],"
        " 'mock_calls': [{'tool': 'Bash', 'input': {'command': key}, 'action': 'allow'}], 'usage': {'input_tokens': 3}}"
    )
    provider = provider_of(program, SHOWS_KEY.format(told))
    reply = await provider.respond(request_to(mocks=()))
    said = await provider.simulate_user("m", "p", TALK)
    verdict = await provider.judge("m", Query(kind=QueryKind.BOOLEAN, criterion="c"), TALK)
    assert KEY not in repr((reply, said, verdict))
    assert (reply.message, verdict.reason, verdict.value) == ("[SOME_API_KEY]", "[SOME_API_KEY]", True)
    assert reply.usage is not None
    assert reply.events[0].input == {"[SOME_API_KEY]": ["[SOME_API_KEY]"]}


async def test_a_program_that_fails_with_a_key_on_its_lips_does_not_tell_it(program, request_to):
    provider = provider_of(program, "sys.exit('bad key: ' + os.environ['SOME_API_KEY'])")
    with pytest.raises(ProviderError, match=r"bad key: \[SOME_API_KEY\]") as raised:
        await provider.respond(request_to())
    assert raised.value.context == "respond"


async def test_what_is_short_or_no_key_by_its_name_stays(program, request_to):
    after = "print(json.dumps({'message': os.environ['LONG_NAME'] + os.environ['A_TOKEN']}))"
    provider = provider_of(program, after, LONG_NAME="a-name-that-is-long", A_TOKEN="short")
    assert (await provider.respond(request_to())).message == "a-name-that-is-longshort"


async def test_what_an_agent_does_meanwhile_is_recorded_without_keys(request_to):
    class Said(Event, frozen=True):
        text: str

    async def tell(request: RespondRequest) -> AssistantTurn:
        await request.recorder.record(Said(f"my key is {KEY}"))
        return AssistantTurn(message="done")

    log = EventLog()
    provider = DiscreetProvider(ScriptedProvider(tell), {"SOME_API_KEY": KEY})
    await provider.respond(request_to(recorder=log))
    assert [event.text for event in log.events] == ["my key is [SOME_API_KEY]"]


async def test_a_command_of_a_case_that_shows_a_key_does_not_bring_it_into_the_report(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", KEY)
    failing = cell_of(CommandEval(command="env | grep SOME_; exit 3"))
    broken = cell_of(CommandEval(command="true"), workspace=Workspace(setup="env | grep SOME_; exit 3"))
    written = cell_of(FileEval(path="env", contains="SOME_"), workspace=Workspace(setup="env | grep SOME_ > env"))
    for spec in (failing, broken, written):
        report = await run_cell(spec, ScriptedProvider())
        assert "[SOME_API_KEY]" in repr(report)
        assert KEY not in repr(report)
