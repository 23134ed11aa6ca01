"""The pages of sessions, and what their forms do."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest

from page_visitors import TOKENS, visitor
from sessions_on_pages import SCRIPT, begun, cheat, daemon, project, recorded, verdict, waits
from trueup.coder import Finding, Outcome, Severity, State, events
from trueup.daemon import Daemon, listen
from trueup.runs import Ended
from trueup.web import pages

__all__ = ["daemon", "project", "recorded"]


async def text_of(visit, path: str, status: int = 200) -> str:
    async with visit.get(path) as answer:
        text = await answer.text()
    assert answer.status == status, text
    return text


def fields(page: str, action: str) -> dict[str, str]:
    """What a form of a page would send."""
    form = re.search(rf'<form[^>]*action="[^"]*/{action}".*?</form>', page, re.DOTALL)
    assert form, f"there is no form for {action}"
    return dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form[0]))


async def send(visit, path: str, data: dict[str, str]) -> tuple[int, str]:
    async with visit.post(path, data=data, allow_redirects=False) as answer:
        return answer.status, await answer.text()


async def test_sessions_are_listed_newest_first_and_by_state(human, recorded):
    first = await recorded.session(State.NEEDS_APPROVAL, intent="the first", engine="command:bash agent.sh --fast")
    await recorded.iteration(first, 2, verdict(Outcome.VERIFIED))
    second = await recorded.session(State.MERGED, intent="the second", folder="/home/ada/slugs")
    page = await text_of(human, "/sessions")
    assert page.index("the second") < page.index("the first")
    row = page[page.index(f'id="session-{first}"') :]
    for told in ("needs approval", "command:bash", ">2<", "$0.5000"):
        assert told in row
    assert "--fast" not in page
    assert "/home/ada/slugs" in page
    for state, shown, hidden in (
        ("merged", second, first),
        ("waiting+for+you", first, second),
        ("needs_approval", first, second),
    ):
        page = await text_of(human, f"/sessions?state={state}&page=1")
        assert (shown in page, hidden in page) == (True, False)
    assert "No session is like that" in await text_of(human, "/sessions?state=failed")
    assert "No session is like that" in await text_of(human, "/sessions?page=77")


async def test_a_session_shows_what_was_agreed_tried_and_found(human, recorded):
    session_id = await recorded.session(State.NEEDS_APPROVAL)
    await recorded.iteration(session_id, 1, verdict(Outcome.REFUSED, findings=[cheat()]))
    await recorded.tell(session_id, events.UserInput("keep the old name"))
    await recorded.iteration(session_id, 2, verdict(Outcome.VERIFIED))
    page = await text_of(human, f"/sessions/{session_id}")
    for told in ("slugs join by dashes", "make test", "goal", "exit 0", "$0.5000", "keep the old name"):
        assert told in page
    assert f'href="/runs/{session_id}"' in page
    cells = page[page.index('class="iterations"') :]
    assert cells.index("refused") < cells.index("verified")
    assert "the change edits a file" in cells
    assert "It cannot be shown" in page, "the repository is not there"
    async with human.get(f"/sessions/{session_id[:-1]}", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, f"/sessions/{session_id}")
    assert "there is no session &#39;nope&#39;" in await text_of(human, "/sessions/nope", 404)
    await text_of(human, f"/sessions/{session_id}/nope", 404)


async def test_what_an_agent_wrote_is_shown_and_does_nothing(human, recorded):
    session_id = await recorded.session(State.NEEDS_APPROVAL, intent=SCRIPT, engine=f"command:{SCRIPT}", check=SCRIPT)
    found = verdict(Outcome.REFUSED, findings=[msgspec.structs.replace(cheat(), path=SCRIPT, message=SCRIPT)])
    await recorded.iteration(session_id, 1, found, output=f"\x1b[2J{SCRIPT}")
    await recorded.tell(session_id, events.UserInput(SCRIPT), events.ErrorHappened(SCRIPT, "other"))
    for path in ("/sessions", f"/sessions/{session_id}", f"/sessions/{session_id}/discard"):
        page = await text_of(human, path)
        assert "<script>" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "\x1b" not in page


async def test_half_a_character_breaks_no_page(human, recorded):
    session_id = await recorded.session(State.NEEDS_APPROVAL, intent="half \ud800")
    odd = Finding(severity=Severity.FLAG, kind="odd \ud800", message="\udcff", path="a\udcff.py", line=1)
    await recorded.iteration(session_id, 1, verdict(Outcome.VERIFIED, findings=[odd]), output="\ud800")
    assert "odd \\ud800" in await text_of(human, f"/sessions/{session_id}")
    for path in ("/sessions", "/runs", f"/runs/{session_id}", f"/sessions/{session_id}/discard"):
        await text_of(human, path)


@pytest.mark.parametrize("action", ["confirm", "approve", "respond", "resume", "discard", "cancel"])
async def test_nothing_happens_without_the_token_of_the_form(human, stranger, front, recorded, store, action):
    session_id = await recorded.session(State.NEEDS_APPROVAL)
    records = (await store.get(session_id)).record_count
    path = f"/sessions/{session_id}/{action}"
    page = await text_of(human, f"/sessions/{session_id}")
    good = fields(page, "respond") | {"words": "no"}
    for wrong in ("", "0" * 64, "é"):
        assert (await send(human, path, good | {"form_token": wrong}))[0] == 403
    assert (await send(stranger, path, good))[0] == 401
    tokens = type(TOKENS)("program-token", "another-token")
    [cookie] = (each.value for each in human.cookie_jar)
    async with (
        Daemon(store, tokens=tokens) as another,
        listen(another, 0, pages) as there,
        visitor(there.port) as session,
        session.post(path, data=good, headers={"Cookie": f"trueup-{there.port}={cookie}"}) as answer,
    ):
        assert answer.status == 401
    assert (await store.get(session_id)).record_count == records


async def test_a_change_is_discarded_once_and_only_the_one_that_was_seen(human, recorded, daemon):
    session_id = await recorded.session(State.NEEDS_APPROVAL)
    await recorded.iteration(session_id, 1, verdict(Outcome.VERIFIED))
    path = f"/sessions/{session_id}/discard"
    good = fields(await text_of(human, path), "discard")
    status, page = await send(human, path, good | {"seen": "change of yesterday"})
    assert status == 409
    assert "the session has gone on since your page was made" in page
    answers = await asyncio.gather(*(send(human, path, good) for _ in range(2)))
    assert sorted(status for status, _ in answers) == [303, 409]
    assert any("There is nothing to discard: the session is abandoned" in page for _, page in answers)
    story = await daemon.coding.sessions.story(session_id)
    assert (story.state, story.message) == (State.ABANDONED, "discarded")
    assert "There is nothing to discard: the session is abandoned" in await text_of(human, path, 409)


async def test_a_session_is_cancelled_for_a_reason(human, recorded, daemon):
    session_id = await recorded.session(State.RUNNING)
    path = f"/sessions/{session_id}/cancel"
    good = fields(await text_of(human, path), "cancel")
    assert (await send(human, path, good | {"words": "enough"}))[0] == 303
    story = await daemon.coding.sessions.story(session_id)
    assert (story.state, story.message) == (State.ABANDONED, "cancelled: enough")
    status, page = await send(human, path, good)
    assert status == 409
    assert "There is nothing to cancel: the session is abandoned" in page


async def test_what_the_state_does_not_allow_is_told_in_a_sentence_and_no_word_is_lost(human, recorded):
    session_id = await recorded.session(State.MERGED)
    page = await text_of(human, f"/sessions/{session_id}")
    assert "<form" not in page
    other = await recorded.session(State.NEEDS_APPROVAL)
    token = fields(await text_of(human, f"/sessions/{other}"), "respond")["form_token"]
    for action, told in (
        ("confirm", "nothing to confirm"),
        ("approve", "nothing to approve"),
        ("respond", "nothing to say"),
        ("resume", "nothing to go on with"),
    ):
        form = {"form_token": token, "words": "a word that took long to find"}
        status, page = await send(human, f"/sessions/{session_id}/{action}", form)
        assert (status, f"There is {told}: the session is merged" in page) == (409, True)
    status, page = await send(
        human, f"/sessions/{other}/respond", {"form_token": token, "words": "a word that took long to find"}
    )
    assert (status, "a word that took long to find</textarea>" in page) == (409, True)


async def test_a_page_is_told_what_changes_and_when_it_is_over(human, recorded, store):
    session_id = await recorded.session(State.RUNNING)
    page = await text_of(human, f"/sessions/{session_id}")
    known = re.search(r'data-known="([^"]*)"', page)[1]
    async with human.get(f"/live/sessions/{session_id}?until={known}") as stream:
        assert stream.content_type == "text/event-stream"
        await recorded.iteration(session_id, 1, verdict(Outcome.REFUSED, findings=[cheat()]))
        told = await until(stream, "refused")
        assert 'id="actions"' not in told, "nothing is sent that the page has"
        changed = events.StateChanged(state=State.FAILED, previous=State.RUNNING, message=f"no more {SCRIPT}")
        await recorded.tell(session_id, changed)
        await store.end(session_id, Ended("incomplete"))
        told = await until(stream, "event: end")
        assert "no more &lt;script&gt;" in told
        assert await stream.content.read() == b"\ndata: \n\n" or stream.content.at_eof()


async def until(stream, marked: str) -> str:
    told = ""
    async with asyncio.timeout(10):
        while marked not in told:
            told += (await stream.content.readany()).decode()
    return told


async def test_the_list_is_told_of_every_change(human, recorded):
    async with human.get("/live/sessions?state=needs_approval") as stream:
        assert "No session is like that" in await until(stream, "like that")
        session_id = await recorded.session(State.NEEDS_APPROVAL)
        assert f"/sessions/{session_id}" in await until(stream, "</table>")


async def test_a_change_goes_from_its_contract_over_another_go_into_the_branch(human, front, project, daemon):
    session_id = await begun(front, project)
    path = f"/sessions/{session_id}"
    page = await text_of(human, path)
    assert "goal" in page
    assert "Approve" not in page
    assert (await send(human, f"{path}/confirm", fields(page, "confirm")))[0] == 303

    await waits(daemon, session_id, 1)
    page = await text_of(human, path)
    assert '<span class="k">return </span>' in page, "the diff has colours"
    assert "&lt;img src=x onerror=alert(2)&gt;.py" in page
    assert "<script>" not in page
    assert "<img" not in page
    async with human.get(f"{path}/diff") as answer:
        assert (answer.content_type, answer.headers["X-Content-Type-Options"]) == ("text/plain", "nosniff")
        assert "+<script>alert(3)</script>" in await answer.text()

    again = fields(page, "respond") | {"words": "one more line, please"}
    answers = await asyncio.gather(*(send(human, f"{path}/respond", again) for _ in range(2)))
    assert sorted(status for status, _ in answers) == [303, 409]
    await waits(daemon, session_id, 2)
    page = await text_of(human, path)
    story = await daemon.coding.sessions.story(session_id)
    assert [attempt.verified for attempt in story.attempts] == [True, True]
    assert page.count("one more line, please") == 1

    sure = await text_of(human, f"{path}/approve")
    assert "<code>main</code>" in sure
    answers = await asyncio.gather(*(send(human, f"{path}/approve", fields(sure, "approve")) for _ in range(2)))
    assert sorted(status for status, _ in answers) == [303, 409]
    assert any("There is nothing to approve: the session is merged" in page for _, page in answers)
    commit = await project.bash("git rev-parse HEAD")
    page = await text_of(human, path)
    assert commit in page
    assert f"trueup attest verify {commit[:12]}" in page
    assert await project.bash("git rev-list --count HEAD") == "2"
