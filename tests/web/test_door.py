"""Who sees the pages, and what goes with them."""

from __future__ import annotations

import asyncio

import pytest

from daemon_clients import over_a_socket
from page_visitors import TOKENS, visitor
from trueup.daemon import Daemon, listen
from trueup.web import pages


async def test_a_link_lets_in_once(front, stranger):
    link = front.page_link
    async with stranger.get(link, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, "/runs")
        cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    async with stranger.get("/runs") as answer:
        assert answer.status == 200
    async with visitor(front.port) as another, another.get(link) as answer:
        assert answer.status == 403


@pytest.mark.parametrize("path", ["/runs", "/nowhere", "/enter", "/enter?code=guess"])
async def test_a_stranger_sees_nothing(stranger, store, path):
    async with stranger.get(path) as answer:
        text = await answer.text()
    assert answer.status in (401, 403)
    assert "trueup pages" in text


@pytest.mark.parametrize("cookie", ["", "x", "99999999999.n.m", "99999999999.n." + "0" * 64, "é.é.é"])
async def test_a_cookie_that_was_not_given_here_lets_nobody_in(front, stranger, cookie):
    async with stranger.get("/runs", headers={"Cookie": f"trueup-{front.port}={cookie}"}) as answer:
        assert answer.status == 401


async def test_a_cookie_outlives_the_daemon_and_not_the_token(front, human, store):
    [cookie] = (each.value for each in human.cookie_jar)
    for token, status in (("human-token", 200), ("another-token", 401)):
        tokens = type(TOKENS)("program-token", token)
        async with (
            Daemon(store, tokens=tokens) as later,
            listen(later, 0, pages) as again,
            visitor(again.port) as session,
        ):
            async with session.get("/runs", headers={"Cookie": f"trueup-{again.port}={cookie}"}) as answer:
                assert answer.status == status


async def test_every_answer_is_held_by_a_strict_policy(human):
    for path in ("/runs", "/nowhere", "/static/style.css"):
        async with human.get(path) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_what_is_static_is_not_sent_twice(human):
    async with human.get("/static/style.css") as answer:
        assert (answer.status, answer.content_type) == (200, "text/css")
        tag = answer.headers["ETag"]
    async with human.get("/static/style.css", headers={"If-None-Match": tag}) as answer:
        assert answer.status == 304
    for name in ("nothing.css", "..%2f_site.py", "%2e%2e/_site.py", "__init__.py"):
        async with human.get(f"/static/{name}") as answer:
            assert answer.status == 404


async def test_without_tokens_everybody_of_this_machine_is_let_in(store):
    async with Daemon(store) as daemon, listen(daemon, 0, pages) as front, visitor(front.port) as session:
        assert front.page_link == f"http://127.0.0.1:{front.port}/runs"
        async with session.get("/") as answer:
            assert (answer.status, answer.url.path) == (200, "/runs")


async def test_a_page_of_another_origin_and_a_foreign_name_are_refused(human, front):
    async with human.get("/runs", headers={"Origin": "https://evil.example"}) as answer:
        assert answer.status == 403
    async with human.get("/runs", headers={"Host": f"evil.example:{front.port}"}) as answer:
        assert answer.status == 403


async def test_a_human_gets_another_link_over_the_wire_and_a_program_does_not(front):
    async with over_a_socket(front.url) as client:
        await client.call("session.auth", {"token": "program-token"})
        await client.call("server.handshake", {"protocol_version": 3})
        with pytest.raises(Exception, match="human"):
            await client.call("server.page_link")
    async with over_a_socket(front.url) as client, visitor(front.port) as session:
        await client.call("session.auth", {"host_token": "human-token"})
        await client.call("server.handshake", {"protocol_version": 3})
        link = (await client.call("server.page_link"))["url"]
        async with session.get(link) as answer:
            assert (answer.status, answer.url.path) == (200, "/runs")


async def test_a_visitor_is_not_sent_away_like_a_stranger(front, human):
    async with human.get("/runs") as answer:
        await answer.read()
    await asyncio.sleep(1.2)
    connections = human.connector._conns
    assert connections
    async with human.get("/runs") as answer:
        assert answer.status == 200
