"""Any program as an engine."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from trueup.core.errors import InputError, Kind
from trueup.core.process import Command, Process
from trueup.core.usage import Usage
from trueup.harness import (
    CommandEngine,
    EngineError,
    EngineStalledError,
    PlanText,
    Surroundings,
    Task,
    ToolResult,
    UsageReported,
    parse_engine,
)
from trueup.testing import EventLog


class Here:
    """A `Launcher` that starts programs where the test runs."""

    @asynccontextmanager
    async def launch(self, command: Command):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", **(command.env or {})}
        async with Process(msgspec.structs.replace(command, env=env)) as process:
            yield process


def engine(script: str) -> CommandEngine:
    return CommandEngine(("bash", "-c", script), {}, "/usr/bin:/bin")


async def work(script: str, **task):
    log = EventLog()
    asked = Task(prompt="do it", prompt_file="/nowhere", **task)
    return await engine(script).work(asked, Here(), log), log.events


async def test_the_prompt_is_given_on_stdin_and_its_file_and_model_are_named():
    done, _ = await work('cat; echo "$TRUEUP_PROMPT_FILE $TRUEUP_ENGINE_MODEL"', model="m-1")
    assert done.exit_code == 0
    assert done.output_tail == "do it/nowhere m-1"


async def test_lines_for_trueup_become_events_and_the_rest_is_output():
    script = """
    echo 'just talk'
    echo '{"trueup": "plan", "text": "first this"}'
    echo '{"trueup": "usage", "input_tokens": 5, "cost_usd": 0.5, "model": "unknown fields are fine"}'
    echo '{"trueup": "tool_result", "id": "t1", "output": "ok"}'
    echo '{"trueup": "usage", "input_tokens": "five"}'
    echo '{"trueup": "usage", "cost_usd": -100}'
    echo '{"trueup": "nonsense"}'
    echo '{"not": "ours"}'
    echo '{broken'
    """
    _, heard = await work(script)
    assert heard == [
        PlanText("first this"),
        UsageReported(Usage(input_tokens=5, cost_usd=0.5)),
        ToolResult("t1", True, "ok"),
    ]


async def test_bytes_that_are_no_text_are_output_like_any_other():
    done, heard = await work(r"printf '\xff\xfe{\x00}\n'; printf '{\xff\n'")
    assert (done.exit_code, heard) == (0, [])


@pytest.mark.parametrize("kind", ["auth", "rate_limit", "quota"])
async def test_an_error_that_the_program_tells_has_its_kind(kind):
    with pytest.raises(EngineError, match="no luck") as error:
        await work(f'echo \'{{"trueup": "error", "kind": "{kind}", "message": "no luck"}}\'; exit 1')
    assert error.value.kind == kind
    assert error.value.transient is (kind == "rate_limit")


async def test_an_error_that_it_got_over_is_none():
    done, _ = await work('echo \'{"trueup": "error", "kind": "overloaded", "message": "again"}\'; exit 0')
    assert done.exit_code == 0


async def test_exit_75_asks_to_be_tried_again():
    with pytest.raises(EngineError, match="busy") as error:
        await work("echo busy >&2; exit 75")
    assert error.value.transient


async def test_a_program_that_keeps_silent_is_ended():
    with pytest.raises(EngineStalledError):
        await work("echo hello; sleep 100", idle_secs=0.3)


async def test_a_program_that_keeps_talking_is_not():
    done, _ = await work("for n in 1 2 3 4 5; do echo $n; sleep 0.2; done", idle_secs=0.6)
    assert done.exit_code == 0


async def test_a_program_that_cannot_be_run_is_told_from_one_that_fails():
    with pytest.raises(EngineError) as error:
        await work("no-such-tool-at-all")
    assert error.value.kind is Kind.SPAWN
    done, _ = await work("exit 4")
    assert done.exit_code == 4


# What a person's words for an engine mean


@pytest.fixture
def around(tmp_path) -> Surroundings:
    repository, outside = tmp_path / "repo", tmp_path / "outside"
    for file in (repository / "tracked.sh", repository / "mine.sh", outside / "agent.sh"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("true\n")
    return Surroundings(
        folder=repository,
        repository=repository,
        in_base={"tracked.sh"}.__contains__,
        environ={"PATH": "/usr/bin:/bin"},
        confined=True,
    )


async def test_a_file_outside_of_the_repository_is_readable_where_it_is(around):
    named = await parse_engine("command:bash ../outside/agent.sh --flag", around)
    file = str(around.repository.parent / "outside" / "agent.sh")
    assert named.argv == ("bash", file, "--flag")
    assert named.files == {file: file}


async def test_a_file_of_the_base_is_there_already(around):
    named = await parse_engine("command:bash tracked.sh", around)
    assert named.argv == ("bash", str(around.repository / "tracked.sh"))
    assert named.files == {}


async def test_a_file_that_is_not_committed_is_brought_along(around):
    named = await parse_engine("command:bash mine.sh", around)
    (source, target) = next(iter(named.files.items()))
    assert source == str(around.repository / "mine.sh")
    assert named.argv == ("bash", target)
    assert not Path(target).is_relative_to(around.repository)


async def test_unconfined_every_file_is_where_it_is(around):
    free = msgspec.structs.replace(around, confined=False)
    named = await parse_engine("command:bash mine.sh", free)
    assert (named.argv, named.files) == (("bash", str(around.repository / "mine.sh")), {})


async def test_a_program_is_looked_for_on_path_and_not_in_the_folder(around):
    (around.folder / "bash").write_text("echo not me\n")
    assert (await parse_engine("command:bash -c true", around)).argv[0] == "bash"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("clod", "unknown engine"),
        ("claud-code", "did you mean 'claude-code'"),
        ("nativ", "did you mean 'native'"),
        ("command:", "names no program"),
        ("command:a 'b", "quot"),
    ],
)
async def test_words_that_name_no_engine_are_refused(around, spec, told):
    with pytest.raises(InputError, match=told):
        await parse_engine(spec, around)


async def test_a_program_that_is_not_there_is_found_out_beforehand(around):
    with pytest.raises(EngineError, match="no-such-agent") as error:
        await (await parse_engine("command:no-such-agent", around)).version()
    assert error.value.kind is Kind.SPAWN
