"""The folder of a run: laid out where the agent runs, told from, and gone afterwards."""

from __future__ import annotations

import os

import msgspec
import pytest

from agent_recordings import request
from trueup.core.process import Command, Finished, Process, run
from trueup.harness.agents._folder import BEGIN, END, FileListening, Layout, Place, in_folder


@pytest.fixture
def start(tmp_path):
    """Puts a shell script into a folder of its own; temporary files are made where they can be counted."""
    temporary = tmp_path / "tmp"
    work = tmp_path / "work"
    temporary.mkdir()
    work.mkdir()

    def command(script: str, layout: Layout, *words: str | Place, stdin: bytes = b"", **env: str | Place) -> Command:
        put = in_folder(["/bin/sh", "-c", script, "sh", *words], layout, env=env, stdin=stdin)
        about = {"PATH": os.defpath, "HOME": str(tmp_path), "TMPDIR": str(temporary)}
        return Command(argv=put.argv, cwd=str(work), env={**about, **put.env}, stdin=put.stdin, timeout_secs=20)

    command.temporary, command.work = temporary, work
    return command


async def test_files_words_variables_and_stdin_are_there(start):
    layout = Layout(files={"a/system.md": 'it\'s "so" $HOME\n', "b": "x"})
    script = 'cat "$1" "$FOLDER/b"; echo "$2"; echo "$PLAIN"; cat; env | grep -c TRUEUP_FILE'
    odd = 'it\'s $HOME `id` "q"'
    command = start(script, layout, Place("a/system.md"), odd, stdin=b"the prompt\n", FOLDER=Place(), PLAIN="y z")
    finished = await run(command)
    assert finished.stdout.text == f'it\'s "so" $HOME\nx{odd}\ny z\nthe prompt\n0\n'


async def test_a_file_that_the_agent_writes_is_told_last_and_its_exit_code_is_kept(start):
    finished = await run(
        start('printf said; printf "one\\ntwo" >"$1"; exit 7', Layout(tells="told.json"), Place("told.json"))
    )
    assert finished.stdout.text == f"said\n{BEGIN}\none\ntwo\n{END}\n"
    assert finished.exit_code == 7


async def test_one_that_writes_no_file_is_told_as_it_is(start):
    finished = await run(start("echo said", Layout(tells="told.json")))
    assert (finished.stdout.text, finished.exit_code) == ("said\n", 0)


async def test_nothing_is_left_of_it(start):
    await run(start('echo x >"$1/y"', Layout(files={"z": "1"}), Place()))
    assert list(start.temporary.iterdir()) == []


async def test_what_an_agent_leaves_is_removed_unless_it_was_there(start):
    layout = Layout(leaves=(".cache", ".kept"))
    (start.work / ".kept").mkdir()
    await run(start("mkdir -p .cache .kept; touch .cache/x .kept/y made", layout))
    assert sorted(path.name for path in start.work.iterdir()) == [".kept", "made"]


async def test_the_prompt_becomes_a_file_where_it_is_asked_for(start):
    finished = await run(
        start('cat "$1"; cat', Layout(stdin="prompt.md"), Place("prompt.md", ""), stdin=b"x" * 300_000)
    )
    assert finished.stdout.seen == 300_000


async def test_an_agent_makes_files_that_others_can_read(start):
    await run(start("umask 022; touch made", Layout(files={"a": "b"})))
    finished = await run(start("umask", Layout(files={"a": "b"})))
    assert int(finished.stdout.text, 8) == int((await run(Command(argv=("/bin/sh", "-c", "umask")))).stdout.text, 8)


async def test_sigterm_reaches_the_agent_which_may_still_write_its_file(start):
    script = 'trap "echo {} >$1; exit 3" TERM; echo ready; while :; do sleep 0.02; done'
    command = msgspec.structs.replace(start(script, Layout(tells="told"), Place("told")), grace_secs=5)
    async with Process(command) as process:
        assert (await anext(process.lines())).strip() == "ready"
        process.stop()
        finished: Finished = await process.wait()
    assert f"{BEGIN}\n{{}}\n" in finished.stdout.text
    assert list(start.temporary.iterdir()) == []


class Listens(FileListening):
    decoder = msgspec.json.Decoder(dict)

    def __init__(self) -> None:
        super().__init__(request())
        self.files: list[str] = []

    def hear(self, record):
        return []

    def hear_file(self, content):
        self.files.append(content)
        return []


def test_a_file_is_heard_whole_and_one_that_does_not_end_is_not():
    conversation = Listens()
    for line in ("{}", BEGIN, "{", "}", END, "more", BEGIN, "half"):
        conversation.feed(line)
    assert conversation.files == ["{\n}"]
