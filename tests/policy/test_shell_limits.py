"""The reader of shell texts never fails, and never takes long."""

from __future__ import annotations

import time

import pytest
from deciding import gate_of, runs
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.core.protocols import Action, Decision

NO_PUSH = {"rule": "deny_command", "pattern": "git push"}
ALL_RULES = [
    {"rule": "deny_command", "pattern": "git push -f x*"},
    {"rule": "deny_path", "pattern": "a/**"},
    {"rule": "allow_command", "pattern": ["ls", "A=1 git log"]},
]

# Each alone, since the first refusal would keep the others from looking.
GATES = [gate_of(rule, root="/work") for rule in ALL_RULES]

PIECES = st.sampled_from(
    "git push ls a $x ${x} ${x:-a} $( ) ` \" ' \\ ; & && | || ( ) { } < > << <<< <<EOF EOF <( [[ ]] [ ] (( )) $(( if then"
    " fi for in do done while case esac function f() = x=1 a=( * ? ~ # ! - -c bash eval sudo xargs find -exec {} + \\; env"
    " trap alias coproc 2>&1 $'\\x67' $' \n \t \0 é \ud800".split(" ")
)
TEXTS = st.one_of(
    st.text(max_size=80), st.lists(PIECES, max_size=25).map(" ".join), st.lists(PIECES, max_size=25).map("".join)
)


@given(text=TEXTS)
@settings(max_examples=120, deadline=None)
def test_any_text_is_decided(text):
    for gate in GATES:
        decision = gate.decide_now(Action("shell", {"command": text}))
        assert isinstance(decision, Decision)
        assert decision.allowed or decision.reason.startswith("policy 'rule': param 'command' ")


@given(words=st.lists(TEXTS, max_size=8))
@settings(max_examples=40, deadline=None)
def test_any_words_are_decided(words):
    for gate in GATES:
        assert isinstance(gate.decide_now(Action("shell", {"command": words})), Decision)


@given(text=TEXTS)
@settings(max_examples=60, deadline=None)
def test_what_a_text_is_put_into_does_not_hide_a_command_behind_it(text):
    # A quote or a here-document may swallow what follows; then it is no longer a command, and bash says so as well.
    decision = runs(NO_PUSH, "git push\n" + text)
    assert not decision.allowed


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
@settings(max_examples=40, deadline=None)
def test_any_parameters_are_decided(value):
    for gate in GATES:
        assert isinstance(gate.decide_now(Action("shell", {"command": value, "path": value})), Decision)


@pytest.mark.parametrize(
    "text",
    [
        "a=(" * 20_000,
        "<<A <<B " * 10_000,
        "a|" * 30_000,
        "(" * 60_000,
        "env " * 20_000 + "ls",
        "eval " * 20_000 + "ls",
        "bash -c '" * 5_000,
        "x" * 1_000_000,
        "ls;" * 30_000,
    ],
    ids=lambda text: text[:8],
)
def test_a_text_made_to_take_forever_is_refused_soon(text):
    started = time.thread_time()
    decision = runs(NO_PUSH, text)
    assert time.thread_time() - started < 3
    assert not decision.allowed
    assert "cannot be read" in decision.reason


def test_a_long_text_that_somebody_really_writes_is_read():
    lines = "".join(f"    if (x | {number}) {{ y[{number}] = f('it is', \"$z\"); }}\n" for number in range(400))
    assert runs(NO_PUSH, f"cat > file.c <<'EOF'\n{lines}EOF\nmake && ./a.out\n").allowed
    assert not runs(NO_PUSH, f"cat > file.c <<'EOF'\n{lines}EOF\nmake && git push\n").allowed
