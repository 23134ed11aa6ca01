"""What of the user's files a program needs to run."""

from __future__ import annotations

from trueup.harness._program_parts import parts_of


def made(file, first_line):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{first_line}\n")
    file.chmod(0o755)
    return file


def test_a_script_of_a_node_package_needs_the_packages_beside_it_and_its_node(tmp_path):
    script = made(tmp_path / "lib/node_modules/@some/agent/node_modules/inner/cli.js", "#!/usr/bin/env node")
    node = made(tmp_path / "versions/node-22/bin/node", "\x7fELF")
    for folder, target in (("bin", script), ("path", node)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / target.stem.replace("cli", "agent")).symlink_to(target)
    parts = parts_of(str(tmp_path / "bin/agent"), {"PATH": f"{tmp_path}/path:/usr/bin"})
    assert parts == [
        str(tmp_path / "bin/agent"),
        str(tmp_path / "lib/node_modules"),
        str(tmp_path / "path/node"),
        str(node),
    ]


def test_a_script_of_a_python_environment_needs_the_environment_and_what_it_was_made_of(tmp_path):
    python = made(tmp_path / "pythons/3.12/bin/python3.12", "\x7fELF")
    folder = tmp_path / "tools/agent"
    script = made(folder / "bin/agent", f"#!{folder}/bin/python")
    (folder / "bin/python").symlink_to(python)
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\nversion = 3.12\n")
    assert parts_of(str(script), {}) == [str(folder), str(tmp_path / "pythons/3.12")]


def test_a_program_needs_itself_and_of_the_system_nothing(tmp_path):
    program = made(tmp_path / "agent", "\x7fELF")
    assert parts_of(str(program), {}) == [str(program)]
    script = made(tmp_path / "script", "#!/bin/sh")
    assert parts_of(str(script), {}) == [str(script)]
    assert parts_of("/usr/bin/env", {}) == []


def test_a_program_that_is_not_there_or_names_nobody_is_itself(tmp_path):
    assert parts_of(str(tmp_path / "gone"), {}) == [str(tmp_path / "gone")]
    odd = made(tmp_path / "odd", "#!/usr/bin/env nobody-is-called-so")
    assert parts_of(str(odd), {"PATH": "/usr/bin"}) == [str(odd)]
