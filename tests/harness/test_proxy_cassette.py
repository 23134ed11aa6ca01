"""Answers that were recorded once and are given again."""

from __future__ import annotations

import json
import re

import aiohttp
import anthropic
import pytest
from aiohttp import web

from proxied import REAL_KEY, ask, client, message, proxied, raw_vendor, streamed, turns, usages, vendor
from trueup.core.errors import InputError
from trueup.harness.proxy import Cassette
from trueup.harness.proxy._normal import normal
from trueup.harness.proxy._redact import Redactor
from trueup.testing import ScriptedModel, Text, Tool

GITHUB_TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789"


def question(text: str, **more):
    return {"model": "m-1", "messages": [{"role": "user", "content": text}], **more}


async def said(proxy, session, text, **more):
    async with ask(proxy, session, json=question(text, **more)) as answer:
        return answer.status, await answer.read()


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "tape.jsonl"


@pytest.fixture
async def nowhere():
    """A vendor that is not there."""
    async with raw_vendor(b"") as url:
        pass
    return url


async def record(tape, *exchanges, places=None):
    """A cassette of these questions, each with the texts of its streamed answer."""
    answers = iter(exchanges)

    async def answer(request):
        return await streamed(request, message(*next(answers)[1]))

    async with vendor(answer) as url, client() as session:
        cassette = Cassette.record(tape, places or {})
        async with proxied(url, cassette=cassette) as (proxy, _):
            for asked, _ in exchanges:
                assert (await said(proxy, session, asked))[0] == 200
    return cassette


async def test_what_was_recorded_is_given_again_without_the_vendor_and_is_metered(tape, nowhere):
    await record(tape, ("one", ["first"]), ("two", ["sec", "ond"]))
    async with proxied(nowhere, cassette=Cassette.replay(tape)) as (proxy, log), client() as session:
        assert await said(proxy, session, "one") == (200, b"".join(message("first")))
        assert await said(proxy, session, "two") == (200, b"".join(message("sec", "ond")))
    assert [turn.assistant_text for turn in turns(log)] == ["first", "second"]
    assert [each.usage.output_tokens for each in usages(log)] == [7, 7]


async def test_the_same_question_gets_its_answers_in_order_and_others_may_come_between(tape, nowhere):
    await record(tape, ("a", ["1"]), ("b", ["2"]), ("a", ["3"]))
    async with proxied(nowhere, cassette=Cassette.replay(tape)) as (proxy, log), client() as session:
        for asked in ("b", "a", "a"):
            await said(proxy, session, asked)
    assert [turn.assistant_text for turn in turns(log)] == ["2", "1", "3"]


async def test_a_whole_conversation_with_tools_replays_through_the_library(tape, nowhere):
    async def converse(url, cassette):
        async with proxied(url, cassette=cassette) as (proxy, _):
            async with anthropic.AsyncAnthropic(base_url=proxy.url("anthropic"), api_key=proxy.key) as library:
                told = [{"role": "user", "content": "go"}]
                wanted = {"model": "claude-x", "max_tokens": 9}
                first = await library.messages.create(**wanted, messages=told)
                used = first.content[0]
                result = {"type": "tool_result", "tool_use_id": used.id, "content": "in 0.12s on 2026-01-02"}
                told += [{"role": "assistant", "content": [used.model_dump()]}, {"role": "user", "content": [result]}]
                return (await library.messages.create(**wanted, messages=told)).content[0].text

    async with ScriptedModel([Tool("look"), Text("seen")]) as model:
        assert await converse(model.url, Cassette.record(tape)) == "seen"
    cassette = Cassette.replay(tape)
    assert await converse(nowhere, cassette) == "seen"
    assert (cassette.unused, cassette.misses) == (0, [])


async def test_a_miss_is_an_error_that_says_what_differs(tape, nowhere):
    await record(tape, ("please fix the parser", ["x"]))
    cassette = Cassette.replay(tape)
    async with proxied(nowhere, cassette=cassette) as (proxy, log), client() as session:
        status, body = await said(proxy, session, "please fix the lexer", temperature=1)
        assert status == 409
        told = json.loads(body)["error"]["message"]
    assert "body.messages[0].content: recorded" in told
    assert "'please fix the parser'" in told
    assert "body.temperature: asked, and not recorded" in told
    assert cassette.misses == [told.removeprefix("trueup: ")]
    assert cassette.unused == 1
    assert turns(log)[0].error == cassette.misses[0]
    assert usages(log) == []


async def test_a_question_more_than_was_recorded_is_a_miss(tape, nowhere):
    await record(tape, ("one", ["x"]))
    async with proxied(nowhere, cassette=Cassette.replay(tape)) as (proxy, _), client() as session:
        await said(proxy, session, "one")
        status, body = await said(proxy, session, "one")
    assert status == 409
    assert b"all 1 were given" in body


async def test_folders_are_where_they_are_this_time(tape, nowhere):
    asked = "in /home/old/repo, memory in ~/.claude/projects/-home-old-repo"
    await record(tape, (asked, ["cd /home/old/repo"]), places={"/home/old/repo": "cwd"})
    replay = Cassette.replay(tape, {"/srv/new": "cwd"})
    async with proxied(nowhere, cassette=replay) as (proxy, log), client() as session:
        assert (await said(proxy, session, "in /srv/new, memory in ~/.claude/projects/-srv-new"))[0] == 200
    assert turns(log)[0].assistant_text == "cd /srv/new"
    assert not re.search(r"home.old", tape.read_text())


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_errors_replay_as_errors(tape, nowhere, status):
    async def refuse(request):
        return web.json_response({"error": {"message": "no"}}, status=status, headers={"Retry-After": "1"})

    async with vendor(refuse) as url, client() as session:
        async with proxied(url, cassette=Cassette.record(tape)) as (proxy, _):
            await said(proxy, session, "x")
        async with (
            proxied(nowhere, cassette=Cassette.replay(tape)) as (proxy, _),
            ask(proxy, session, json=question("x")) as answer,
        ):
            assert (answer.status, answer.headers["Retry-After"]) == (status, "1")
            assert await answer.json() == {"error": {"message": "no"}}


async def test_an_answer_that_is_cut_is_not_recorded(tape):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    async with raw_vendor(head) as url, proxied(url, cassette=Cassette.record(tape)) as (proxy, _), client() as session:
        with pytest.raises(aiohttp.ClientError):
            await said(proxy, session, "x")
    assert len(tape.read_text().splitlines()) == 1


async def test_no_secret_reaches_a_cassette_or_an_event(tape):
    async def tattle(request):
        shown = f"{request.headers['x-api-key']} {GITHUB_TOKEN} https://me:hunter22@host/"
        return web.json_response(
            {
                "content": [
                    {"type": "text", "text": shown},
                    {"type": "tool_use", "id": "t", "name": "n", "input": {"k": shown}},
                ]
            },
            headers={"Set-Cookie": "session=cookie-of-the-vendor", "x-echo": shown},
        )

    async with vendor(tattle) as url, proxied(url, cassette=Cassette.record(tape)) as (proxy, log), client() as session:
        text = f"my token is {GITHUB_TOKEN}, key {proxy.key}, Authorization: Bearer abcdefghijklmnopqrstuv"
        headers = {"Cookie": "a=cookie-of-the-agent", "Authorization": "Bearer some-other-thing-entirely"}
        async with ask(proxy, session, json=question(text), headers=headers, path="/v1/messages?beta=true") as answer:
            assert answer.status == 200
    everything = tape.read_text() + repr(log.events)
    assert "[redacted]" in everything
    for secret in (
        REAL_KEY,
        proxy.key,
        GITHUB_TOKEN,
        "hunter22",
        "cookie-of",
        "some-other-thing",
        "abcdefghijklmnopqrstuv",
    ):
        assert secret not in everything
    assert not re.search(r"sk-|ghp_|Bearer (?!\[)", everything)


async def test_a_secret_spelt_out_piece_by_piece_is_withheld(tape):
    cassette = await record(tape, ("x", ["it is ", GITHUB_TOKEN[:9], GITHUB_TOKEN[9:]]))
    assert cassette.withheld == 1
    assert GITHUB_TOKEN[9:] not in tape.read_text()


async def test_a_cassette_is_json_lines_with_a_version(tape):
    await record(tape, ("one", ["first"]))
    head, entry = map(json.loads, tape.read_text().splitlines())
    assert head == {"trueup_cassette": 1}
    assert entry["asked"]["target"] == "/anthropic/v1/messages"
    assert entry["asked"]["body"] == question("one")
    assert "\n".join(entry["answered"]["lines"]).encode() == b"".join(message("first"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        ("", r"tape.jsonl:1: "),
        ('{"trueup_cassette": 9}', "version 9"),
        ('{"trueup_cassette": 1}\n{"asked": 1}', r"tape.jsonl:2: "),
    ],
)
async def test_a_file_that_is_no_cassette_is_refused_with_a_sentence(tape, nowhere, content, why):
    if content is not None:
        tape.write_text(content)
    with pytest.raises(InputError, match=why):
        async with proxied(nowhere, cassette=Cassette.replay(tape)):
            pass


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("today is 2026-03-05", "today is 2027-11-30"),
        ("at 2026-03-05T10:11:12.123Z", "at 2027-01-01T00:00:00Z"),
        ("Thu Mar  5 10:11:12 UTC 2026", "Fri Dec 31 23:59:59 CET 2027"),
        ("Thu, 05 Mar 2026 10:11:12 GMT", "Fri, 31 Dec 2027 23:59:59 GMT"),
        ("Today is Thursday, March 5, 2026.", "Today is Friday, December 31, 2027."),
        ("session 0f8fad5b-d9cb-469f-a165-70867728950e", "session 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("msg_019a1c1e-f9bd-5757-8247-0123456789ab", "msg_7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("toolu_01A09q90qw90lq917835lq9", "toolu_01T1x1fJ34qAmk2tNTrN7Up6"),
        ("Chunk ID: 191e16", "Chunk ID: 9bb43f"),
        ("/tmp/tmpab12cd/x.py", "/tmp/pytest-of-me/x.py"),
        ("1 passed in 0.03s", "1 passed in 11.20s"),
        ("commit 3f2a9b1", "commit b00b1e5"),
        ("http://127.0.0.1:40123/x", "http://127.0.0.1:9/x"),
        ("started at 1767225600", "started at 1798761599"),
        ("cc_version=2.1.325.a1; cch=00af1;", "cc_version=2.2.0; cch=9be11;"),
    ],
)
def test_what_changes_from_run_to_run_does_not_count(one, other):
    assert normal(one) == normal(other)
    assert normal(normal(one)) == normal(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fix add()", "fix sub()"),
        ("facade", "decade"),
        ("exit 1", "exit 2"),
        ("line 12", "line 13"),
        ("v1.2.3", "v1.2.4"),
    ],
)
def test_what_was_meant_does_count(one, other):
    assert normal(one) != normal(other)


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijklmnop",
        "sk-proj-abcdefghijklmnop",
        "AIzaSyA-1234567890abcdefghijklmnopqrstuv",
        GITHUB_TOKEN,
        "xoxb-123456789012-abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "known-to-be-secret",
    ],
)
def test_known_shapes_and_known_secrets_are_taken_out(secret):
    redactor = Redactor(["known-to-be-secret"])
    assert redactor.value({"a": [f"x {secret} y"]}) == {"a": ["x [redacted] y"]}
    assert secret not in repr(redactor)


def test_ordinary_words_stay():
    text = "task-based risk-free sk-learn, https://host/path, Bearer of news, basic usage"
    assert Redactor().text(text) == text


async def test_two_cannot_record_on_one_cassette_and_the_first_loses_nothing(tape):
    async def answer(request):
        return await streamed(request, message("first"))

    async with vendor(answer) as url, client() as session:
        async with proxied(url, cassette=Cassette.record(tape)) as (proxy, _):
            await said(proxy, session, "one")
            await proxy.settled()
            for second in (Cassette.record(tape), Cassette.replay(tape)):
                with pytest.raises(InputError, match="another run is recording it"):
                    async with proxied(url, cassette=second):
                        pass
        assert len(tape.read_text().splitlines()) == 2


async def test_a_recording_goes_on_with_the_next_proxy_unless_somebody_else_wrote_to_it(tape):
    async def answer(request):
        return await streamed(request, message("x"))

    cassette = Cassette.record(tape)
    async with vendor(answer) as url, client() as session:
        for number in range(2):
            async with proxied(url, cassette=cassette) as (proxy, _):
                await said(proxy, session, str(number))
        assert len(tape.read_text().splitlines()) == 3
        async with proxied(url, cassette=Cassette.record(tape)):
            pass
        with pytest.raises(InputError, match="somebody else wrote to it"):
            async with proxied(url, cassette=cassette):
                pass
