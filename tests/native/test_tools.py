"""The tools of the native agent, each by what the model is told and what is there afterwards."""

from __future__ import annotations

import os
import shutil
import stat

import msgspec
import pytest

from trueup.core.errors import SpawnError
from trueup.native import OUTPUT_CHARS
from trueup.testing import ScriptedModel, Tool


def call(name: str, **arguments) -> Tool:
    return Tool(name, arguments)


async def test_a_command_that_fails_is_told_with_its_exit_and_both_streams(desk):
    [told] = await desk.told(Tool.shell("echo out; echo err >&2; exit 7"))
    assert told == "out\nerr\n\n[exit 7]"


async def test_a_command_without_output_says_so(desk):
    assert await desk.told(Tool.shell("true")) == ["[exit 0, no output]"]


async def test_a_failure_in_a_pipe_is_a_failure(desk):
    [told] = await desk.told(Tool.shell("false | cat"))
    assert told == "[exit 1]"


async def test_a_command_reads_nothing_and_finds_no_pager(desk):
    [told] = await desk.told(Tool.shell('cat; echo "$PAGER $GIT_TERMINAL_PROMPT"'))
    assert told == "cat 0\n"


async def test_variables_of_the_job_are_there(desk):
    [told] = await desk.told(Tool.shell('echo "$FLAVOUR"'), env={"FLAVOUR": "vanilla"})
    assert told == "vanilla\n"


async def test_a_command_that_takes_too_long_is_ended_and_its_output_kept(desk):
    [told] = await desk.told(call("shell", command="echo begun; sleep 60", timeout_secs="0.3"))
    assert told == "begun\n\n[not done after 0.3 s, and ended]"


async def test_long_output_keeps_its_beginning_and_its_end(desk):
    [told] = await desk.told(Tool.shell("seq 1 20000"))
    assert told.startswith("1\n2\n3\n")
    assert told.endswith("19999\n20000\n")
    assert "characters left out here" in told
    assert len(told) < OUTPUT_CHARS + 200


@pytest.mark.parametrize("middle", ["head -c 5000000 /dev/zero | tr '\\0' x", "yes | head -n 3000000"])
async def test_megabytes_of_output_keep_their_beginning_and_their_end(desk, middle):
    [told] = await desk.told(Tool.shell(f"echo FIRST; {middle}; echo; echo LAST"))
    assert told.startswith("FIRST\n")
    assert told.endswith("\nLAST\n")
    assert "bytes left out here" in told
    assert len(told) < OUTPUT_CHARS + 200


async def test_bytes_that_are_no_text_are_shown_as_far_as_they_are(desk):
    [told] = await desk.told(Tool.shell(r"printf 'a\xff\xfeb'"))
    assert told == "a\ufffd\ufffdb"


async def test_a_command_that_no_system_takes_is_told_back(desk):
    long, nul = await desk.told(Tool.shell("true " + "x" * 200_000), Tool.shell("echo \0"))
    assert "could not start" in long
    assert "NUL byte" in nul


async def test_a_file_is_read_in_pieces(desk):
    (desk.folder / "many.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    some, rest, nothing = await desk.told(
        call("read", path="many.txt", limit=2),
        call("read", path="many.txt", offset=9),
        call("read", path="many.txt", offset=99),
    )
    assert some == "line 1\nline 2\n\n[lines 1 to 2 of 10; go on with offset=3]"
    assert rest == "line 9\nline 10\n\n[lines 9 to 10 of 10]"
    assert nothing == "[nothing: the file has 10 lines]"


async def test_a_long_file_is_read_as_far_as_fits_and_can_be_read_on(desk):
    lines = [f"line {number} {'x' * 90}" for number in range(1000)]
    (desk.folder / "long.txt").write_text("\n".join(lines))
    [first] = await desk.told(Tool.read("long.txt"))
    told = first.splitlines()
    number = int(told[-1].split("offset=")[1].rstrip("]"))
    assert told[: number - 1] == lines[: number - 1]
    assert 100 < number < 1000
    [on] = await desk.told(call("read", path="long.txt", offset=number))
    assert on.splitlines()[0] == lines[number - 1]


async def test_a_line_that_is_too_long_is_cut(desk):
    (desk.folder / "one.txt").write_text("x" * 100_000)
    [told] = await desk.told(Tool.read("one.txt"))
    assert told == "x" * OUTPUT_CHARS + "\n[lines 1 to 1 of 1, a long one cut]"


async def test_what_cannot_be_read_is_told(desk):
    (desk.folder / "picture.png").write_bytes(b"\x89PNG\0\0")
    (desk.folder / "empty").write_text("")
    os.mkfifo(desk.folder / "pipe")
    names = ["nowhere.py", ".git", "picture.png", "pipe", "empty", "/dev/zero"]
    told = await desk.told(*(call("read", path=name) for name in names))
    assert told == [
        "nowhere.py: there is no such file",
        ".git: it is a folder; list it with the shell",
        "picture.png: it is not text; look at it with the shell",
        "pipe: it is not an ordinary file",
        "[nothing: the file has 0 lines]",
        "/dev/zero: it is not an ordinary file",
    ]


async def test_a_file_is_written_with_its_folders_byte_for_byte(desk):
    content = "été 'quoted' \"$HOME\" `ls`\\\r\nno newline at the end"
    [told] = await desk.told(Tool.write("a/b c/-n.txt", content))
    assert told == f"[{len(content.encode())} bytes written]"
    assert (desk.folder / "a" / "b c" / "-n.txt").read_bytes() == content.encode()


async def test_strange_names_are_only_names(desk):
    names = ["-rf", "$(touch pwned)", "a;b", "new\nline", "*"]
    await desk.told(*(call("write", path=name, content=name) for name in names))
    told = await desk.told(*(call("read", path=name) for name in names))
    assert told == names
    assert not (desk.folder / "pwned").exists()


async def test_a_large_file_is_written_whole_and_an_empty_one_too(desk):
    large = "0123456789abcde\n" * 65536
    await desk.told(Tool.write("large.txt", large), Tool.write("calc.py", ""))
    assert (desk.folder / "large.txt").read_text() == large
    assert (desk.folder / "calc.py").read_bytes() == b""


async def test_what_cannot_be_written_is_told(desk):
    folder, below = await desk.told(
        call("write", path=".git", content="x"), call("write", path="calc.py/x", content="x")
    )
    assert folder.startswith(".git: ")
    assert "Is a directory" in folder
    assert below.startswith("calc.py/x: ")


async def test_nothing_is_written_outside_of_the_workspace_by_whatever_way(desk, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "mine.txt").write_text("mine")
    (desk.folder / "way").symlink_to(outside)
    (desk.folder / "way.txt").symlink_to(outside / "mine.txt")
    neighbour = f"{desk.folder}-neighbour/new.txt"
    paths = [f"{outside}/mine.txt", f"../{outside.name}/new.txt", "way/new/new.txt", "way.txt", neighbour]
    told = await desk.told(
        *(call("write", path=path, content="yours") for path in paths),
        call("edit", path="way.txt", old="mine", new="yours"),
    )
    assert {text.partition(": ")[2] for text in told} == {
        "it is outside of the working directory, where nothing is written"
    }
    assert [(file.name, file.read_text()) for file in outside.iterdir()] == [("mine.txt", "mine")]
    assert not os.path.exists(os.path.dirname(neighbour))


async def test_a_file_outside_of_the_workspace_can_be_read_where_the_launcher_shows_it(desk, tmp_path_factory):
    (tmp_path_factory.getbasetemp() / "header.h").write_text("int x;\n")
    [told] = await desk.told(call("read", path=str(tmp_path_factory.getbasetemp() / "header.h")))
    assert told == "int x;\n"


async def test_an_edit_keeps_everything_else_of_a_file(desk):
    script = desk.folder / "run.sh"
    script.write_bytes(b"#!/bin/sh\necho \xff old\r\n")
    script.chmod(0o755)
    await desk.told(Tool.edit("run.sh", "old", "new"))
    assert script.read_bytes() == b"#!/bin/sh\necho \xff new\r\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755


async def test_an_edit_of_several_lines_finds_them_in_a_file_from_windows(desk):
    (desk.folder / "win.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await desk.told(Tool.edit("win.txt", "one\ntwo\n", "1\n2\n"))
    assert (desk.folder / "win.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_an_edit_that_is_not_clear_changes_nothing(desk):
    before = (desk.folder / "calc.py").read_text()
    told = await desk.told(
        Tool.edit("calc.py", "a * b", "a + b"),
        Tool.edit("calc.py", "a", "x"),
        Tool.edit("calc.py", "", "x"),
        Tool.edit("calc.py", "a", "a"),
        Tool.edit("none.py", "a", "b"),
    )
    assert "`old` is not in it" in told[0]
    assert "`old` is in it 3 times" in told[1]
    assert told[2] == told[3] == "nothing would change; give what is there as `old`, and something else as `new`"
    assert told[4] == "none.py: there is no such file"
    assert (desk.folder / "calc.py").read_text() == before


async def test_an_edit_replaces_all_where_all_are_meant(desk):
    [told] = await desk.told(call("edit", path="calc.py", old="a", new="x", all=True))
    assert told == "[3 replaced]"
    assert (desk.folder / "calc.py").read_text() == "def xdd(x, b):\n    return x - b\n"


async def test_an_edit_of_a_huge_file_is_left_to_the_shell(desk):
    huge = desk.folder / "huge.txt"
    huge.write_text("x" * 2_000_000 + "end")
    [told] = await desk.told(call("edit", path="huge.txt", old="end", new="END"))
    assert "change it with the shell" in told
    assert huge.read_text().endswith("end")


async def test_a_search_finds_lines_and_leaves_out_what_nobody_wants(desk):
    (desk.folder / "src").mkdir()
    (desk.folder / "src" / "a.py").write_text("x = 1\nné(2)\n")
    (desk.folder / "src" / "a.txt").write_text("x = 1\n")
    (desk.folder / "src" / "binary").write_bytes(b"x = 1\0")
    (desk.folder / ".git" / "found").write_text("x = 1\n")
    found, regex, none, one = await desk.told(
        call("search", pattern="x = [0-9]", files="*.py"),
        call("search", pattern=r"^né\(", path="src"),
        call("search", pattern="nowhere to be found"),
        call("search", pattern="return", path="calc.py"),
    )
    assert found == "./src/a.py:1:x = 1"
    assert regex == "./src/a.py:2:né(2)"
    assert none == "[nothing found]"
    assert one == "2:    return a - b"


async def test_a_search_that_finds_too_much_says_so(desk):
    (desk.folder / "many.txt").write_text("match\n" * 1000)
    (desk.folder / "wide.txt").write_text("wide " * 1000)
    many, wide = await desk.told(call("search", pattern="match"), call("search", pattern="wide", path="wide.txt"))
    assert many.count("match") == 200
    assert many.endswith("\n[800 more lines; look for something rarer]")
    assert wide.endswith(" [...]")
    assert len(wide) < 400


async def test_a_search_that_cannot_be_made_is_told(desk):
    regex, path, option = await desk.told(
        call("search", pattern="(open"), call("search", pattern="x", path="nowhere"), call("search", pattern="--help")
    )
    assert "nmatched (" in regex
    assert path == "nowhere: there is no such file or folder"
    assert option == "[nothing found]"


async def test_a_call_that_does_not_fit_is_told_back(desk):
    unknown, missing, wrong = await desk.told(
        call("teleport", to="Mars"), call("read"), call("shell", command="true", timeout_secs=99999)
    )
    assert unknown == "there is no tool 'teleport'; there are shell, read, write, edit, search"
    assert missing == "the input of 'read' does not fit: Object missing required field `path`"
    assert wrong.startswith("the input of 'shell' does not fit: Expected `float` <= 1800")


async def test_a_workspace_that_is_gone_is_no_outcome_but_an_error(desk):
    shutil.rmtree(desk.folder)
    async with ScriptedModel(["Done."]) as model:
        with pytest.raises(SpawnError):
            await desk.work(model)
        assert model.asked == []


async def test_a_search_whose_expression_would_fill_the_memory_is_given_up(desk):
    [told] = await desk.told(call("search", pattern="((((a{1,200}){1,200}){1,200}){1,200})"))
    assert "emory exhausted" in told or "too big" in told


class Narrow:
    """A launcher that gives programs little memory."""

    def __init__(self, wide):
        self._wide = wide

    def launch(self, command):
        return self._wide.launch(msgspec.structs.replace(command, argv=("prlimit", f"--as={1 << 28}", *command.argv)))


async def test_a_huge_file_without_lines_is_read_in_little_memory(desk):
    desk.launcher = Narrow(desk.launcher)
    with (desk.folder / "huge").open("wb") as huge:
        huge.write(b"x" * 30_000)
        huge.truncate(1 << 29)
    read, edited = await desk.told(call("read", path="huge"), call("edit", path="huge", old="x", new="y"))
    assert read.endswith("[lines 1 to 1 of 1, a long one cut]")
    assert "it has more than 1048576 bytes" in edited
