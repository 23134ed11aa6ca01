"""How suspicions become findings: what is new, what has only moved, how much is said, and how much is read."""

from __future__ import annotations

import time

import pytest

from trueup.coder import Severity
from trueup.coder._suspicions import ChangedFile, suspicions

FLAG, GATE, INFO = Severity.FLAG, Severity.GATE, Severity.INFO
EQUAL = b"class A:\n    def __eq__(self, other):\n        return True\n"
ALSO_EQUAL = EQUAL.replace(b"class A", b"class B")


def test_a_finding_names_the_file_the_line_and_the_trick_in_one_sentence():
    [finding] = suspicions([ChangedFile(path="slug.py", new=EQUAL)])
    assert finding.message == (
        "slug.py line 2 makes every comparison true (`__eq__` always returns True), whatever a test expects"
    )


def test_one_finding_per_kind_and_file_tells_how_many_more_there_are():
    [finding] = suspicions([ChangedFile(path="slug.py", new=EQUAL + ALSO_EQUAL)])
    assert finding.message.endswith("; and 1 more such place (line 5)")


def test_the_gravest_place_speaks_for_its_kind():
    new = b"import os\ndef f():\n    os._exit(0)\nos._exit(0)\n"
    [finding] = suspicions([ChangedFile(path="slug.py", new=new)])
    assert (finding.severity, finding.line) == (GATE, 4)


def test_two_hundred_places_are_one_finding():
    new = b"import pytest\n" + b"@pytest.mark.skip\ndef test_a():\n    assert f(1) == 2\n" * 200
    [finding] = suspicions([ChangedFile(path="tests/test_a.py", new=new)])
    assert "and 199 more such places" in finding.message


def test_of_two_places_that_are_alike_only_the_new_one_is_found():
    [finding] = suspicions([ChangedFile(path="slug.py", old=EQUAL, new=ALSO_EQUAL + EQUAL)])
    assert finding.line == 2


def test_lines_that_moved_within_a_file_are_not_new():
    old = b"x = 1\n" + EQUAL
    assert suspicions([ChangedFile(path="slug.py", old=old, new=EQUAL + b"x = 1\n")]) == []


def test_a_file_that_was_moved_brings_nothing_new():
    moved = [ChangedFile(path="old.py", old=EQUAL), ChangedFile(path="new.py", new=EQUAL)]
    assert suspicions(moved) == []


def test_a_gate_does_not_pass_by_being_moved():
    trick = b"import os\nos._exit(0)\n"
    moved = [ChangedFile(path="old.py", old=trick), ChangedFile(path="new.py", new=trick)]
    assert [each.severity for each in suspicions(moved)] == [GATE]


def test_a_skip_that_moves_to_another_test_is_new():
    old = b"import pytest\n@pytest.mark.skip\ndef test_a():\n    assert f(1)\ndef test_b():\n    assert f(2)\n"
    new = b"import pytest\ndef test_a():\n    assert f(1)\nclass T:\n    @pytest.mark.skip\n    def test_b(self):\n        assert f(2)\n"
    assert "skip_marker" in {each.kind for each in suspicions([ChangedFile(path="tests/test_a.py", old=old, new=new)])}


def test_a_protected_file_is_judged_as_a_test():
    new = b"import pytest\n"
    assert suspicions([ChangedFile(path="check.py", new=new, protected=True)]) == []
    assert suspicions([ChangedFile(path="check.py", new=new)]) != []


def test_a_deleted_file_is_no_suspicion():
    assert suspicions([ChangedFile(path="sitecustomize.py", old=b"x = 1\n", old_mode="100644")]) == []


def test_a_large_file_is_looked_at_for_secrets_alone():
    token = b"sk-" + b"ant-" + b"q7Rk2mZx9LwB4tVy8NcJ5sHd3GfP6aEu1iOqT0bX"
    new = b"import os\nos._exit(0)\n" + b"x = 1\n" * 200_000 + b"K = '" + token + b"'\n"
    assert [each.kind for each in suspicions([ChangedFile(path="slug.py", new=new)])] == ["secret"]


LONG = 1 << 20
LINES = {
    "slug.py": (
        b"{1: 2, ",
        b"1 if x == 1 else ",
        b"# noqa ",
        b"'tests/",
        b"(",
        b"x == ",
        b"'",
        b"\\",
        b"#",
        b"-----BEGIN PRIVATE KEY-----A",
        b"except:\n",
        b"assert a ",
    ),
    "slug.js": (
        b"/*",
        b"`",
        b"'",
        b"it.skip ",
        b"||",
        b"if (",
        b"return ==",
        b"process.argv",
        b"\\",
        b"require.cache[",
        b"const a = require('assert'); a.b ",
        b"import {a, ",
        b"import a\n\n\n",
        b"f = (a) => { process.exit(0) ",
        b"{ 1: 2, ",
        b"a === 1 && ",
    ),
    "slug.c": (b"int f(a) { exit(0); ", b"__attribute__((destructor)) ", b"__assert_fail(", b"a == 1 && ", b"case 1: "),
    "slug.sh": (b"exit ", b"trap exit ", b"trap x exit EXI ", b"alias ", b"function "),
    "a.test.ts": (b"it.each(", b"expect(", b"x.only", b"f(1, "),
    "slug.go": (b"func init(", b'"', b"func (a) Equal(", b" "),
    "slug.rs": (b"fn eq(", b"'", b"#["),
    "Makefile": (b"pytest ", b"\t-", b"MAKEFLAGS = ", b"pytest |", b" "),
    "package.json": (b"jest ", b"npm run ", b"NODE_OPTIONS="),
    ".gitattributes": (b"a filter=", b"a "),
    ".gitignore": (b"!", b"*", b"tests/"),
    "pyproject.toml": (b"addopts -p", b"addopts ", b"pytest "),
    "Cargo.toml": (b"[[test]]\n", b"[lib]\na\n"),
    "notes.md": (b"sk-", b"AKIA", b"ghp_", b"xox", b"eyJ"),
}


@pytest.mark.parametrize("path", LINES)
def test_no_line_makes_the_reading_endless(path):
    started = time.process_time()
    for piece in LINES[path]:
        suspicions([ChangedFile(path=path, new=piece * (LONG // len(piece)))])
        many_lines = b"\n".join([piece * (15_000 // len(piece))] * 10)
        suspicions([ChangedFile(path=path, new=many_lines)])
    # What goes back over its steps takes minutes for one of these.
    assert time.process_time() - started < 10
