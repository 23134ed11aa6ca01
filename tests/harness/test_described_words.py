"""How a request is put to an agent by its description, what a description may not say, and how one is probed."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager

import msgspec
import pytest

from trueup.core.documents import Document
from trueup.core.errors import InputError, Kind
from trueup.core.process import Command, Process
from trueup.harness import HarnessRequest, Mode, SessionNamed, Status
from trueup.harness._described import WEAK, DescribedDialect, load_descriptions
from trueup.harness._driver import DrivenHarness
from trueup.testing import EventLog

PATH = "/usr/local/bin:/usr/bin:/bin"
LONG = "ä" * 40_000 + "'\"$(x)\n"
# Tells what it was given: its words, stdin, files among the words, and variables.
MIRROR = """#!/usr/bin/env python3
import json, os, sys
def read(word):
    path = word.rpartition("=")[2]
    return [open(path).read(), open(path).read()] if path.startswith("/proc/") else None
variables = {name: value for name, value in os.environ.items() if name.startswith("MY_")}
files = {word: read(word) for word in [*sys.argv[1:], *variables.values()] if read(word)}
umask = os.umask(0)
told = {"umask": umask, "words": sys.argv[1:], "stdin": sys.stdin.read(), "files": list(files.values()), "env": variables}
print(json.dumps(told))
"""


class Here:
    """A `Launcher` that starts programs where the test runs, and remembers the last."""

    command: Command

    def __init__(self, temporary) -> None:
        self._temporary = temporary

    @asynccontextmanager
    async def launch(self, command: Command):
        self.command = command
        env = {"PATH": PATH, "TMPDIR": str(self._temporary), **(command.env or {})}
        async with Process(msgspec.structs.replace(command, env=env)) as process:
            yield process


def load(yaml: str, **more):
    document = Document.parse(yaml.encode(), source="config.yaml", is_json=False)
    return load_descriptions(document.part("agents"), **more)


@pytest.fixture
def mirror(tmp_path):
    """An agent of the given words that answers with what it was given."""
    program = tmp_path / "mir ror"
    program.write_text(MIRROR)
    program.chmod(0o755)
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    async def ask(words: str, more: str = "", environ=None, **request):
        written = f"agents: {{it: {{argv: [{json.dumps(str(program))}, {words}]{more}}}}}"
        dialect = DescribedDialect("it", load(written)["it"], environ or {})
        here = Here(temporary)
        asked = HarnessRequest(**{"prompt": "do it", "timeout_secs": 20, **request})
        result = await DrivenHarness(dialect, {}).run(asked, here, EventLog())
        assert result.status is Status.OK, result.error
        assert os.listdir(temporary) == []
        assert max(len(word.encode()) for word in here.command.argv) <= 65536
        return json.loads(result.text)

    return ask


async def test_a_word_is_one_argument_whatever_is_in_it(mirror):
    told = await mirror('-p, "{prompt}", "--model={model}", "a b"', prompt='it\'s $HOME\n"two" words', model="m 1; ls")
    assert told["words"] == ["-p", 'it\'s $HOME\n"two" words', "--model=m 1; ls", "a b"]
    assert told["stdin"] == ""


async def test_without_a_word_for_it_the_prompt_is_on_stdin(mirror):
    told = await mirror("--go")
    assert (told["words"], told["stdin"], told["files"], told["env"]) == (["--go"], "do it", [], {})


async def test_words_without_a_value_are_left_out_alone_or_with_those_beside_them(mirror):
    words = '--x, "--model={model}", [--turns, "{turns}"], [--budget, "{budget_usd}"], "{{model}}", \'{"a": {}}\''
    assert (await mirror(words, turns=3))["words"] == ["--x", "--turns", "3", "{model}", '{"a": {}}']


async def test_a_long_prompt_goes_to_stdin_instead_of_a_word(mirror):
    told = await mirror('-p, "{prompt}"', prompt=LONG)
    assert (told["words"], told["stdin"]) == (["-p"], LONG)


async def test_a_long_prompt_goes_to_a_file_where_there_is_one(mirror):
    words = '"{prompt}", "--file={prompt_file}"'
    assert (await mirror(words))["words"] == ["do it"]
    told = await mirror(words, ", stdin: none", prompt=LONG)
    assert (told["files"], told["stdin"], len(told["words"])) == ([[LONG, LONG]], "", 1)


async def test_a_long_prompt_that_fits_nowhere_is_refused(mirror):
    with pytest.raises(InputError, match=r"it: the prompt is larger than 64 KiB.*prompt_file") as error:
        await mirror('"{prompt}"', ", stdin: none", prompt=LONG)
    assert error.value.kind is Kind.INPUT_TOO_LARGE


async def test_a_prompt_that_no_word_can_hold_goes_to_stdin(mirror):
    assert (await mirror('"{prompt}"', prompt="a\0b"))["stdin"] == "a\0b"
    assert (await mirror('"{prompt}"', prompt="a\ud800b"))["words"] == ["a?b"]


async def test_texts_in_files_can_be_read_more_than_once_and_leave_nothing(mirror):
    told = await mirror('"--system={system_file}", "", "it\'s $x"', ", stdin: prompt", prompt="prömpt", system="sÿstem")
    assert told["files"] == [["sÿstem", "sÿstem"]]
    # What it makes can be read by whoever could read it without a file for its prompt.
    assert told["umask"] == (await mirror("--go"))["umask"]
    assert told["words"][1:] == ["", "it's $x"]
    assert told["stdin"] == "prömpt"


async def test_a_file_can_be_named_by_a_variable(mirror):
    more = ', env: {MY_SYSTEM: "{system_file}", MY_MODEL: "x/{model}", MY_WORD: "a b"}'
    told = await mirror("--go", more, system="be kind")
    assert told["files"] == [["be kind", "be kind"]]
    assert (told["stdin"], sorted(told["env"]), told["env"]["MY_WORD"]) == ("do it", ["MY_SYSTEM", "MY_WORD"], "a b")


async def test_a_system_prompt_without_a_place_is_put_before_the_prompt(mirror):
    assert (await mirror("--go", system="be kind"))["stdin"] == "be kind\n\ndo it"
    told = await mirror('"{prompt}", [--system, "{system}"]', system=LONG)
    assert (told["words"], told["stdin"]) == ([], f"{LONG}\n\ndo it")


async def test_variables_are_passed_on_by_name_and_the_request_has_the_last_word(mirror):
    environ = {"MY_KEY": "secret", "MY_OTHER": "not asked for"}
    more = ", pass_env: [MY_KEY, MY_ABSENT], env: {MY_MODEL: fixed}"
    assert (await mirror("--go", more, environ))["env"] == {"MY_KEY": "secret", "MY_MODEL": "fixed"}
    told = await mirror("--go", more, environ, env={"MY_KEY": "dummy"})
    assert told["env"]["MY_KEY"] == "dummy"


async def test_a_mode_has_its_words(mirror):
    more = ", modes: {full: [--yolo, -x], edit: []}"
    assert (await mirror('"{mode}", end', more))["words"] == ["--yolo", "-x", "end"]
    assert (await mirror('"{mode}", end', more, mode=Mode.EDIT))["words"] == ["end"]


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"model": "m"}, "no place for {model}"),
        ({"resume": "s"}, "no place for {session}"),
        ({"turns": 3, "budget_usd": 1}, "no place for {turns}, {budget_usd}"),
        ({"mode": Mode.READ_ONLY}, "keep the agent to mode 'read_only'"),
    ],
)
async def test_what_an_agent_cannot_be_told_is_refused_and_not_ignored(mirror, request_, told):
    with pytest.raises(InputError, match=told):
        await mirror("--go", **request_)


def test_no_gate_is_promised():
    dialect = DescribedDialect("it", load("agents: {it: {argv: [x]}}")["it"], {})
    with pytest.raises(InputError, match="cannot be asked"):
        dialect.invoke(HarnessRequest(prompt="x"), asks=True)


async def test_another_line_of_words_can_go_on_with_a_session(mirror, tmp_path):
    program = json.dumps(str(tmp_path / "mir ror"))
    more = f', resume: [{program}, again, "{{session}}"]'
    assert (await mirror("new", more))["words"] == ["new"]
    assert (await mirror("new", more, resume="s-1"))["words"] == ["again", "s-1"]


async def test_a_session_can_be_named_by_us():
    agent = load('agents: {it: {argv: [echo, [--name, "{new_session}"], [--resume, "{session}"]]}}')["it"]
    harness = DrivenHarness(DescribedDialect("it", agent, {}), {})
    log = EventLog()
    first = await harness.run(HarnessRequest(prompt="x"), Here("/nowhere"), log)
    assert first.text == f"--name {first.session_id}"
    assert log.events[0] == SessionNamed(first.session_id)
    second = await harness.run(HarnessRequest(prompt="x", resume=first.session_id), Here("/nowhere"), log)
    assert (second.text, second.session_id) == (f"--resume {first.session_id}", first.session_id)


async def test_a_session_that_would_be_an_option_is_not_taken():
    yaml = """agents: {it: {argv: [echo, '{"id": "--yolo"}', "{session}"], output: json, records: [{session: id}]}}"""
    harness = DrivenHarness(DescribedDialect("it", load(yaml)["it"], {}), {})
    assert (await harness.run(HarnessRequest(prompt="x"), Here("/nowhere"), EventLog())).session_id is None


async def test_a_program_that_is_missing_behind_a_file_is_told(tmp_path):
    agent = load('agents: {it: {argv: [no-such-agent, "{prompt_file}"]}}')["it"]
    harness = DrivenHarness(DescribedDialect("it", agent, {}), {})
    result = await harness.run(HarnessRequest(prompt="x"), Here(tmp_path), EventLog())
    assert (result.status, result.failure_kind) == (Status.FAILED, Kind.SPAWN)
    assert "no-such-agent" in result.error
    assert list(tmp_path.iterdir()) == []


# What a description may not say


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("{argv: [x], modle: y}", "unknown key 'modle'; did you mean 'modes'"),
        ("{argv: [x], output: json, records: [{txt: a}]}", r"unknown key 'txt' in records\[0\]; did you mean 'text'"),
        ("{argv: [x], output: json, records: [{tool_call: {nmae: a}}]}", "unknown key 'nmae'"),
        ("{}", "missing required key 'argv'"),
        ("{argv: x y}", "array"),
        ("{argv: []}", "begins with the program"),
        ('{argv: ["{prompt}"]}', "begins with the program"),
        ('{argv: [x, "{modell}"]}', r"\{modell\} in 'argv'; did you mean \{model\}"),
        ('{argv: [x, ["{prompt}", "{model}"]]}', "words of its own"),
        ('{argv: [x, "m={mode}"], modes: {full: []}}', "word of its own"),
        ('{argv: [x, "{mode}"]}', "'modes'"),
        ("{argv: [x], modes: {full: []}}", "'modes'"),
        ("{argv: [x], modes: {fast: []}}", "fast"),
        ("{argv: [x], stdin: none}", "would not see its prompt"),
        ("{argv: [x], resume: [x, --go]}", "with which session"),
        ("{argv: [x], output: json, records: [{session: id}]}", "no word could go on"),
        ("{argv: [x], output: json}", "'records'"),
        ("{argv: [x], records: [{text: a}]}", "'output'"),
        ("{argv: [x], output: json, records: [{text: a..b}]}", r"config.yaml:2:\d+: 'a..b' is no path.*records\[0\]"),
        ("{argv: [x], output: json, records: [{where: {'[x]': 1}}]}", "no path"),
        ("{argv: [x], output: json, records: [{item: {a: 1}}]}", "'each'"),
        ("{argv: [x], failures: [{matches: '('}]}", "no regular expression"),
        ("{argv: [x], failures: [{matches: '(a+)+$'}]}", "for ever"),
        ("{argv: [x], failures: [{matches: a, kind: sad}]}", "sad"),
        ("{argv: [x], env: {'A B': c}}", "no name of a variable"),
        ("{argv: [x], login: {}}", "name 'variables' or 'files'"),
        ("{argv: [x], vendor: acme}", "acme"),
        ("[x]", "object|mapping"),
    ],
)
def test_a_mistake_in_a_description_is_told_with_its_place(yaml, told):
    with pytest.raises(InputError, match=told) as error:
        load(f"agents:\n  it: {yaml}\n")
    assert str(error.value).startswith("config.yaml:2:")


def test_names_are_plain_and_not_taken():
    with pytest.raises(InputError, match=r"config.yaml:1:\d+: 'A b' is no name"):
        load("agents: {A b: {argv: [x]}}")
    with pytest.raises(InputError, match="agent that trueup knows"):
        load("agents: {codex: {argv: [x]}}", reserved=["codex"])
    with pytest.raises(InputError, match="mapping"):
        load("agents: [x]")
    assert load("agents:\nother: 1") == load("other: 1") == {}


@pytest.mark.parametrize("path", ["a", "a.b-c", "a[0][-1].b", '["a.b"].c', "[0].a", "."])
def test_paths_that_are_paths(path):
    written = json.dumps({"agents": {"it": {"argv": ["x"], "output": "json", "records": [{"text": path}]}}})
    assert load(written)["it"].records[0].text == path


# Probing


async def test_a_probe_tells_version_and_login(tmp_path):
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\necho agent version v1.2.3-rc1, built today\n")
    program.chmod(0o755)
    (agent,) = load(
        "agents: {it: {argv: [~/agent], version: {argv: [~/agent, --version]}, "
        "login: {variables: [MY_KEY], files: [~/.login], advice: log in first}, vendor: openai}}"
    ).values()
    environ = {"HOME": str(tmp_path), "PATH": PATH}
    dialect = DescribedDialect("it", agent, environ)
    out = await dialect.probe(environ)
    assert (out.installed, out.path, out.version, out.logged_in) == (True, str(program), "1.2.3-rc1", False)
    assert out.note == f"log in first; {WEAK}"
    assert (await dialect.probe({**environ, "MY_KEY": "x"})).logged_in is True
    (tmp_path / ".login").touch()
    assert (await dialect.probe(environ)).logged_in is True
    assert (dialect.program, dialect.vendor.name) == (str(program), "openai")


async def test_a_probe_of_what_is_not_there_tells_how_to_install_it():
    agent = load("agents: {it: {argv: [no-such-agent], install: npm install -g no-such-agent}}")["it"]
    found = await DescribedDialect("it", agent, {}).probe({"PATH": PATH})
    assert not found.installed
    assert "npm install" in found.note


async def test_a_probe_of_what_is_described_no_further_knows_no_more():
    found = await DescribedDialect("it", load("agents: {it: {argv: [bash]}}")["it"], {}).probe({"PATH": PATH})
    assert (found.installed, found.version, found.logged_in, found.note) == (True, None, None, WEAK)
