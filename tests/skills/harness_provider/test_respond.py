"""A skill on an agent of this machine, as a system prompt: what reaches the agent, and what is told of it."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path

import pytest

from agent_recordings import RECORDED
from coded import is_running
from skill_desk import ARGV, argv_told, script
from trueup.core.errors import Kind
from trueup.harness import Message, ToolCall
from trueup.skills._model import ProviderError, ToolEvent


async def test_a_reply_comes_with_what_the_agent_did_and_what_it_used(desk):
    turn = await desk.respond(script("shell echo hi > made.txt; cat made.txt", "say Done.", "usage input=9 output=4"))
    assert (turn.message, turn.events_told, turn.mock_calls, turn.activated) == ("Done.", True, None, None)
    assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.incomplete) == (9, 4, False)
    assert (desk.folder / "made.txt").exists()
    call, came = turn.events
    command = "echo hi > made.txt; cat made.txt"
    same = {"name": "Bash", "id": call.id, "tool_kind": "shell"}
    assert call == ToolEvent(kind="tool_call", input={"command": command}, index=0, **same)
    assert came == ToolEvent(kind="tool_result", output="hi\n", ok=True, index=1, **same)


async def test_what_happens_is_recorded_while_it_happens(desk):
    waiting = "shell until [ -e go-on ]; do sleep 0.02; done"
    asking = asyncio.create_task(desk.respond(script("say Begun.", waiting, "say Done.")))
    async with asyncio.timeout(20):
        while not any(isinstance(event, ToolCall) for event in desk.log.events):
            await asyncio.sleep(0.01)
    assert Message("Begun.") in desk.log.events
    assert not asking.done()
    (desk.folder / "go-on").touch()
    assert (await asking).message == "Done."


async def test_the_skill_is_a_system_prompt_and_not_in_the_prompt(desk):
    turn = await desk.respond(script(ARGV, "say Done."), platform="codex", model="gpt-5")
    words = argv_told(turn)
    assert f"developer_instructions={json.dumps(desk.skill.instructions)}" in words
    assert (words[words.index("--model") + 1], words[-1]) == ("gpt-5", "-")
    assert turn.notes == ()


async def test_without_a_skill_the_bare_harness_is_asked(desk):
    turn = await desk.respond(script(ARGV, "say Done."), platform="codex", skill=None)
    assert not any("developer_instructions" in word for word in argv_told(turn))


async def test_a_session_goes_on_with_the_latest_message_alone(desk):
    first = await desk.respond(script("say One."))
    said = (script("shell touch told-again", "say One."), first.message, script(ARGV, "say Two."))
    second = await desk.respond(*said, session=first.session_id)
    assert second.message == "Two."
    assert f"--resume={first.session_id}" in argv_told(second)
    assert not (desk.folder / "told-again").exists()


async def test_without_a_session_the_whole_conversation_is_told(desk):
    turn = await desk.respond(script("shell touch told-again", "say One."), "One.", script("say Two."))
    assert turn.message == "Two."
    assert (desk.folder / "told-again").exists()


async def test_a_session_that_is_gone_is_replaced_by_the_whole_conversation(desk):
    session = "99999999-2222-4333-8444-555555555555"
    elsewhere = desk.home / ".claude" / "projects" / "p" / f"{session}.jsonl"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_text('{"cwd": "/elsewhere"}\n')
    turn = await desk.respond(script("shell touch told-again", "say One."), "One.", script("say Two."), session=session)
    assert turn.message == "Two."
    assert (desk.folder / "told-again").exists()
    assert turn.notes == ("claude-code: its session was gone, so that the whole conversation was told anew",)


@pytest.mark.parametrize(("kind", "expected"), [("auth", Kind.AUTH), ("rate_limit", Kind.RATE_LIMIT)])
async def test_a_run_that_fails_is_an_error_with_its_kind(desk, kind, expected):
    with pytest.raises(ProviderError) as raised:
        await desk.respond(script(f"error {kind} no way"))
    assert (raised.value.context, raised.value.kind) == ("harness:claude-code", expected)
    assert "no way" in str(raised.value)
    assert raised.value.usage is not None


async def test_an_agent_that_says_nothing_has_not_replied(desk):
    with pytest.raises(ProviderError, match="said nothing") as raised:
        await desk.respond(script("shell true"))
    assert raised.value.kind is Kind.PROTOCOL


async def test_out_of_time_it_is_ended(desk):
    with pytest.raises(ProviderError) as raised:
        await desk.provider(timeout_secs=0.3).respond(desk.request(script("hang"), platform="codex"))
    assert (raised.value.context, raised.value.kind) == ("harness:codex", Kind.TIMEOUT)


async def test_cancelled_nothing_of_the_agent_is_left(desk):
    done = script("daemon sleep 731.25", "shell touch begun; setsid sleep 732.25")
    asking = asyncio.create_task(desk.respond(done, platform="codex"))
    async with asyncio.timeout(20):
        while not (desk.folder / "begun").exists():
            await asyncio.sleep(0.01)
    assert is_running("731.25")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not is_running("731.25")
    assert not is_running("732.25")


async def test_an_unknown_platform_is_named_with_the_nearest(desk):
    with pytest.raises(ProviderError, match="did you mean 'claude-code'") as raised:
        await desk.respond("hi", platform="claude-cod")
    assert (raised.value.context, raised.value.kind) == ("harness:claude-cod", Kind.INPUT)


def replaying(desk, name: str, recording: Path) -> None:
    """A program that notes what it is given, and prints what a real one once did."""
    desk.add_program(name, f'for word; do echo "$word"; done >> "$HOME/words"; cat >> "$HOME/stdin"; cat {recording}')


async def test_a_harness_without_a_system_prompt_gets_the_skill_before_the_prompt(desk):
    replaying(desk, "openhands", RECORDED / "openhands" / "ok.txt")
    turn = await desk.respond("What of herons?", platform="openhands")
    told = (desk.home / "words").read_text()
    assert told.index(desk.skill.instructions) < told.index("What of herons?")
    assert turn.notes == ("openhands: it was given the skill before the prompt, and not as a system prompt",)


async def test_a_skill_too_long_for_a_word_goes_before_the_prompt(desk):
    replaying(desk, "pi", RECORDED / "pi" / "ok.jsonl")
    long = desk.write_skill(desk.folder.parent / "skills" / "long", "Herons wade. " * 16_000)
    turn = await desk.respond("What of herons?", platform="pi", skill=long)
    assert (desk.home / "stdin").read_text().startswith("Herons wade. Herons wade. ")
    assert "--append-system-prompt" not in (desk.home / "words").read_text()
    assert turn.notes == ("pi: it was given the skill before the prompt, and not as a system prompt",)


async def test_where_the_system_prompt_is_replaced_the_report_says_so(desk):
    replaying(desk, "gemini", RECORDED / "gemini" / "ok.jsonl")
    turn = await desk.respond("What of herons?", platform="gemini")
    assert turn.notes == ("gemini: the skill stands in the place of its own system prompt",)


def test_resume_is_as_the_registry_says(desk):
    provider = desk.provider()
    known = {name: provider.supports_resume(name) for name in ("claude-code", "codex", "cline", "no-such")}
    assert known == {"claude-code": True, "codex": True, "cline": False, "no-such": False}


async def test_cells_run_at_the_same_time_in_folders_of_their_own(desk):
    folders = [desk.folder / str(number) for number in range(8)]
    for folder in folders:
        folder.mkdir()
    provider = desk.provider()
    asked = [desk.request(script("shell pwd > here", "say Done."), folder=folder) for folder in folders]
    await asyncio.gather(*map(provider.respond, asked))
    assert [Path((folder / "here").read_text().strip()) for folder in folders] == folders


async def test_words_of_a_shell_are_not_run_by_naming_a_folder(desk):
    folder = desk.folder / shlex.quote("a b; touch oops")
    folder.mkdir()
    turn = await desk.respond(script("shell pwd", "say Done."), folder=folder)
    assert turn.events[1].output == f"{folder}\n"
