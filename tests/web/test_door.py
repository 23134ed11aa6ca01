"""Who sees the pages, and what goes with them."""

from __future__ import annotations

import asyncio
import socket
from io import BytesIO

import aiohttp
import pytest
from yarl import URL

from daemon_clients import over_a_socket
from page_visitors import TOKENS, let_in, visitor
from trueup.core.errors import InputError
from trueup.daemon import Daemon, listen
from trueup.runs import Started
from trueup.web import pages


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


async def test_a_link_lets_in_once(front):
    link = front.page_link
    async with visitor(front.port, URL(link).host) as browser:
        async with browser.get(link, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/runs")
            cookie = answer.headers["Set-Cookie"]
        async with browser.get("/runs") as answer:
            assert answer.status == 200
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
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
    """Nor is a connection on which a browser only asked for what is beside a page."""
    [cookie] = human.cookie_jar
    async with visitor(front.port) as beside:
        async with beside.get("/static/style.css", headers={"Cookie": f"{cookie.key}={cookie.value}"}) as answer:
            await answer.read()
        await asyncio.sleep(1.2)
        for session in (human, beside):
            [[(connection, _)]] = session.connector._conns.values()
            assert connection.is_connected()
    async with human.get("/runs") as answer:
        assert answer.status == 200


async def test_a_link_is_not_used_up_by_whoever_only_asks_for_it(front, stranger):
    link = front.page_link
    async with stranger.head(link) as answer:
        assert answer.status == 405
    async with let_in(link) as session, session.get("/runs") as answer:
        assert answer.status == 200


async def test_who_is_in_comes_in_again_by_any_link_and_keeps_the_forms_of_open_pages(front):
    link = front.page_link
    async with let_in(link) as session:
        [cookie] = (each.value for each in session.cookie_jar)
        for again in (link, front.page_link):
            async with session.get(again) as answer:
                assert (answer.status, answer.url.path) == (200, "/runs")
        assert [each.value for each in session.cookie_jar] == [cookie]


async def test_a_browser_that_does_not_find_the_name_comes_in_by_the_number(front):
    async with let_in(str(URL(front.page_link).with_host("127.0.0.1"))) as session, session.get("/runs") as answer:
        assert answer.status == 200


async def test_of_two_who_open_a_link_at_once_one_comes_in(front):
    link = front.page_link
    async with visitor(front.port) as one, visitor(front.port) as two:
        answers = await asyncio.gather(*(each.get(link, allow_redirects=False) for each in (one, two)))
        assert sorted(answer.status for answer in answers) == [303, 403]


async def test_a_cookie_of_the_same_name_beside_ours_keeps_nobody_out(front, human):
    [cookie] = human.cookie_jar
    for tossed in (
        f"{cookie.key}=junk; {cookie.key}={cookie.value}",
        f"{cookie.key}={cookie.value}; {cookie.key}=junk",
    ):
        async with visitor(front.port) as session, session.get("/runs", headers={"Cookie": tossed}) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_page_of_elsewhere_that_sends_a_person_here_shows_them_nothing_yet(front, human, site):
    """It could be a server at another port of this machine, and have Enter pressed on a button here."""
    async with human.get("/runs", headers={"Sec-Fetch-Site": site}) as answer:
        text = await answer.text()
    assert answer.status == 401
    assert '<a href="">go on</a>' in text
    async with human.get("/runs", headers={"Sec-Fetch-Site": "same-origin"}) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded; charset=nonsense", b"a=b"),
        ("application/x-www-form-urlencoded", b"\xff=\xfe"),
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x--\r\n"),
        ("text/plain", b"form_token=x"),
    ],
)
async def test_what_is_no_form_of_ours_is_refused_on_a_page(human, kind, body):
    async with human.post("/sessions/any/approve", data=body, headers={"Content-Type": kind}) as answer:
        assert answer.status == 400
        assert "not what a form of these pages sends" in await answer.text()


async def test_what_is_not_there_and_what_is_too_much_are_told_in_a_sentence(human):
    async with human.get("/nowhere") as answer:
        assert (answer.status, "there is no such page" in await answer.text()) == (404, True)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with human.post("/sessions/any/respond", data=BytesIO(b"words=" + b"x" * (1 << 20)), headers=form) as answer:
        assert (answer.status, "more than a form can hold" in await answer.text()) == (413, True)


async def test_a_form_of_an_earlier_visit_is_told_so_to_who_is_in(human):
    async with human.post("/sessions/any/approve", data={"form_token": "0" * 64}) as answer:
        assert answer.status == 403
        assert "load the page again" in await answer.text()


async def test_nothing_that_was_recorded_stays_in_a_cache(human, store):
    run = await store.start(Started("mend it"))
    for path in ("", "/rows", "/records/0", "/export/html", "/export/jsonl"):
        async with human.get(f"/runs/{run.run_id}{path}") as answer:
            assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
async def test_nobody_else_is_found_where_browsers_look_for_the_pages_first(front, daemon):
    async with aiohttp.ClientSession() as session, session.get(f"http://[::1]:{front.port}/health") as answer:
        assert answer.status == 200
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as squatter:
        port = squatter.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is taken"):
            async with listen(daemon, port, pages):
                pass
    async with listen(daemon, port, pages) as later:
        assert later.port == port
