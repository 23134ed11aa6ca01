"""The judge and the simulated user are an agent that knows nothing but what it is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skill_desk import script
from trueup.core.errors import Kind
from trueup.skills._model import Message, ProviderError, Query, QueryKind, Role

TALK = [Message(Role.USER, "What of herons?"), Message(Role.ASSISTANT, "They wade.")]
LOOK = "shell pwd > $HOME/where; ls -A > $HOME/there; tr '\\0' '\\n' < /proc/$PPID/cmdline > $HOME/words"


def asking(*lines: str, kind: QueryKind = QueryKind.BOOLEAN) -> Query:
    return Query(kind=kind, criterion=script(*lines))


async def test_a_verdict_comes_with_its_reason_and_what_it_used(desk):
    verdict = json.dumps({"value": True, "reason": "it says so"})
    judged = await desk.provider().judge("", asking(f"say {verdict}", "usage input=5 output=2"), TALK)
    assert (judged.value, judged.reason, judged.usage.input_tokens) == (True, "it says so", 5)


async def test_the_judge_works_in_an_empty_folder_that_is_gone_afterwards(desk):
    await desk.provider().judge("claude-haiku", asking(LOOK, 'say {"value": false}'), TALK)
    words = (desk.home / "words").read_text().splitlines()
    assert (desk.home / "there").read_text() == ""
    assert not Path((desk.home / "where").read_text().strip()).exists()
    assert {"--model=claude-haiku", "--permission-mode=default", "--setting-sources="} <= set(words)
    assert not any(word.startswith("--resume") for word in words)


async def test_the_judge_is_its_own_harness(desk):
    judged = await desk.provider(judge_harness="codex").judge(
        "", asking('say {"value": 7}', kind=QueryKind.NUMERIC), TALK
    )
    assert judged.value == 7


async def test_a_verdict_that_is_none_is_an_error_that_says_what_it_cost(desk):
    with pytest.raises(ProviderError) as raised:
        await desk.provider().judge("", asking("say Well, well.", "usage input=5 output=2"), TALK)
    assert (raised.value.context, raised.value.kind) == ("harness:judge", Kind.PROTOCOL)
    assert raised.value.usage.input_tokens == 5


async def test_a_judge_that_fails_is_an_error_with_its_kind(desk):
    with pytest.raises(ProviderError) as raised:
        await desk.provider().judge("", asking("error overloaded too much"), TALK)
    assert (raised.value.context, raised.value.kind) == ("harness:judge", Kind.OVERLOADED)


async def test_a_judge_that_is_not_installed_is_named(desk):
    with pytest.raises(ProviderError, match="gemini") as raised:
        await desk.provider(judge_harness="gemini").judge("", asking("say x"), TALK)
    assert (raised.value.context, raised.value.kind) == ("harness:judge", Kind.SPAWN)


async def test_the_simulated_user_says_something_or_it_is_an_error(desk):
    said = await desk.provider().simulate_user("", script('say "And egrets? "'), TALK)
    assert (said.message, said.stop) == ("And egrets?", False)
    with pytest.raises(ProviderError, match="said nothing"):
        await desk.provider().simulate_user("", script("shell true"), TALK)
