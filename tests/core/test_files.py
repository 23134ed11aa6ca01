"""Writing files: all or nothing."""

from __future__ import annotations

import pytest

from trueup.core.errors import InfrastructureError
from trueup.core.files import write_whole
from trueup.core.process import Command, run


def test_a_file_is_replaced_whole(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    write_whole(file, "new ü\n")
    assert file.read_text() == "new ü\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(InfrastructureError, match=r"missing/a.txt: cannot be written: No such file"):
        write_whole(tmp_path / "missing" / "a.txt", "x")


async def test_a_full_disk_leaves_the_old_file_and_no_scrap(tmp_path):
    script = (
        "mount -t tmpfs -o size=16k tmpfs . && cd . && echo precious > kept.txt && "
        "python3 -c \"import sys; sys.path[:0] = sys.argv[1].split(':')\n"
        "from pathlib import Path; from trueup.core.files import write_whole\n"
        "write_whole(Path('kept.txt').absolute(), 'x' * 1000000)\" PATHS; cat kept.txt; ls -A | wc -l"
    )
    import sys

    line = script.replace("python3", sys.executable).replace("PATHS", f"'{':'.join(sys.path)}'")
    argv = ("unshare", "--user", "--map-root-user", "--mount", "bash", "-c", f"cd {tmp_path} && {line}")
    finished = await run(Command(argv=argv))
    if "unshare failed" in finished.stderr.text:
        pytest.skip("no user namespaces here: a small file system cannot be mounted")
    assert "No space left on device; nothing was changed" in finished.stderr.text
    assert finished.stdout.text.split() == ["precious", "1"]
