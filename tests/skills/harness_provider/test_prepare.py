"""Before anything is spent: which platforms are there, and which of them cannot do what the cases need."""

from __future__ import annotations

import pytest

from trueup.core.errors import InputError, Kind
from trueup.skills._model import Needs, ProviderError


async def test_versions_are_told_by_platform(desk):
    versions = await desk.provider().prepare(["claude-code", "codex"], Needs(judge=True))
    assert versions == {"claude-code": "2.1.325", "codex": "0.163.0"}


async def test_everything_that_a_platform_cannot_do_is_said_at_once(desk):
    needs = Needs(mocks=True, mock_actions=("deny", "stub"), activation=True, tool_events=True)
    with pytest.raises(InputError) as raised:
        await desk.provider(delivery="install").prepare(["codex", "aider", "goose"], needs)
    told = str(raised.value).splitlines()
    assert told[0] == "mocks with stub cannot be done on codex in mode 'full': it can deny"
    assert told[1].startswith("no place is known at which aider finds skills by itself and none of yours")
    assert told[2] == "aider does not tell which tools it calls, and cases have evals about that"
    assert (
        told[3]
        == "mocks with deny or stub cannot be done on aider in mode 'full': it does not ask before it uses a tool"
    )
    assert told[4].startswith("no place is known at which goose finds skills")


async def test_activation_needs_a_skill_that_is_found(desk):
    with pytest.raises(InputError, match="only with `provider.delivery: install`"):
        await desk.provider().prepare(["claude-code"], Needs(activation=True))


async def test_a_mode_that_nothing_would_keep_is_refused(desk):
    with pytest.raises(InputError, match="goose has no mode 'read_only'"):
        await desk.provider(mode="read_only").prepare(["goose"], Needs())


async def test_codex_asks_nobody_in_its_own_sandbox(desk):
    with pytest.raises(InputError, match="mocks with deny cannot be done on codex in mode 'read_only'"):
        await desk.provider(mode="read_only").prepare(["codex"], Needs(mocks=True, mock_actions=("deny",)))


async def test_programs_that_are_missing_or_not_logged_in_are_named_together(desk):
    del desk.environ["ANTHROPIC_API_KEY"]
    with pytest.raises(ProviderError) as raised:
        await desk.provider().prepare(["claude-code", "gemini"], Needs())
    assert "claude-code is not logged in: run `claude` once" in str(raised.value)
    assert "gemini is not installed: no `gemini` on PATH" in str(raised.value)
    assert raised.value.kind is Kind.AUTH


async def test_a_judge_is_looked_for_only_where_something_is_judged(desk):
    provider = desk.provider(judge_harness="gemini")
    assert await provider.prepare(["codex"], Needs()) == {"codex": "0.163.0"}
    with pytest.raises(ProviderError, match="gemini is not installed") as raised:
        await provider.prepare(["codex"], Needs(judge=True))
    assert raised.value.context == "harness:gemini"


async def test_an_unknown_name_is_bad_input(desk):
    with pytest.raises(InputError, match="unknown agent 'no-such'"):
        await desk.provider().prepare(["no-such"], Needs())
