"""What makes a contract unusable, and what makes it doubtful."""

from __future__ import annotations

import pytest

from trueup.contract import Check, Contract


def problems(*checks: Check) -> list[str]:
    return Contract(description="d", checks=list(checks)).validate()


def weaknesses(*commands: str, **more) -> list[str]:
    checks = [Check(name=f"c{n}", command=command, **more) for n, command in enumerate(commands)]
    return Contract(description="d", checks=checks).weaknesses()


def test_a_sound_contract_has_no_problem():
    assert problems(Check(name="suite", command="pytest -q")) == []


def test_a_contract_needs_a_check():
    assert problems() == ["contract has no checks; it needs at least one"]


def test_every_problem_of_every_check_is_listed():
    found = problems(
        Check(name="a", command="true", expect_exit_zero=False),
        Check(name=" a ", command=" "),
        Check(name="", command="cargo --version"),
        Check(name="unique_snake_case_label", command="x", cwd="../elsewhere"),
    )
    for fragment in (
        "check 'a' asserts nothing",
        "check ' a ' has an empty command",
        "duplicate check name ' a '",
        "check #2 has an empty name",
        "toolchain-only no-op (`cargo --version`)",
        "check #3 still has the placeholder name",
        "has cwd '../elsewhere'",
    ):
        assert any(fragment in problem for problem in found), fragment
    assert len(found) == 7


def test_indices_count_from_zero():
    assert problems(Check(name=" ", command="x"))[0].startswith("check #0 ")


TOOLS = (
    "cargo rustc rustup node npm npx yarn pnpm python python3 pip pip3 go java javac ruby gem dotnet deno bun tsc gcc "
    "clang make cmake"
).split()


@pytest.mark.parametrize("flag", ["--version", "-V", "-v", "--help", "-h", "version"])
@pytest.mark.parametrize("tool", TOOLS)
def test_asking_a_tool_for_its_version_is_no_check(tool, flag):
    assert "toolchain-only no-op" in problems(Check(name="a", command=f" {tool}  {flag} "))[0]


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "a\nb", "a\tb", "a\n", "\x9b", "\u202eb"])
def test_a_name_that_acts_on_a_terminal_is_a_problem(name):
    assert problems(Check(name=name, command="x")) == [f"check #0 has control characters in its name {name!r}"]


def test_half_of_a_character_is_a_problem():
    assert problems(Check(name="a", command="echo \ud800")) == [
        "contract has half of a surrogate pair in it, which is no character"
    ]


def test_a_command_that_no_shell_can_be_given_is_a_problem_and_not_taken_apart():
    long = "x" * (1 << 20)
    assert problems(Check(name="a", command=long)) == [
        "check 'a' has a command of 1048576 characters; put it in a script"
    ]
    assert weaknesses(long) == ["check 'c0' cannot be parsed as a shell command (too long)"]


@pytest.mark.parametrize(
    "command",
    [
        "cargo build",
        "cargo run -- --version",
        "./target/debug/greeter --version",
        "cargo --version && cargo build",
        "cargo --version; make",
        "node -v | grep 20",
        "go version\ngo test",
        "grep -q version Cargo.toml",
        "mytool --version",
        "cargo",
    ],
)
def test_a_command_that_does_more_is_a_check(command):
    assert problems(Check(name="a", command=command)) == []


def test_output_alone_may_be_asserted():
    assert problems(Check(name="a", command="./x", expect_exit_zero=False, output_contains="usage")) == []


@pytest.mark.parametrize("cwd", ["/etc", "..", "a/../../b", "nul\0"])
def test_a_folder_outside_the_repository_is_a_problem(cwd):
    assert "is not a folder inside the repository" in problems(Check(name="a", command="x", cwd=cwd))[0]


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        ("true", "does nothing that could fail"),
        (": ", "does nothing that could fail"),
        ("echo tests pass", "does nothing that could fail"),
        ("# pytest", "does nothing that could fail"),
        ("exit 0", "does nothing that could fail"),
        ("pytest || true", "hides failure"),
        ("pytest; exit 0", "hides failure"),
        ("pytest || echo failed", "hides failure"),
        ("pytest\ntrue", "hides failure"),
        ("pytest &", "hides failure"),
        ("npm test -- --watch", "watches for changes"),
        ("npm run dev", "does not end by itself"),
        ("tail -f log", "does not end by itself"),
        ("python3 -m http.server", "does not end by itself"),
        ("make test && git push origin main", "changes a repository with `git push`"),
        ("sudo make install", "asks for root"),
        ("curl -sf https://example.com", "wants the network"),
        ("X=1 pip install foo", "wants the network"),
        ("pytest 'unbalanced", "cannot be parsed"),
        ("grep -q done README.md", "only looks at files"),
        ("! grep -q TODO src/x.py && test -f y", "only looks at files"),
    ],
)
def test_a_doubtful_command_is_pointed_out(command, doubt):
    assert any(doubt in weakness for weakness in weaknesses(command)), weaknesses(command)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "make && ./run | grep -q ok",
        "cd sub && npm test",
        "cargo build && test -f target/debug/x",
        "python3 -c \"print('do not git push')\"",
        "if ./x; then exit 1; fi",
        "./run > out.txt; diff out.txt want.txt",
    ],
)
def test_an_ordinary_command_raises_no_doubt(command):
    assert weaknesses(command) == []


def test_a_network_command_that_may_use_the_network_raises_no_doubt():
    assert weaknesses("curl -sf https://example.com", network=True) == []


def test_the_same_command_twice_is_one_check():
    assert weaknesses("pytest -q", "pytest   -q") == ["check 'c1' runs the same command as 'c0'"]


def test_an_empty_text_is_always_there():
    assert "which is always there" in weaknesses("./x", output_contains="")[0]


def test_a_weak_contract_is_still_a_valid_one():
    assert problems(Check(name="a", command="true")) == []
