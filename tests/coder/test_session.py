"""Sessions: from an intent to a merge that can be trusted."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from session_play import Play
from trueup.coder import (
    Absent,
    Accept,
    Approve,
    Deliver,
    Edit,
    FailureReason,
    Leave,
    Limits,
    Once,
    Revise,
    SendBack,
    State,
    events,
    find_own_key,
    verify_attestation,
)
from trueup.contract import load_contract
from trueup.core.errors import InputError, Kind, TrueupError
from trueup.harness import ToolCall
from trueup.runs import RunStore
from trueup.workspace import Repository

SUITE = "python3 -m unittest discover -s tests -t . -q"
MEND = "sed -i \"s/'_')/'-')/\" slug.py"
DASH = "grep -q \"'-'\" slug.py"
MANY = Limits(iterations=4, retry_secs=0.01)


@pytest.fixture
async def play(project):
    await project.bash("git config user.name Ada && git config user.email ada@example.org")
    async with await RunStore.open() as store:
        yield Play(project, store)


async def test_an_honest_change_is_merged_and_attested(play):
    before = await play.head()
    story = await play.code(MEND, SUITE)
    assert story.state is State.MERGED
    assert await play.git("rev-parse", "HEAD^") == before
    assert "'-'" in (play.project.root / "slug.py").read_text()
    assert await play.git("status", "--porcelain") == ""
    repo = await Repository.open(play.project.root)
    assert (await verify_attestation(repo, story.delivered.commit, [find_own_key().public])).holds


async def test_the_states_are_passed_in_order_and_recorded(play):
    story = await play.code(MEND, DASH)
    expected = "contract_proposed contract_confirmed running verifying needs_approval merged".split()
    assert play.watching.states == expected
    assert (await play.store.verify(story.id)).ok
    again = await play.sessions.story(story.id)
    assert again == story


async def test_a_cheat_that_edits_the_test_is_refused_and_named(play):
    before = await play.head()
    story = await play.code("sed -i 's/a-nice-title/a_nice_title/' tests/test_slug.py", SUITE)
    assert (story.state, story.reason) == (State.FAILED, FailureReason.VERIFICATION)
    assert "tests/test_slug.py" in {finding.path for finding in story.verdict.findings}
    assert await play.head() == before


async def test_a_failure_is_sent_back_with_its_output_and_repaired(play):
    script = f"""
    if grep -q 'not done yet' "$TRUEUP_PROMPT_FILE"; then {MEND}; else echo '# a try' >> slug.py; fi
    """
    story = await play.code(script, SUITE, limits=MANY)
    assert story.state is State.MERGED
    assert len(story.attempts) == 2
    assert "a_nice_title" in play.watching.prompts[1], "the tail of the failed check"


async def test_the_prompt_is_on_stdin_too(play):
    story = await play.code(f"grep -q 'Make slugs join by dashes' && {MEND}", DASH)
    assert story.state is State.MERGED


async def test_a_hidden_check_is_in_no_prompt_and_still_decides(play):
    hidden = {"name": "the_secret_one", "command": "test -f secret-marker", "hidden": True}
    story = await play.code(f"{MEND}; echo $RANDOM$RANDOM >> notes.txt", DASH, hidden, limits=Limits(iterations=2))
    assert (story.state, story.reason) == (State.FAILED, FailureReason.VERIFICATION)
    said = "\n".join(play.watching.prompts)
    assert "not shown" in said
    assert "secret" not in said


async def test_an_engine_that_leaves_the_same_files_again_is_stopped(play):
    story = await play.code("echo '# no' > note.py", SUITE, limits=MANY)
    assert (story.state, story.reason) == (State.FAILED, FailureReason.NO_PROGRESS)
    assert len(story.attempts) == 2


async def test_an_engine_that_meets_the_same_failure_three_times_is_stopped(play):
    story = await play.code('echo "# $(date +%N)" >> note.py', SUITE, limits=Limits(iterations=8))
    assert (story.state, story.reason) == (State.FAILED, FailureReason.NO_PROGRESS)
    assert len(story.attempts) == 3


async def test_an_engine_that_does_nothing_is_told_so(play):
    story = await play.code("true", SUITE)
    assert (story.state, story.reason) == (State.FAILED, FailureReason.VERIFICATION)
    assert "changed nothing" in story.message


async def test_a_contract_without_a_goal_ends_before_an_engine_is_started(play):
    story = await play.code("touch ran", "test -f slug.py")
    assert (story.state, story.reason) == (State.FAILED, FailureReason.UNPROVEN)
    assert not play.watching.prompts


async def test_a_contract_without_a_goal_is_enough_for_whoever_says_so(play):
    story = await play.code("echo '# more' >> slug.py", "test -f slug.py", allow_no_goal=True)
    assert story.state is State.MERGED


async def test_a_broken_check_ends_a_session_with_the_fix(play):
    story = await play.code("touch ran", DASH, "python3 -m unittest discover -p 'nothing_*.py'")
    assert (story.state, story.reason) == (State.FAILED, FailureReason.UNPROVEN)
    assert "check_1" in story.message
    assert not play.watching.prompts


# Limits


async def test_a_limit_on_time_ends_the_engine_with_everything_that_it_started(play):
    script = "setsid sleep 1000 & sleep 1000"
    story = await play.code(script, DASH, limits=Limits(iterations=3, engine_secs=1))
    assert (story.state, story.reason) == (State.FAILED, FailureReason.BUDGET_EXHAUSTED)


async def test_work_that_was_done_when_the_time_was_up_counts(play):
    story = await play.code(f"{MEND}; sleep 1000", DASH, limits=Limits(iterations=1, engine_secs=2))
    assert story.state is State.MERGED


async def test_a_limit_on_tokens_ends_the_engine_while_it_runs(play):
    script = """
    for n in 1 2 3 4 5 6; do
      echo '{"trueup": "usage", "input_tokens": 90, "output_tokens": 10, "cost_usd": 0.01}'; sleep 0.05
    done
    sleep 1000
    """
    story = await play.code(script, DASH, limits=Limits(iterations=3, tokens=250))
    assert (story.state, story.reason) == (State.FAILED, FailureReason.BUDGET_EXHAUSTED)
    assert story.used.input_tokens == 270
    assert "300 tokens of the 250" in story.message


@pytest.mark.parametrize("limit", [{"usd": 0.015}, {"turns": 1}])
async def test_a_limit_on_dollars_or_turns_ends_it_too(play, limit):
    script = 'for n in 1 2 3; do echo \'{"trueup": "usage", "cost_usd": 0.01}\'; done; sleep 1000'
    story = await play.code(script, DASH, limits=Limits(iterations=3, **limit))
    assert (story.state, story.reason) == (State.FAILED, FailureReason.BUDGET_EXHAUSTED)


async def test_a_limit_that_cannot_be_metered_is_said(play):
    story = await play.code(MEND, DASH, limits=Limits(iterations=1, usd=1))
    assert story.state is State.MERGED
    assert play.watching.of(events.BudgetSpent)[-1].unmetered == ["dollars"]


async def test_a_limit_that_cannot_be_metered_is_refused_by_whoever_is_strict(play):
    story = await play.code(MEND, DASH, limits=Limits(iterations=1, usd=1, strict=True))
    assert (story.state, story.reason) == (State.FAILED, FailureReason.BUDGET_EXHAUSTED)
    assert "dollars" in story.message


async def test_a_passing_failure_is_tried_again_without_counting(play):
    script = f"test -f .git/tried || {{ touch .git/tried; exit 75; }}; {MEND}"
    story = await play.code(script, DASH)
    assert story.state is State.MERGED
    assert len(story.attempts) == 1
    assert play.watching.of(events.ErrorHappened)


async def test_an_engine_that_is_not_logged_in_says_so(play):
    script = 'echo \'{"trueup": "error", "kind": "auth", "message": "log in first"}\'; exit 1'
    story = await play.code(script, DASH, limits=MANY)
    assert (story.reason, story.failed_by_engine) == (FailureReason.AUTH_REQUIRED, True)
    assert "log in first" in story.message


async def test_an_engine_that_falls_silent_is_ended(play):
    story = await play.code("sleep 1000", DASH, limits=Limits(iterations=1, idle_secs=0.5))
    assert (story.reason, story.failed_by_engine) == (FailureReason.STALLED, True)


async def test_what_an_engine_tells_is_recorded(play):
    script = f'echo \'{{"trueup": "tool_call", "name": "edit", "arguments": {{"path": "slug.py"}}}}\'; {MEND}'
    await play.code(script, DASH)
    assert play.watching.of(ToolCall)[0].input == {"path": "slug.py"}


# Approval and delivery


async def test_a_finding_above_info_waits_for_a_person_in_spite_of_yes(play):
    before = await play.head()
    story = await play.code(f"{MEND}; sed -i 's/test_words/test_splits/' tests/test_slug.py", SUITE)
    assert story.state is State.NEEDS_APPROVAL
    assert await play.head() == before
    answer = Once(Approve("--yes"), Absent())
    story = await play.sessions.resume(story.id, answer, play.watching)
    assert story.state is State.MERGED


async def test_a_change_that_waits_outlives_a_cleaned_cache(play, tmp_path):
    story = await play.code(MEND, SUITE, person=Once(Accept("Ada"), Absent()))
    assert story.state is State.NEEDS_APPROVAL
    shutil.rmtree(tmp_path / "cache")
    story = await play.sessions.resume(story.id[:8], Once(Approve("--yes"), Absent()), play.watching)
    assert story.state is State.MERGED
    assert "'-'" in (play.project.root / "slug.py").read_text()


async def test_a_verified_change_can_be_sent_back_with_words(play):
    script = (
        f"{MEND}; if grep -q 'a docstring, please' \"$TRUEUP_PROMPT_FILE\"; then echo '# documented' >> slug.py; fi"
    )
    story = await play.code(script, DASH, person=Once(SendBack("a docstring, please"), Absent(yes=True)))
    assert story.state is State.MERGED
    assert "# documented" in (play.project.root / "slug.py").read_text()


async def test_an_engine_that_ignores_words_does_not_lose_the_verified_change(play):
    story = await play.code(MEND, DASH, person=Once(SendBack("do more"), Absent(yes=True)))
    assert story.state is State.MERGED


async def test_a_session_hears_what_is_said_while_it_runs(play):
    script = f"""
    if grep -q 'spaces too' "$TRUEUP_PROMPT_FILE"; then echo '# heard' >> slug.py; else {MEND}; sleep 2; fi
    """
    running = asyncio.create_task(play.code(script, DASH))
    while not play.watching.prompts:
        await asyncio.sleep(0.02)
    (session,) = await play.sessions.list()
    assert await play.sessions.respond(session.id, "spaces too", Absent(), play.watching) is None
    story = await running
    assert story.state is State.MERGED
    assert "# heard" in (play.project.root / "slug.py").read_text()


@pytest.mark.parametrize("deliver", [Deliver.BRANCH, Deliver.PATCH, Deliver.NONE])
async def test_a_change_is_delivered_as_it_was_asked_for(play, deliver):
    before = await play.head()
    story = await play.code(MEND, DASH, deliver=deliver)
    assert await play.head() == before
    assert await play.git("status", "--porcelain") == ""
    if deliver is Deliver.BRANCH:
        assert story.state is State.MERGED
        assert await play.git("rev-parse", story.delivered.branch) == story.delivered.commit
    else:
        assert story.state is State.REPORTED
    if deliver is Deliver.PATCH:
        await play.git("apply", story.delivered.patch)
        assert "'-'" in (play.project.root / "slug.py").read_text()


async def test_the_commit_says_what_was_wanted_and_where_it_came_from(play):
    story = await play.code(MEND, DASH, intent="Use dashes\n\nUnderscores are ugly.")
    message = await play.git("log", "-1", "--format=%B")
    assert message.startswith("Use dashes\n\nUnderscores are ugly.\n\nTrueup-Session:")
    assert story.id in message


# The base moves


async def test_a_base_that_moved_is_merged_with_and_judged_again(play):
    def commit_meanwhile():
        return play.project.bash("echo 'more' > other.txt && git add -A && git commit -qm meanwhile")

    running = asyncio.create_task(play.code(f"sleep 1; {MEND}", SUITE))
    while not play.watching.prompts:
        await asyncio.sleep(0.02)
    await commit_meanwhile()
    story = await running
    assert story.state is State.MERGED
    assert play.watching.states.count("verifying") == 2
    assert (play.project.root / "other.txt").exists()
    repo = await Repository.open(play.project.root)
    assert (await verify_attestation(repo, story.delivered.commit, [find_own_key().public])).holds


async def test_a_merge_that_is_red_on_the_moved_base_is_repaired_there(play):
    script = f"sleep 1; {MEND}; if test -f strict; then echo '# strict' >> slug.py; fi"
    strict = {"name": "strictly", "command": "! test -f strict || grep -q '# strict' slug.py"}
    running = asyncio.create_task(play.code(script, DASH, strict, limits=MANY))
    while not play.watching.prompts:
        await asyncio.sleep(0.02)
    await play.project.bash("touch strict && echo '# strict' > more.py && git add -A && git commit -qm meanwhile")
    story = await running
    assert story.state is State.MERGED
    assert "# strict" in (play.project.root / "slug.py").read_text()


async def test_a_base_that_moved_to_where_checks_cannot_be_judged_is_not_merged_into(play):
    running = asyncio.create_task(play.code(f"sleep 1; {MEND}", DASH, SUITE))
    while not play.watching.prompts:
        await asyncio.sleep(0.02)
    await play.project.bash("git rm -q tests/test_slug.py && git commit -qm 'no tests any more'")
    moved = await play.head()
    story = await running
    assert (story.state, story.reason) == (State.FAILED, FailureReason.UNPROVEN)
    assert await play.head() == moved


async def test_a_conflict_leaves_the_verified_change_waiting(play):
    running = asyncio.create_task(play.code(f"sleep 1; {MEND}", DASH))
    while not play.watching.prompts:
        await asyncio.sleep(0.02)
    await play.project.bash("sed -i \"s/'_')/'+')/\" slug.py && git commit -qam meanwhile")
    moved = await play.head()
    story = await running
    assert story.state is State.NEEDS_APPROVAL
    assert await play.head() == moved
    assert "slug.py" in play.watching.of(events.ErrorHappened)[-1].message
    answer = Once(Approve("--yes", Deliver.BRANCH), Absent())
    story = await play.sessions.resume(story.id, answer, play.watching)
    assert story.state is State.MERGED


async def test_files_that_the_user_changed_meanwhile_are_not_written_over(play):
    (play.project.root / "slug.py").write_text("# my own work\n")
    story = await play.code(MEND, DASH)
    assert story.state is State.NEEDS_APPROVAL
    assert (play.project.root / "slug.py").read_text() == "# my own work\n"
    await play.git("checkout", "slug.py")
    story = await play.sessions.resume(story.id, Once(Approve("--yes"), Absent()), play.watching)
    assert story.state is State.MERGED


async def test_ignored_files_are_named_and_prove_nothing(play):
    story = await play.code("mkdir build && echo dash > build/result", "grep -q dash build/result")
    assert (story.state, story.reason) == (State.FAILED, FailureReason.VERIFICATION)
    assert "build/" in next(f.message for f in story.verdict.findings if f.kind == "ignored_files")


# Engines that misbehave


@pytest.mark.parametrize(
    "script",
    [
        "rm -rf ./* .git",
        f"{MEND}; git config user.email a@b; git config user.name a; git commit -qam 'all mine'; git tag v9",
        f"{MEND}; git checkout -q --orphan other; git config core.hooksPath /tmp; rm -rf .git/refs",
        f"{MEND}; (setsid sleep 1000 >/dev/null 2>&1 &)",
        f"{MEND}; head -c 300000 /dev/urandom; exit 3",
        f"{MEND}; kill -9 $$",
        "chmod 000 . || true",
    ],
    ids=["deletes", "commits", "rewrites", "daemon", "garbage", "dies", "closes"],
)
async def test_an_engine_that_misbehaves_harms_nobody(play, script):
    before = await play.head()
    story = await play.code(script, DASH)
    mended = "sed" in script
    assert story.state is (State.MERGED if mended else State.FAILED), story.message
    assert await play.git("rev-parse", "HEAD~1" if mended else "HEAD") == before
    assert await play.git("status", "--porcelain") == ""


async def test_an_engine_that_fails_and_does_nothing_is_the_engines_failure(play):
    story = await play.code("echo 'out of order' >&2; exit 9", DASH, limits=MANY)
    assert (story.reason, story.failed_by_engine) == (FailureReason.ERROR, True)
    assert "out of order" in story.message
    assert len(story.attempts) == 1


async def test_an_engine_that_is_not_there_is_found_before_anything_is_run(play):
    with pytest.raises(TrueupError, match="no-such-agent") as error:
        await play.code("true", DASH, engine="command:no-such-agent --now")
    assert error.value.kind is Kind.SPAWN
    assert await play.sessions.list() == []


async def test_a_session_that_could_not_commit_does_not_begin(play):
    await play.project.bash("git config --unset user.name; git config --unset user.email")
    with pytest.raises(InputError, match="who you are"):
        await play.code(MEND, DASH)
    assert await play.sessions.list() == []
    assert (await play.code(MEND, DASH, deliver=Deliver.PATCH)).state is State.REPORTED


async def test_a_script_of_the_users_that_is_not_committed_can_be_the_engine(play):
    (play.project.root / "agent.sh").write_text(MEND)
    story = await play.code("", DASH, engine="command:bash agent.sh")
    assert story.state is State.MERGED
    assert await play.git("ls-files", "agent.sh") == ""


async def test_two_sessions_on_one_repository_both_arrive(play):
    other = Play(play.project, play.store)
    first = play.code(f"sleep 0.5; {MEND}", DASH)
    second = other.code("echo ok > marker", "test -f marker")
    one, two = await asyncio.gather(first, second)
    assert (one.state, two.state) == (State.MERGED, State.MERGED)
    assert (play.project.root / "marker").exists()
    assert "'-'" in (play.project.root / "slug.py").read_text()


async def test_only_one_process_works_on_a_session(play):
    running = asyncio.create_task(play.code(f"sleep 1; {MEND}", DASH))
    while not play.watching.prompts:
        await asyncio.sleep(0.02)
    (session,) = await play.sessions.list()
    assert await play.sessions.owner(session.id) == os.getpid()
    with pytest.raises(InputError, match="being worked on by process"):
        await play.sessions.resume(session.id, Absent(), play.watching)
    assert (await running).state is State.MERGED


async def test_without_a_sandbox_the_work_is_still_elsewhere(play):
    story = await play.code(f"{MEND}; pwd > where", DASH, sandboxed=False)
    assert story.state is State.MERGED
    assert (play.project.root / "where").read_text().strip() != str(play.project.root)


# The contract


class Editing:
    """A person who writes the contract anew, and then agrees."""

    def __init__(self, contract):
        self.contract = contract
        self.shown = []

    async def confirm(self, proposal):
        self.shown.append(proposal)
        return Accept("Ada") if len(self.shown) > 1 else Edit(self.contract)

    async def approve(self, story, verdict):
        return Approve("--yes")


async def test_a_person_can_write_another_contract(play):
    wanted = load_contract(Path(play.contract({"name": "by_hand", "command": DASH})))
    person = Editing(wanted)
    story = await play.code(MEND, "test -f never-there", person=person)
    assert story.state is State.MERGED
    assert [check.name for check in story.contract.checks] == ["by_hand"]
    assert story.digest == wanted.digest


async def test_the_repositorys_own_contract_is_read_from_the_base(play):
    text = f"contract:\n  description: dashes\n  checks:\n    - {{name: dash, command: {DASH!r}}}\n"
    await play.project.commit({"trueup.yaml": text.replace("\\'", "''")})
    story = await play.code(f"{MEND}; echo 'contract: {{}}' > trueup.yaml", contract_file=None)
    assert story.contract_source.startswith("given: trueup.yaml")
    assert story.verdict.contract_digest == story.digest


async def test_a_model_writes_the_contract_and_a_person_must_agree(play):
    answer = '{"description": "dashes", "checks": [{"name": "dash", "command": "grep -q dash slug2.py"}]}'
    model = play.project.outside / "model.sh"
    model.write_text(f"cat >/dev/null; echo '{answer}'")
    more = {"contract_file": None, "generate": f"command:bash {model}"}
    story = await play.code("echo '# dash' > slug2.py", person=Absent(), **more)
    assert story.state is State.CONTRACT_PROPOSED
    assert not play.watching.prompts
    story = await play.sessions.resume(story.id, Once(Accept("Ada"), Absent(yes=True)), play.watching)
    assert story.state is State.MERGED


async def test_the_repositorys_checks_alone_show_nothing_new(play):
    await play.project.bash(f"{MEND} && git commit -qam mended")
    story = await play.code("touch more", contract_file=None, person=Absent())
    assert (story.state, story.reason) == (State.FAILED, FailureReason.UNPROVEN)


async def test_a_judge_is_heard_and_decides_nothing(play):
    judge = play.project.outside / "judge.sh"
    judge.write_text(
        """cat >/dev/null; echo '{"concerns": [{"message": "too clever", "path": "slug.py", "line": 2}]}'"""
    )
    story = await play.code(MEND, DASH, judge=f"command:bash {judge}")
    assert story.state is State.NEEDS_APPROVAL
    assert [(f.kind, f.path, f.line) for f in story.verdict.findings] == [("judge", "slug.py", 2)]


async def test_a_session_that_nobody_answers_waits(play):
    class Away:
        async def confirm(self, proposal):
            return Accept("Ada")

        async def approve(self, story, verdict):
            return Leave("later")

    story = await play.code(MEND, DASH, person=Away())
    assert story.state is State.NEEDS_APPROVAL
    (session,) = await play.sessions.list()
    assert (session.state, session.owner) == (State.NEEDS_APPROVAL, None)
    assert b"+    return text.lower().replace(' ', '-')" in await play.sessions.diff(session.id)
    assert (await play.sessions.abandon(session.id, "not wanted")).state is State.ABANDONED
    with pytest.raises(InputError, match="has ended"):
        await play.sessions.resume(session.id, Absent(), play.watching)


# What an engine leaves elsewhere reaches no check

SERVER = (
    "python3 -c \"import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8765, bind='127.0.0.1')\" "
    ">/dev/null 2>&1"
)
ASKS_SERVER = "python3 -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:8765/slug.py', timeout=2)\""


@pytest.mark.parametrize(
    ("script", "check"),
    [
        ("echo done > /tmp/result", "test -f /tmp/result"),
        ("mkdir -p ~/bin && echo done > ~/bin/result", 'test -f "$HOME/bin/result"'),
        (f"setsid bash -c '{SERVER}' & sleep 1", ASKS_SERVER),
        ("mkdir -p build && echo done > build/result", "test -f build/result"),
        (
            "git config user.email a@b && git config user.name a && git commit -q --allow-empty -m dashes",
            "git log -1 | grep -q dashes",
        ),
        ("git tag dashes", "git tag | grep -q dashes"),
        ("git update-ref refs/heads/dashes HEAD", "git branch | grep -q dashes"),
        ("mkdir -p .git/hooks && echo exit 0 > .git/hooks/pre-commit && touch .git/done", "test -f .git/done"),
        ("touch ~/target && ln -s ~/target done", "test -f done"),
        (
            f"{MEND}; (setsid bash -c 'sleep 3; git checkout slug.py' >/dev/null 2>&1 &)",
            "! grep -q \"'-'\" slug.py && false",
        ),
    ],
    ids=["tmp", "home", "daemon", "ignored", "commit", "tag", "branch", "git_folder", "link_out", "late_restore"],
)
async def test_what_is_not_in_the_change_does_not_count(play, script, check):
    before = await play.head()
    story = await play.code(script, check)
    assert (story.state, story.reason) == (State.FAILED, FailureReason.VERIFICATION), story.message
    assert await play.head() == before
    assert await play.git("status", "--porcelain") == ""


async def test_an_engine_sees_neither_contract_nor_records_nor_key(play):
    script = f"""
    {MEND}
    ls -R {play.project.outside} /run/trueup "$HOME" > seen 2>&1 || true
    ls -R {play.project.outside.parent}/data >> seen 2>&1 || true
    """
    story = await play.code(script, DASH)
    assert story.state is State.MERGED
    seen = (play.project.root / "seen").read_text()
    assert "prompt.md" in seen
    for word in ("contract.json", "trueup.db", "attest.key", "owner"):
        assert word not in seen


async def test_an_engine_has_no_network_unless_it_is_given_one(play):
    script = f"{MEND}; cat /proc/net/dev > devices"
    await play.code(script, DASH)
    devices = [line.split(":")[0].strip() for line in (play.project.root / "devices").read_text().splitlines()[2:]]
    assert devices == ["lo"]


async def test_what_a_hidden_check_runs_cannot_be_told_to_the_engine_by_a_visible_one(play):
    spy = "for f in glob.glob('/proc/*/cmdline'):\n    open('/tmp/seen', 'a').write(open(f).read())\n"
    await play.project.commit({"spy.py": f"import glob\n{spy}"})
    hidden = {"name": "held_out", "command": "python3 spy.py; : the-secret-word", "hidden": True}
    visible = {"name": "shown", "command": "cat /tmp/seen; false"}
    goal = {"name": "goal", "command": DASH}
    await play.code("echo $RANDOM > note", hidden, visible, goal, limits=Limits(iterations=2))
    assert len(play.watching.prompts) == 2
    assert "the-secret-word" not in "".join(play.watching.prompts)


async def test_a_file_that_is_too_large_to_be_work_is_refused_by_name(play):
    story = await play.code(f"{MEND}; truncate -s 3G huge.bin", DASH)
    assert (story.state, story.reason) == (State.FAILED, FailureReason.INFRASTRUCTURE)
    assert "huge.bin" in story.message


async def test_words_that_are_no_text_are_refused_before_there_is_work_to_lose(play):
    with pytest.raises(InputError, match="UTF-8"):
        await play.code(MEND, DASH, intent="caf\udce9")
    assert await play.sessions.list() == []


async def test_a_base_that_moved_leaves_no_workspace_behind(play, tmp_path):
    story = await play.code(MEND, DASH, person=Absent())
    await play.project.bash("echo more > other.txt && git add -A && git commit -qm meanwhile")
    story = await play.sessions.resume(story.id, Once(Approve("--yes"), Absent()), play.watching)
    assert story.state is State.MERGED
    assert list((tmp_path / "cache").glob("**/workspaces/top-*")) == []


async def test_files_that_were_only_touched_are_no_obstacle(play):
    await play.project.bash("touch -d '1 hour ago' slug.py")
    assert (await play.code(MEND, DASH)).state is State.MERGED


@pytest.mark.parametrize("named", ["/tmp", "/etc/passwd", "/no/such/agent"])
async def test_an_engine_that_cannot_be_run_is_found_before_anything_is_run(play, named):
    with pytest.raises(TrueupError, match=named):
        await play.code("", DASH, engine=f"command:{named}")
    assert await play.sessions.list() == []


async def test_a_contract_that_nobody_can_revise_stays_and_is_asked_about_again(play):
    story = await play.code(MEND, DASH, person=Once(Revise("stricter"), Absent(yes=True)))
    assert "no model to revise" in play.watching.of(events.ErrorHappened)[0].message
    assert story.state is State.MERGED
