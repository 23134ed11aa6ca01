"""Files that are suspicious by their name, their mode or their characters, each beside an honest twin."""

from __future__ import annotations

import pytest

from trueup.coder import Severity
from trueup.coder._suspicions import ChangedFile, Context, suspicions

FLAG, GATE, INFO = Severity.FLAG, Severity.GATE, Severity.INFO
PLAIN, RUNNABLE, LINK, SUBMODULE = "100644", "100755", "120000", "160000"

# Put together here, so that nobody takes this file for a leak.
TOKEN = "gh" + "p_" + "R7kQ2mZx9LwB4tVy8NcJ5sHd3GfP6aEu1iOq"
KEY = "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 4

# Path, contents and mode of the trick; what is found and how grave; path, contents and mode of an honest file.
TRICKS = {
    "sitecustomize": (("src/sitecustomize.py", "x = 1\n", PLAIN), "startup_file", GATE, ("src/customize.py", "x = 1\n", PLAIN)),
    "a path file": (("zz.pth", "import os; os._exit(0)\n", PLAIN), "startup_file", GATE, ("model.pth", "PK\0\0weights", PLAIN)),
    "a shell's start": ((".envrc", "x\n", PLAIN), "startup_file", FLAG, ("env.sample", "x\n", PLAIN)),
    "npm's options": ((".npmrc", "node-options=--require ./x.js\n", PLAIN), "startup_file", FLAG, (".npmrc", "save-exact=true\n", PLAIN)),
    "preloaded": ((".env", "LD_PRELOAD=./x.so\n", PLAIN), "startup_file", FLAG, (".env", "PORT=80\nPYTHONPATH=src\n", PLAIN)),
    "required by node": (("run.sh", "export NODE_OPTIONS='--require ./x.js'\n", PLAIN), "startup_file", FLAG, ("run.sh", "export NODE_OPTIONS=--max-old-space-size=4096\n", PLAIN)),
    "cargo's runner": ((".cargo/config.toml", "[target.x]\nrunner = 'true'\n", PLAIN), "startup_file", FLAG, (".cargo/config.toml", "[net]\nretry = 3\n", PLAIN)),
    "a filter": ((".gitattributes", "VERSION filter=fx\n", PLAIN), "git_filter", FLAG, (".gitattributes", "*.png filter=lfs diff=lfs merge=lfs -text\n", PLAIN)),
    "a submodule's command": ((".gitmodules", "[submodule 'x']\n\tupdate = !touch x\n", PLAIN), "git_filter", GATE, (".gitmodules", "[submodule 'x']\n\turl = https://example.invalid/x\n", PLAIN)),
    "git's other configuration": ((".gitconfig", "[include]\n\tpath = x\n", PLAIN), "git_filter", FLAG, (".gitconfig", "[user]\n\tname = x\n", PLAIN)),
    "in place of the runner": (("unittest.py", "x = 1\n", PLAIN), "module_shadowed", GATE, ("slug/unittest.py", "x = 1\n", PLAIN)),
    "in place of a module": (("src/random.py", "x = 1\n", PLAIN), "module_shadowed", FLAG, ("src/slug/random.py", "x = 1\n", PLAIN)),
    "in place of a tool": (("bin/python3", "#!/bin/sh\nexit 0\n", RUNNABLE), "tool_shadowed", FLAG, ("bin/serve", "#!/bin/sh\nexec slug\n", RUNNABLE)),
    "installed code": (("node_modules/jest/index.js", "x\n", PLAIN), "dependency_shadowed", FLAG, ("modules/jest.js", "x\n", PLAIN)),
    "a link out": (("data", "../../etc", LINK), "symlink_out", GATE, ("docs/data", "../data", LINK)),
    "a link to an absolute path": (("data", "/tmp/data", LINK), "symlink_out", GATE, ("data", "tmp/data", LINK)),
    "a link to the system": (("data", "/usr/share/zoneinfo/UTC", LINK), "symlink_out", FLAG, ("data", "usr/share", LINK)),
    "a link that winds": (("a/b/data", "../x/../../y", LINK), "symlink_out", FLAG, ("a/b/data", "../../y", LINK)),
    "a program": (("tool", "\x7fELF\0\0", PLAIN), "binary", FLAG, ("logo.png", "\x89PNG\0\0", PLAIN)),
    "compiled": (("slug.pyc", "\0\0\0", PLAIN), "binary", FLAG, ("slug.ico", "\0\0\0", PLAIN)),
    "another repository": (("vendor", "", SUBMODULE), "embedded_repository", FLAG, ("vendor.txt", "", PLAIN)),
    "a git folder": (("vendor/.git/config", "x\n", PLAIN), "embedded_repository", GATE, ("vendor/.github/config", "x\n", PLAIN)),
    "a name that is not seen": (("a\nb.txt", "x\n", PLAIN), "odd_path", FLAG, ("ä b.txt", "x\n", PLAIN)),
    "turned writing": (("slug.js", "x = 1 // \u202e x\n", PLAIN), "unicode_trick", FLAG, ("slug.js", "x = 'שלום'\n", PLAIN)),
    "an invisible character": (("slug.js", "pass\u200bword = 1\n", PLAIN), "unicode_trick", FLAG, ("slug.js", "x = '👩\u200d💻'\n", PLAIN)),
    "mixed alphabets": (("slug.py", "sc\u043epe = 1\n", PLAIN), "unicode_trick", FLAG, ("slug.py", "Δt = 1\nx = 'привет Tom'\n", PLAIN)),
    "mixed alphabets in go": (("slug.go", "var sc\u043epe = 1\n", PLAIN), "unicode_trick", FLAG, ("slug.go", 'var x = "sc\u043epe"\n', PLAIN)),
    "a token": (("docs/notes.md", f"use {TOKEN}\n", PLAIN), "secret", FLAG, ("docs/notes.md", "use gh" + "p_" + "x" * 36 + "\n", PLAIN)),
    "a private key": (("key.pem", KEY, PLAIN), "secret", FLAG, ("keys.py", "HEADER = '-----BEGIN " + "PRIVATE KEY-----'\n", PLAIN)),
    "ignored tests": ((".gitignore", "tests/\n", PLAIN), "ignore_list", FLAG, (".gitignore", ".pytest_cache/\ntest-results/\n", PLAIN)),
    "built files taken in": ((".gitignore", "!dist/\n", PLAIN), "ignore_list", FLAG, (".gitignore", "dist/\n!dist.md\n", PLAIN)),
    "an unreadable line": (("slug.js", "x = 1;" * 5000, PLAIN), "unreadable_line", INFO, ("slug.js", "x = 1;\n" * 5000, PLAIN)),
}  # fmt: skip


def found_in(path: str, text: str, mode: str, context: Context | None = None):
    raw = None if mode == SUBMODULE else text.encode("utf-8", "surrogateescape")
    return suspicions([ChangedFile(path=path, new=raw, new_mode=mode)], context)


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_trick_is_found(trick):
    file, kind, severity, _honest = trick
    finding = {each.kind: each for each in found_in(*file)}[kind]
    assert (finding.severity, finding.path) == (severity, file[0])


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_its_honest_twin_earns_a_remark_at_most(trick):
    _file, _kind, _severity, honest = trick
    assert [each for each in found_in(*honest) if each.severity is not INFO] == []


def test_a_secret_is_never_repeated():
    [finding] = found_in("notes.md", f"one\nuse {TOKEN}\n", PLAIN)
    assert finding.line == 2
    assert TOKEN[4:12] not in finding.message


def test_a_module_that_the_base_has_in_a_package_hides_nothing():
    assert found_in("src/random.py", "x = 1\n", PLAIN, Context(base_paths=["src/__init__.py"])) == []


def test_a_program_that_a_check_starts_is_not_to_be_replaced():
    [finding] = found_in("bin/checker", "#!/bin/sh\n", RUNNABLE, Context(commands=["X=1 checker --all"]))
    assert finding.kind == "tool_shadowed"


def test_what_checks_read_although_git_ignores_it_is_told():
    [finding] = suspicions([], Context(ignored_read=["out/report.json"]))
    assert (finding.kind, finding.severity, finding.path) == ("ignored_read", INFO, "out/report.json")
