"""Writing files: all or nothing."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from trueup.core.errors import InfrastructureError, InputError
from trueup.core.files import user_folder, write_whole
from trueup.core.process import Command, run


def test_a_file_is_replaced_whole(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    write_whole(file, "new ü\n")
    assert file.read_text() == "new ü\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(InputError, match=r"missing/a.txt: cannot be written: there is no folder /.*/missing"):
        write_whole(tmp_path / "missing" / "a.txt", "x")


@pytest.mark.parametrize("name", [".", "/", "", ".."])
def test_a_folder_is_not_a_file_to_write(name):
    with pytest.raises(InputError, match="is a folder; name the file to write"):
        write_whole(Path(name), "x")


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to("real/a.txt")
    write_whole(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "new"


def test_a_link_to_itself_is_a_clear_error(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InfrastructureError, match="loop: cannot be written: Too many levels of symbolic links"):
        write_whole(tmp_path / "loop", "x")


def test_a_file_keeps_its_mode(tmp_path):
    file = tmp_path / "secret.txt"
    file.touch()
    file.chmod(0o600)
    write_whole(file, "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert (read, pipe.is_fifo()) == (["through"], True)


def test_a_device_is_written_to_and_stays_one(tmp_path):
    link = tmp_path / "nowhere"
    link.symlink_to("/dev/null")
    write_whole(link, "x")
    assert (link.is_symlink(), link.is_char_device()) == (True, True)


def test_a_file_with_the_name_of_a_scratch_file_is_somebody_elses(tmp_path):
    other = tmp_path / f".a.txt.{os.getpid()}"
    other.write_text("theirs")
    write_whole(tmp_path / "a.txt", "mine")
    assert other.read_text() == "theirs"


def test_a_relative_folder_is_nobodys_own(tmp_path):
    environ = {"XDG_DATA_HOME": "data", "HOME": str(tmp_path)}
    assert user_folder("XDG_DATA_HOME", ".local/share", environ) == tmp_path / ".local/share"


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "."}])
def test_without_a_usable_home_the_password_database_is_asked(environ):
    assert user_folder("XDG_DATA_HOME", "x", environ).is_absolute()


async def test_a_user_without_any_home_is_asked_for_one():
    code = "from trueup.core.files import user_folder; user_folder('XDG_DATA_HOME', 'x', {})"
    argv = ("unshare", "--user", "--map-user=54321", sys.executable, "-c", code)
    finished = await run(Command(argv=argv))
    if finished.stderr.text.startswith("unshare:"):
        pytest.skip("no user namespaces here: nobody is unknown")
    assert "InputError: HOME is not set and user 54321 has no home folder" in finished.stderr.text


async def test_a_full_disk_leaves_the_old_file_and_no_scrap(tmp_path):
    script = (
        "mount -t tmpfs -o size=16k tmpfs . && cd . && echo precious > kept.txt && "
        "python3 -c \"import sys; sys.path[:0] = sys.argv[1].split(':')\n"
        "from pathlib import Path; from trueup.core.files import write_whole\n"
        "write_whole(Path('kept.txt').absolute(), 'x' * 1000000)\" PATHS; cat kept.txt; ls -A | wc -l"
    )
    line = script.replace("python3", sys.executable).replace("PATHS", f"'{':'.join(sys.path)}'")
    argv = ("unshare", "--user", "--map-root-user", "--mount", "bash", "-c", f"cd {tmp_path} && {line}")
    finished = await run(Command(argv=argv))
    if "unshare failed" in finished.stderr.text:
        pytest.skip("no user namespaces here: a small file system cannot be mounted")
    assert "No space left on device; nothing was changed" in finished.stderr.text
    assert finished.stdout.text.split() == ["precious", "1"]
