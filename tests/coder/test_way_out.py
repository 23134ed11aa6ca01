"""What an engine is given for its way to the vendor, by what the person has: a key, a token, a subscription."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from proxied import message, streamed, vendor
from trueup.coder import AgentNetwork, Limits, Step
from trueup.coder._session._meter import Meter
from trueup.coder._session._way_out import Tape, way_out
from trueup.coder._session.events import ErrorHappened
from trueup.core.errors import InputError
from trueup.core.usage import Usage
from trueup.harness import Surroundings, parse_engine
from trueup.harness.agents import AGENTS
from trueup.testing import EventLog

SECRET = "the-real-secret-of-the-person-0123456789"
BASE_URLS = {"claude-code": "ANTHROPIC_BASE_URL", "codex": "OPENAI_BASE_URL"}
PATHS = {"claude-code": "/anthropic/v1/messages", "codex": "/openai/responses"}


@pytest.fixture
def home(tmp_path):
    """A person's home, with nothing in it yet."""
    for folder in ("home/.claude", "home/.codex", "session"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path / "home"


@asynccontextmanager
async def opened(home, harness, *, user_config=False, log=None, tape=None, **environ):
    """The way of a harness in this home."""
    environ = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), **environ}
    around = Surroundings(folder=home, repository=home, in_base=lambda _: True, environ=environ, confined=True)
    engine = await parse_engine(harness, around)
    meter = Meter(log or EventLog(), Limits(), Usage.total([]), 0)
    session = home.parent / "session"
    async with way_out(engine, AgentNetwork.PROXY, environ, session, meter, tape, user_config=user_config) as way:
        yield way


def folder_seen_as(way, name):
    return next((Path(here) for here, there in way.writable.items() if there.endswith(name)), None)


@pytest.mark.parametrize(
    ("harness", "variable", "header"),
    [
        ("claude-code", "ANTHROPIC_API_KEY", "x-api-key"),
        ("claude-code", "ANTHROPIC_AUTH_TOKEN", "Authorization"),
        ("claude-code", "CLAUDE_CODE_OAUTH_TOKEN", "Authorization"),
        ("codex", "OPENAI_API_KEY", "Authorization"),
        ("codex", "CODEX_API_KEY", "Authorization"),
        ("codex", None, "Authorization"),
    ],
)
async def test_whatever_kind_of_key_a_person_has_the_proxy_has_it_and_the_agent_one_of_that_kind(
    home, harness, variable, header
):
    seen = {}

    async def note(request):
        seen.update(request.headers)
        return await streamed(request, message("x"))

    if variable is None:
        (home / ".codex" / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": SECRET, "tokens": None}))
    async with vendor(note) as url:
        environ = {BASE_URLS[harness]: url, **({variable: SECRET} if variable else {})}
        async with opened(home, harness, **environ) as way:
            told = way.proxy.environment(1)
            shown = told[variable or "OPENAI_API_KEY"]
            assert SECRET not in repr(way) + repr(told)
            connector = aiohttp.UnixConnector(str(way.proxy.socket))
            async with aiohttp.ClientSession(connector=connector) as session:
                own = {"Authorization": f"Bearer {shown}"}
                async with session.post(f"http://proxy{PATHS[harness]}", json={}, headers=own) as answer:
                    assert answer.status == 200
    assert seen[header].removeprefix("Bearer ") == SECRET
    assert shown not in repr(seen)


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
async def test_by_subscription_no_host_is_open_at_which_a_model_could_be_called_unmetered(home, harness):
    async with opened(home, harness) as way:
        for host in ("api.anthropic.com", "api.openai.com", "chatgpt.com", "claude.ai"):
            reader, writer = await asyncio.open_unix_connection(str(way.proxy.socket))
            writer.write(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
            assert b"not on the list" in await reader.read()
            writer.close()


async def test_by_subscription_codex_is_led_to_where_its_login_is_good(home):
    async with opened(home, "codex") as way:
        assert way.proxy.environment(1)["OPENAI_BASE_URL"] == "http://127.0.0.1:1/openai/backend-api/codex"


async def test_with_a_key_the_login_is_not_there_although_the_configuration_is(home):
    token = {"accessToken": "a", "refreshToken": "r", "expiresAt": int(time.time() * 1000) + 10**6}
    (home / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": token}))
    (home / ".claude" / "settings.json").write_text("{}")
    async with opened(home, "claude-code", user_config=True) as way:
        seen = {each.name for each in folder_seen_as(way, "/.claude").iterdir()}
    assert seen == {".credentials.json", "settings.json"}
    async with opened(home, "claude-code", user_config=True, ANTHROPIC_API_KEY=SECRET) as way:
        assert {each.name for each in folder_seen_as(way, "/.claude").iterdir()} == {"settings.json"}


async def test_what_an_agent_leaves_beside_the_socket_is_gone_for_the_next_turn(home):
    for _ in range(2):
        async with opened(home, "claude-code", ANTHROPIC_API_KEY=SECRET) as way:
            net = folder_seen_as(way, "/net")
            assert [each.name for each in net.iterdir()] == ["proxy.sock"]
            (net / "proxy.sock").unlink()
            (net / "proxy.sock" / "inside").mkdir(parents=True)
            (net / "proxy.sock" / "inside").chmod(0)
    assert list((home.parent / "session").iterdir()) == []


async def called(way, text):
    """One call of the model, through the proxy of a way."""
    connector = aiohttp.UnixConnector(str(way.proxy.socket))
    async with aiohttp.ClientSession(connector=connector) as session:
        body = {"model": "m-1", "messages": [{"role": "user", "content": text}]}
        own = {"x-api-key": way.proxy.key}
        async with session.post("http://proxy/anthropic/v1/messages", json=body, headers=own) as answer:
            await answer.read()
            return answer.status


def told(log):
    return [event for event in log.events if isinstance(event, Step | ErrorHappened)]


async def test_the_person_is_told_which_hosts_the_agent_was_kept_from(home):
    log = EventLog()
    async with opened(home, "claude-code", log=log, ANTHROPIC_API_KEY=SECRET) as way:
        for host in ("evil.example", "evil.example", *(f"h{number}.example" for number in range(6))):
            reader, writer = await asyncio.open_unix_connection(str(way.proxy.socket))
            writer.write(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
            await reader.read()
            writer.close()
    [note] = told(log)
    assert "not reached by the engine: evil.example:443 (2 times), h0.example:443" in note.text
    assert note.text.endswith(", 2 more")


async def test_the_person_is_told_what_a_cassette_could_not_hold_and_what_it_does_not_have(home):
    async def answer(request):
        return await streamed(request, message("sk-ant-", "api03-0123456789abcdef"))

    file, log = home / "tape.jsonl", EventLog()
    async with vendor(answer) as url:
        environ = {"ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_BASE_URL": url}
        tape = Tape(file, home)
        for _ in range(2):
            async with opened(home, "claude-code", log=log, tape=tape, **environ) as way:
                assert await called(way, "one") == 200
        again = Tape(file, home)
        async with opened(home, "claude-code", log=log, tape=again, **environ) as way:
            assert {await called(way, text) for text in ("one", "two")} == {409}
        async with opened(home, "claude-code", log=log, tape=again, **environ) as way:
            pass
    first, second, missing = (event.message for event in told(log))
    assert first == second
    assert "answers that were not recorded, since they may hold a secret: 1;" in first
    assert "no answer to POST /anthropic/v1/messages" in missing
    assert missing.endswith("(and 1 more)")


async def test_where_the_person_has_a_proxy_of_their_own_the_vendor_is_reached_through_it(home, monkeypatch):
    asked = []

    async def theirs(request):
        asked.append(str(request.url))
        return await streamed(request, message("x"))

    async with vendor(theirs) as url:
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.delenv("no_proxy", raising=False)
        environ = {"ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_BASE_URL": "http://vendor.invalid"}
        async with opened(home, "claude-code", **environ) as way:
            connector = aiohttp.UnixConnector(str(way.proxy.socket))
            async with aiohttp.ClientSession(connector=connector, trust_env=False) as session:
                own = {"x-api-key": way.proxy.key}
                async with session.post("http://proxy/anthropic/v1/messages", json={}, headers=own) as answer:
                    assert answer.status == 200
    assert asked == ["http://vendor.invalid/v1/messages"]


@pytest.mark.parametrize("agent", sorted(AGENTS))
async def test_every_agent_is_led_to_the_proxy_and_knows_its_key_alone(home, agent):
    for each in AGENTS[agent].vendors:
        variable = each.key_variables[0]
        if not each.base_url_variables:
            with pytest.raises(InputError, match="choose `--agent-network host`"):
                async with opened(home, agent, **{variable: SECRET}):
                    pass
            continue
        async with opened(home, agent, **{variable: SECRET}) as way:
            told = way.proxy.environment(4000)
        assert each.key(told), "it finds a key"
        assert any(told.get(name, "").startswith("http://127.0.0.1:4000/") for name in each.base_url_variables)
        assert SECRET not in str(told)
