"""Aider, on what it once said."""

from __future__ import annotations

import pytest

from agent_recordings import ended, heard, listening, of_kind, request
from trueup.core.errors import InputError, Kind
from trueup.core.usage import Usage
from trueup.harness import Message, Retried, SessionNamed, UsageReported
from trueup.harness.agents._aider import NO_SESSION, Aider, AiderListening

HERE = {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1", "OPENAI_API_KEY": "a-real-key"}


def test_an_answer_ends_with_the_line_that_counts_it():
    events, outcome = heard("aider", "ok")
    assert [type(event) for event in events] == [SessionNamed, Message, UsageReported]
    assert outcome.text.startswith("I will make it.\n\nm1.txt\n```\n<<<<<<< SEARCH\n")
    assert "Aider v" not in outcome.text
    assert "Tokens:" not in outcome.text
    assert (outcome.ok, outcome.version) == (True, "0.86.2")
    # 1.2k is between 1150 and 1250.
    assert outcome.usage == Usage(input_tokens=1200, output_tokens=50, incomplete=True)


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("Tokens: 950 sent, 12 received.", Usage(input_tokens=950, output_tokens=12)),
        (
            "Tokens: 1,234 sent, 12 received. Cost: $0.0042 message, $0.01 session.",
            Usage(input_tokens=1234, output_tokens=12, cost_usd=0.0042),
        ),
        (
            "Tokens: 12k sent, 3.4k cache write, 5 cache hit, 50 received. Cost: $0.12 message, $0.34 session.",
            Usage(
                input_tokens=12000,
                output_tokens=50,
                cost_usd=0.12,
                cache_read_tokens=5,
                cache_write_tokens=3400,
                incomplete=True,
            ),
        ),
    ],
)
def test_tokens_and_dollars_are_read_from_words(line, usage):
    conversation = AiderListening(request(), None)
    conversation.feed("Repo-map: using 1024 tokens, auto refresh")
    assert of_kind(list(conversation.feed(line)), UsageReported) == [UsageReported(usage)]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("401", Kind.AUTH),
        ("429", Kind.RATE_LIMIT),
        ("500", Kind.OVERLOADED),
        ("refused", Kind.NETWORK),
        ("garbage", Kind.PROTOCOL),
    ],
)
def test_an_error_comes_with_exit_0(name, kind):
    events, outcome = heard("aider", name, exit_code=0)
    assert (outcome.ok, outcome.failure_kind, outcome.text) == (False, kind, "")
    assert outcome.error.startswith("litellm.")
    assert bool(of_kind(events, Retried)) is (name != "401")
    assert outcome.usage.incomplete


def test_an_error_that_it_got_over_is_none():
    conversation = AiderListening(request(), None)
    for line in (
        "Repo-map: disabled",
        "litellm.RateLimitError: RateLimitError: OpenAIException - slow down",
        "Retrying in 0.2 seconds...",
        "It is done.",
        "Tokens: 10 sent, 5 received.",
    ):
        conversation.feed(line)
    outcome = conversation.outcome(ended())
    assert (outcome.ok, outcome.error) == (True, "")


def test_an_error_after_an_answer_is_one():
    conversation = AiderListening(request(), None)
    for line in ("Repo-map: disabled", "First.", "Tokens: 10 sent, 5 received.", "litellm.Timeout: too late"):
        conversation.feed(line)
    assert conversation.outcome(ended()).failure_kind is Kind.TIMEOUT


def test_it_neither_commits_nor_leaves_its_files_in_the_folder():
    put = Aider().invoke(request(), asks=False)
    assert {"--no-auto-commits", "--no-dirty-commits", "--no-gitignore"} <= set(put.argv)
    script = put.argv[2]
    assert '"$folder/input"' in script
    assert '"$folder/history.md"' in script
    assert 'rm -rf ".aider.tags.cache.v4"' in script


def test_a_session_that_is_not_there_is_told():
    outcome = listening("aider", resume="nope").outcome(ended(1, f"{NO_SESSION}\n"))
    assert (outcome.failure_kind, outcome.session_id) == (Kind.SESSION_NOT_FOUND, None)


def test_a_session_is_no_path():
    with pytest.raises(InputError, match=r"'\.\./x' is no session of aider's"):
        Aider().invoke(request(resume="../x"), asks=False)


def test_a_vendor_is_named_by_the_variables_that_it_knows():
    put = Aider().invoke(request(env=HERE, model="some-model"), asks=False)
    assert put.env["OPENAI_API_BASE"] == "http://127.0.0.1:4000/v1"
    assert put.env["OPENAI_API_KEY"] == "a-real-key"
    assert "--model=openai/some-model" in put.argv
