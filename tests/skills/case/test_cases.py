"""Cases: what is read out of a file, and what is said about one that cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueup.core.errors import InputError
from trueup.skills._case import (
    Boolean,
    Called,
    Case,
    Comparator,
    Mock,
    Numeric,
    Predicate,
    Stub,
    Workspace,
    load_case,
    mistakes,
)


def test_a_case_is_named_by_its_file_and_its_paths_are_beside_it(project):
    project.write("cases/app/a.txt", "a")
    case = project.with_evals("- {type: boolean, criterion: it greets}", "workspace: app\n")
    assert case == Case(
        name="c",
        source=project.cases / "c.yaml",
        skill=project.root / "skills/greeter",
        input="Greet Ada.",
        evals=(Boolean(criterion="it greets"),),
        workspace=Workspace(folder=str(project.cases / "app")),
    )


def test_a_name_in_the_file_comes_before_that_of_the_file(project):
    assert project.with_evals("- {type: boolean, criterion: x}", "name: greets\n").name == "greets"
    assert project.with_evals("- {type: boolean, criterion: x}", 'name: ""\n').name == "c"


def test_mocks_without_a_name_are_called_by_their_place_and_evals_can_refer_to_it(project):
    mocks = "mocks:\n- {match: {tool: a}, stub: x}\n- {match: {tool: b}}\n- {match: {tool: c}, name: own}\n"
    case = project.with_evals("- {type: called, mock: mock_0}\n- {type: not_called, mock: spy_1}\n", mocks)
    assert [mock.name for mock in case.mocks] == ["mock_0", "spy_1", "own"]


def test_stubs_are_texts_objects_or_a_list_of_both(project):
    mocks = "mocks:\n- {match: {tool: a}, stub: [one, {output: two, exit_code: 2}]}\n"
    (mock,) = project.with_evals("- {type: called, mock: mock_0, where: {n: 3, c: {contains: x}}}", mocks).mocks
    assert mock == Mock(match=mock.match, name="mock_0", stub=["one", Stub(output="two", exit_code=2)])


def test_predicates_are_values_or_objects(project):
    mocks = "mocks:\n- match: {tool: a}\n"
    (called,) = project.with_evals("- {type: called, mock: spy_0, where: {n: 3, c: {contains: x}}}", mocks).evals
    assert isinstance(called, Called)
    assert called.where == {"n": 3, "c": Predicate(contains="x")}


@pytest.mark.parametrize(("word", "sign"), [("gte", ">="), ("gt", ">"), ("lte", "<="), ("lt", "<"), ("'>='", ">=")])
def test_a_comparator_is_a_sign_or_the_word_for_it(project, word, sign):
    (numeric,) = project.with_evals(f"- {{type: numeric, criterion: x, threshold: 7, comparator: {word}}}").evals
    assert isinstance(numeric, Numeric)
    assert numeric.comparator is Comparator(sign)


@pytest.mark.parametrize(
    ("evals", "message"),
    [
        ("- {type: boolean, criterion: x, expcted: false}",
         "c.yaml:4:33: unknown key 'expcted' in evals[0]; did you mean 'expected'?"),
        ("- {type: boolean, criterion: x, name: greets, expcted: false}",
         "c.yaml:4:47: unknown key 'expcted' in evals[0] ('greets'); did you mean 'expected'?"),
        ("- {type: called, mock: push, where: {command: {contians: x}}}",
         "c.yaml:4:48: unknown key 'contians' in evals[0].where.command; did you mean 'contains'?"),
        ("- {type: numeric, criterion: x, threshold: 3, comparator: '=>'}",
         "c.yaml:4:59: Invalid enum value '=>' in evals[0].comparator; one of: >=, >, <=, <"),
        ("- {type: boolean}", "c.yaml:4:3: missing required key 'criterion' in evals[0]"),
        ("- {type: boolean, criterion: ''}", "c.yaml:4:30: expected 'str' of length >= 1 in evals[0].criterion"),
        ("- {type: boolean, criterion: ' '}", "c.yaml:4:30: 'criterion' is blank in evals[0].criterion"),
        ("  []", "c.yaml:4:3: expected 'array' of length >= 1 in evals"),
        ("- {type: numeric, criterion: x, min: 5, max: 5, threshold: 5}",
         "c.yaml:4:38: 'min' (5) must be less than 'max' (5) in evals[0].min"),
        ("- {type: numeric, criterion: x, threshold: 11}",
         "c.yaml:4:44: 'threshold' (11) is outside of the scale 0 to 10 in evals[0].threshold"),
        ("- {type: numeric, criterion: x, threshold: .nan}",
         "c.yaml:4:44: 'threshold' is no finite number in evals[0].threshold"),
        ("- {type: called, mock: puhs}", "c.yaml:4:24: there is no mock 'puhs'; the case has no mocks in evals[0].mock"),
        ("- {type: matches, pattern: 'a(?=b)'}",
         "c.yaml:4:28: not a regular expression of RE2, at position 1: invalid perl operator: (?= (no look-around, no references to groups) in evals[0].pattern"),
        ("- {type: json, pointer: a/b}",
         "c.yaml:4:25: 'a/b' is no JSON Pointer, which is '' or '/key/0', with ~ as ~0 and / as ~1 in evals[0].pointer"),
        ("- {type: json, pointer: /a~2}", "c.yaml:4:25: '/a~2' is no JSON Pointer"),
        ("- {type: json, equals: {at: [2026-01-02]}}",
         "c.yaml:4:30: 2026-01-02 is a date, which JSON does not have (put it in quotes) in evals[0].equals.at[0]"),
        ("- {type: json, equals: {1: a}}",
         "c.yaml:4:24: the key 1 is no text (put it in quotes) in evals[0].equals"),
        ("- {type: json, schema: {const: !!binary aGk=}}",
         "c.yaml:4:32: b'hi' is a bytes, which JSON does not have"),
        ("- {type: json, schema: {type: strnig}}", "c.yaml:4:24: no JSON Schema that can be used: "),
        ("- {type: json, schema: {$ref: 'http://127.0.0.1:9/x'}}", "c.yaml:4:24: no JSON Schema that can be used: "),
        ("- {type: file, path: ../a}", "c.yaml:4:22: '../a' is no path inside the cell's workspace in evals[0].path"),
        ("- {type: file, path: /etc/passwd}", "c.yaml:4:22: '/etc/passwd' is no path inside"),
        ("- {type: file, path: .}", "c.yaml:4:22: '.' is no path inside"),
        ("- {type: file, path: a, exists: false, contains: b}",
         "c.yaml:4:50: a file that must not exist cannot have 'contains' in evals[0].contains"),
        ("- {type: file, path: a, matches: '['}", "c.yaml:4:34: not a regular expression, at position 0: unterminated character set in evals[0].matches"),
        ("- {type: command, command: ' '}", "c.yaml:4:28: 'command' is blank in evals[0].command"),
        ("- {type: tool_called, tool: shell, input: {command: {}}}",
         "c.yaml:4:53: it needs 'equals', 'contains' or 'pattern' in evals[0].input.command"),
        ("- {type: tool_called, tool: shell, input: {command: {contains: ''}}}",
         "c.yaml:4:64: 'contains' is empty, which would match everything in evals[0].input.command.contains"),
        ("- {type: tool_called, tool: shell, times: 2, expected: false}", "c.yaml:4:43: 'times' with 'expected: false' is unclear"),
        ("- {type: tool_order, tools: []}", "c.yaml:4:29: expected 'array' of length >= 1"),
        ("- {type: cost_below, usd: 0}", "c.yaml:4:27: expected 'float' > 0.0 in evals[0].usd"),
        ("- {type: turns_belov, turns: 1}", "c.yaml:4:10: unknown type 'turns_belov' in evals[0]; did you mean 'turns_below'? known: activated, "),
    ],
)  # fmt: skip
def test_an_eval_that_cannot_be_meant_is_refused_where_it_stands(project, evals, message):
    assert project.complaint(evals).startswith(message)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("mocks:\n- {match: {tool: x}, stub: {output: a, exitcode: 1}}\n",
         "c.yaml:4:40: unknown key 'exitcode' in mocks[0].stub; did you mean 'exit_code'?"),
        ("mocks:\n- name: push\n  match: {tool: x}\n  stub: [a, {ouput: b}]\n",
         "c.yaml:6:14: unknown key 'ouput' in mocks[0].stub[1] ('push'); did you mean 'output'?"),
        ("mocks:\n- {match: {tool: x}, stub: a, deny: b}\n",
         "c.yaml:4:37: a mock does one thing, and this does stub and deny in mocks[0].deny"),
        ("mocks:\n- {match: {}}\n", "c.yaml:4:11: 'match' needs 'tool', 'contains', 'pattern' or 'input'"),
        ("mocks:\n- {match: {contains: ''}}\n", "c.yaml:4:22: 'contains' is empty, which would match every call"),
        ("mocks:\n- {match: {pattern: '('}}\n", "c.yaml:4:21: not a regular expression, at position 0: missing ), unterminated subpattern in mocks[0].match.pattern"),
        ("mocks:\n- {match: {tool: x}, stub: []}\n", "c.yaml:4:28: 'stub' is empty; to refuse a call, use 'deny'"),
        ("mocks:\n- {match: {tool: x}, stub: [a, '']}\n", "c.yaml:4:32: a stub prints something in mocks[0].stub[1]"),
        ("mocks:\n- {match: {tool: x}, name: a}\n- {match: {tool: x}, name: a}\n",
         "c.yaml:5:28: there is another mock with the name 'a' in mocks[1].name ('a')"),
        ("user: {persona: ' '}\n", "c.yaml:3:17: 'persona' is blank in user.persona"),
        ("user: {persona: x, max_turns: 0}\n", "c.yaml:3:31: expected 'int' >= 1 in user.max_turns"),
        ("workspace: {files: {../a: b}}\n", "c.yaml:3:27: '../a' is no path inside the cell's workspace in workspace.files['../a']"),
        ("workspace: nowhere\n", "c.yaml:3:12: there is no folder "),
        ("workspace: {fils: {a: b}}\n", "c.yaml:3:13: unknown key 'fils' in workspace; did you mean 'files'?"),
        ('name: "a\\nb"\n', "c.yaml:3:7: a name is one line without control characters"),
    ],
)  # fmt: skip
def test_what_is_around_the_evals_is_held_to_the_same(project, more, message):
    assert project.complaint("- {type: boolean, criterion: x}", more).startswith(message)


def test_the_nearest_mock_is_named(project):
    mocks = "mocks:\n- {match: {tool: x}, name: push}\n"
    told = project.complaint("- {type: called, mock: puhs}", mocks)
    assert told == "c.yaml:6:24: there is no mock 'puhs'; did you mean 'push'? in evals[0].mock"


def test_all_mistakes_of_a_case_are_told_at_once(project):
    assert project.complaint("- {type: called, mock: a}\n- {type: file, path: /a}").count("c.yaml:") == 2


def test_a_case_without_its_skill_or_a_question_is_refused(project):
    with pytest.raises(
        InputError, match=r"c\.yaml:1:8: no SKILL\.md is in .*/skills/other; a skill is a folder with one"
    ):
        project.case("skill: ../skills/other\ninput: x\nevals: [{type: boolean, criterion: x}]\n")
    with pytest.raises(InputError, match=r"c\.yaml:2:8: 'input' is blank"):
        project.case("skill: ../skills/greeter\ninput: ' '\nevals: [{type: boolean, criterion: x}]\n")


def test_a_case_made_in_code_is_held_to_the_same():
    case = Case(name="x", source=Path("x"), skill=Path("s"), input="hi", evals=(Called(mock="push"),))
    assert list(mistakes(case)) == [(("evals", 0, "mock"), "there is no mock 'push'; the case has no mocks")]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.yaml: no such file"):
        load_case(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    "text", ['skill: "a\\0b"\ninput: x\n', 'workspace: "a\\0b"\nskill: ../skills/greeter\ninput: x\n']
)
def test_a_path_with_a_nul_is_refused(project, text):
    with pytest.raises(InputError, match=r"c\.yaml:1:\d+: a path has no NUL in it"):
        project.case(f"{text}evals: [{{type: boolean, criterion: x}}]\n")


def test_a_path_that_is_too_long_is_no_skill(project):
    with pytest.raises(InputError, match=r"c\.yaml:1:8: no SKILL\.md is in "):
        project.case(f"skill: {'a' * 5000}\ninput: x\nevals: [{{type: boolean, criterion: x}}]\n")
