"""Sessions with trueup's own loop as their engine."""

from __future__ import annotations

import pytest

from session_play import Play
from trueup.coder import FailureReason, Limits, State
from trueup.core.errors import TrueupError
from trueup.harness import Retried, ToolCall
from trueup.runs import RunStore
from trueup.testing import Fault, ScriptedModel, Tokens, Tool

MEND = "sed -i \"s/'_')/'-')/\" slug.py"
SUITE = "python3 -m unittest discover -s tests -t . -q"


@pytest.fixture
async def play(project, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-mine")
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Play(project, store)


async def code(play: Play, script, **more):
    async with ScriptedModel(script, usage=more.pop("usage", None)) as model:
        model_at = f"anthropic:claude-fake@{model.url}"
        return await play.code("", SUITE, engine="native", model=model_at, **more)


async def test_the_native_loop_works_in_the_workspace_and_its_work_is_merged(play):
    story = await code(play, [Fault(529, retry_after=0), Tool.shell(MEND), "Done."])
    assert story.state is State.MERGED, story.message
    [retried] = play.watching.of(Retried)
    assert (retried.attempt, "529" in retried.message) == (1, True)
    assert play.watching.of(ToolCall)[0].name == "shell"
    assert story.used.input_tokens


async def test_it_is_repaired_like_any_other(play):
    script = [Tool.shell("echo '# a try' >> slug.py"), "Done.", Tool.shell(MEND), "Now it is."]
    story = await code(play, script, limits=Limits(iterations=3))
    assert story.state is State.MERGED, story.message
    assert len(story.attempts) == 2


async def test_a_budget_ends_it(play):
    steps = [Tool.shell(f"echo {n}") for n in range(20)]
    limits = Limits(iterations=2, tokens=2500)
    story = await code(play, steps, limits=limits, usage=Tokens(input=1000, output=10))
    assert (story.state, story.reason) == (State.FAILED, FailureReason.BUDGET_EXHAUSTED), story.message


async def test_a_refused_key_is_told_as_such(play):
    story = await code(play, [Fault(401)])
    assert (story.reason, story.failed_by_engine) == (FailureReason.AUTH_REQUIRED, True)


async def test_without_a_model_it_does_not_begin(play, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(TrueupError, match="--model"):
        await play.code("", SUITE, engine="native")


async def test_it_calls_its_model_as_often_as_the_session_says_and_no_more(play):
    """A loop with a limit of its own alone would have made a third call before anybody objected."""
    steps = [Tool("no_such_tool", {"number": number}) for number in range(5)]
    story = await code(play, steps, limits=Limits(iterations=1, turns=2))
    assert (story.reason, story.turns) == (FailureReason.BUDGET_EXHAUSTED, 2), story.message


async def test_a_model_that_keeps_silent_for_too_long_is_ended(play):
    story = await code(play, [Fault("hang")], limits=Limits(iterations=1, idle_secs=1))
    assert story.reason is FailureReason.STALLED, story.message
    assert "nothing happened for 1 s" in story.message


async def test_later_goes_at_it_have_only_the_turns_that_are_left(play):
    steps = [Tool.shell("echo '# a try' >> slug.py"), "Done.", *(Tool.shell(f"echo {n}") for n in range(5))]
    story = await code(play, steps, limits=Limits(iterations=3, turns=3))
    assert (story.reason, story.turns) == (FailureReason.BUDGET_EXHAUSTED, 3), story.message
