"""`trueup code` at a terminal: a person watches, is asked, and answers."""

from __future__ import annotations

import json
import os
import signal

import pytest

from coded import CONTRACT, MEND, RIGHT
from terminals import CTRL_C, CTRL_D

CONTRACT_QUESTION = "[a]ccept  [e]dit  dis[c]ard  [l]eave: "
CHANGE_QUESTION = "[a]pprove  [d]iff  [s]end back  dis[c]ard  [l]eave: "


@pytest.fixture
def user(user_of_code):
    return user_of_code


async def test_a_person_accepts_the_contract_reads_the_diff_and_approves(user):
    async with user.at_terminal(*user.words()) as terminal:
        seen = await terminal.see(CONTRACT_QUESTION)
        assert "- adds: `python3 -c 'import calc; assert calc.add(2, 3) == 5'` (expects exit 0)" in terminal.text
        assert "adds is a goal: red on base (exit 1); must turn green" in terminal.text
        terminal.type("a\n")
        seen = await terminal.see(CHANGE_QUESTION, after=seen)
        assert "The change for: make add() add\n1 file changed, +1 -1\n" in terminal.text
        terminal.type("d\n")
        seen = await terminal.see("+    return a + b", after=seen)
        seen = await terminal.see(CHANGE_QUESTION, after=seen)
        terminal.type("approve\n")
        assert await terminal.exit_code() == 0
    assert user.checkout.read("calc.py") == RIGHT
    assert (await user.session())["approved"]["by"]["name"] == "Ada"


async def test_the_live_view_says_what_goes_on_and_nothing_of_an_engine_acts_on_the_terminal(user):
    script = (
        'printf \'{"trueup": "plan", "text": "[red]hello\\\\u001b[8m[/red]"}\\n\'\n'
        'echo \'{"trueup": "usage", "input_tokens": 900, "output_tokens": 80, "cost_usd": 0.004}\'\n'
        f"sleep 1; {MEND}"
    )
    user.contract.write_text(CONTRACT.replace("command: ", "command: sleep 1 && "))
    async with user.at_terminal(*user.words(script, "--yes")) as terminal:
        assert await terminal.exit_code() == 0
    assert "running · iteration 1 of 8 · 980 tokens, $0.004 · " in terminal.text
    assert "[red]hello\\x1b[8m[/red]" in terminal.text
    assert "\x1b[8m" not in terminal.written
    assert "  adds: running" in terminal.text


async def test_an_edit_that_cannot_be_used_is_asked_about_again_and_nothing_of_it_is_lost(user, tmp_path):
    editor = tmp_path / "editor.sh"
    editor.write_text(
        "#!/bin/bash\n"
        'if grep -q remembered "$1"; then sed -i "s/ccommand/command/" "$1"\n'
        'else sed -i "s/command/ccommand/; s/it adds/remembered/" "$1"; fi\n'
    )
    editor.chmod(0o755)
    async with user.at_terminal(*user.words(), VISUAL=str(editor)) as terminal:
        seen = await terminal.see(CONTRACT_QUESTION)
        terminal.type("e\n")
        seen = await terminal.see("unknown key 'ccommand'", after=seen)
        seen = await terminal.see("[e]dit again  [g]ive up: ", after=seen)
        terminal.type("e\n")
        seen = await terminal.see(CONTRACT_QUESTION, after=seen)
        assert "The contract (edited):\n  remembered\n" in terminal.text
        terminal.type("l\n")
        assert await terminal.exit_code() == 1
    assert (await user.session())["contract"]["description"] == "remembered"


async def test_an_edit_that_is_not_saved_or_given_up_changes_nothing(user, tmp_path):
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/bash\n[ -e spoil ] && echo "checks: [" >"$1"\n')
    editor.chmod(0o755)
    async with user.at_terminal(*user.words(), VISUAL=str(editor)) as terminal:
        seen = await terminal.see(CONTRACT_QUESTION)
        terminal.type("e\n")
        seen = await terminal.see("nothing was changed", after=seen)
        user.checkout.write("spoil")
        terminal.type("e\n")
        seen = await terminal.see("[e]dit again  [g]ive up: ", after=seen)
        terminal.type("g\n")
        seen = await terminal.see(CONTRACT_QUESTION, after=seen)
        terminal.type("c\n")
        assert await terminal.exit_code() == 1
    assert (await user.session())["state"] == "abandoned"


async def test_a_contract_is_revised_in_plain_words(user, tmp_path):
    model = tmp_path / "model.py"
    answer = {
        "description": "revised",
        "checks": [{"name": "adds", "command": "python3 -c 'import calc; assert calc.add(2, 3) == 5'"}],
    }
    model.write_text(f"import sys\nassert 'name it revised' in sys.stdin.read()\nprint({json.dumps(answer)!r})\n")
    words = user.words(MEND, "--generate", f"python3 {model}")
    async with user.at_terminal(*words) as terminal:
        seen = await terminal.see("[a]ccept  [e]dit  [r]evise  dis[c]ard  [l]eave: ")
        terminal.type("r\n")
        seen = await terminal.see("What should be different? ", after=seen)
        terminal.type("name it revised\n")
        seen = await terminal.see("\n  revised\n", after=seen)
        terminal.type(CTRL_D)
        assert await terminal.exit_code() == 1
    assert (await user.session())["state"] == "contract_proposed"


async def test_a_contract_that_proves_nothing_cannot_be_accepted(user):
    user.contract.write_text("description: x\nchecks:\n- name: fine\n  command: 'true && true'\n")
    async with user.at_terminal(*user.words()) as terminal:
        await terminal.see("\n[e]dit  dis[c]ard  [l]eave: ")
        assert "problem: every check is already green on the base" in terminal.text
        terminal.type("a\n")
        await terminal.see("type one of: e, c, l")
        terminal.type("l\n")
        assert await terminal.exit_code() == 1


async def test_a_change_is_sent_back_with_words_and_then_discarded(user):
    before = user.head
    script = f"if grep -q 'with a remark'; then echo '# adds' >>calc.py; else {MEND}; fi"
    async with user.at_terminal(*user.words(script)) as terminal:
        await terminal.see(CONTRACT_QUESTION)
        terminal.type("a\n")
        seen = await terminal.see(CHANGE_QUESTION)
        terminal.type("s\n")
        seen = await terminal.see("What is missing? ", after=seen)
        terminal.type("with a remark\n")
        seen = await terminal.see("2 iterations", after=seen)
        seen = await terminal.see(CHANGE_QUESTION, after=seen)
        terminal.type("c\n")
        assert await terminal.exit_code() == 1
    story = await user.session()
    assert (story["state"], len(story["attempts"]), user.head) == ("abandoned", 2, before)


@pytest.mark.parametrize("how", ["a key", "a signal"])
async def test_an_interrupted_question_leaves_the_session_as_it_is(user, how):
    async with user.at_terminal(*user.words()) as terminal:
        await terminal.see(CONTRACT_QUESTION)
        if how == "a key":
            terminal.type(CTRL_C)
        else:
            os.kill(terminal.pid, signal.SIGTERM)
        assert await terminal.exit_code() == 130
    story = await user.session()
    assert story["state"] == "contract_proposed"
    assert terminal.text.rstrip().endswith(f"interrupted; go on with: trueup code resume {story['id']}")
    async with user.at_terminal("code", "resume") as terminal:
        await terminal.see(CONTRACT_QUESTION)
        terminal.type("l\n")
        assert await terminal.exit_code() == 1


async def test_ctrl_c_while_the_engine_works_ends_it(user):
    async with user.at_terminal(*user.words(user.sleep, "--yes")) as terminal:
        await terminal.see("begun")
        terminal.type(CTRL_C)
        assert await terminal.exit_code() == 130
    assert "interrupted; go on with: trueup code resume" in terminal.text
    # The cursor that the live view had hidden is there again.
    assert terminal.written.rfind("\x1b[?25h") > terminal.written.rfind("\x1b[?25l")


async def test_a_diff_on_a_terminal_is_paged_and_cannot_act_on_it(user):
    await user.trueup(*user.words(f"{MEND}; printf '# \\033[8m\\n' >>calc.py"))
    async with user.at_terminal("code", "diff") as terminal:
        assert await terminal.exit_code() == 0
    assert "+# \\x1b[8m" in terminal.text
    assert "\x1b[8m" not in terminal.written
