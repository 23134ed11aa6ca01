"""A skill is held against the Agent Skills specification, rule by rule, with the line and what mends it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from trueup.core.errors import InputError
from trueup.skills._skill import RULES, Severity, find_skills, validate

PLAIN = "---\nname: greeter\ndescription: Greets people.\n---\n# Greeter\n\nGreet them.\n"


def front(*lines: str, name: str = "greeter", description: str = "Greets people.") -> str:
    """A SKILL.md with more lines in its frontmatter, from line 4 on."""
    return "\n".join(["---", f"name: {name}", f"description: {description}", *lines, "---", "Greet them.", ""])


def body(*lines: str) -> str:
    """A SKILL.md whose instructions begin in line 5."""
    return PLAIN.partition("# Greeter")[0] + "\n".join(lines) + "\n"


@pytest.fixture
def skill(tmp_path):
    """Writes a SKILL.md."""

    def write(text: str | bytes, folder: str = "greeter", file: str = "SKILL.md") -> Path:
        path = tmp_path / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path.parent

    return write


# What the reference validator (skills-ref 0.1.1) says too; beside it what only trueup has to say, as warnings.
VALID = {
    "plain": (PLAIN, []),
    "crlf": (PLAIN.replace("\n", "\r\n"), []),
    "the closing fence ends the file": ("---\nname: greeter\ndescription: d\n---", ["body-empty"]),
    "no instructions": ("---\nname: greeter\ndescription: d\n---\n\n", ["body-empty"]),
    "blanks after the fences": ("--- \nname: greeter\ndescription: d\n---\t\nText\n", []),
    "1024 characters": (front(description="d" * 1024), []),
    "folded": ("---\nname: greeter\ndescription: >\n  Greets\n  people.\n---\nText\n", []),
    "literal": ("---\nname: greeter\ndescription: |\n  Greets\n  people.\n---\nText\n", []),
    "dashes in a value": (front(description="Greets --- people"), []),
    "any script": (front(description="Grüßt 人 🎉"), []),
    "quoted": (front(name='"greeter"'), []),
    "comments": (front("# a comment"), []),
    "rules in the body": (PLAIN + "\n---\n\nmore\n---\n", []),
    "license": (front("license: MIT"), []),
    "500 characters": (front("compatibility: " + "c" * 500), []),
    "metadata": (front("metadata:", "  author: me", '  version: "1.0"'), []),
    "metadata of numbers": (front("metadata:", "  version: 1.0"), ["metadata-values"]),
    "nested metadata": (front("metadata:", "  a:", "    b: c"), ["metadata-values"]),
    "tools": (front("allowed-tools: Bash(git:*) Read"), []),
    "a list of tools": (front("allowed-tools:", "- Bash(git:*)", "- Read"), []),
    "angle brackets": (front(description="Uses <b>"), ["description-markup"]),
    "200 KB": (PLAIN + "word " * 40_000, []),
    "600 lines": (PLAIN + "line\n" * 600, ["body-length"]),
}


@pytest.mark.parametrize("case", VALID)
def test_what_the_reference_validator_accepts_is_accepted(skill, case):
    text, warnings = VALID[case]
    findings = validate([skill(text)])
    assert [finding.rule for finding in findings] == warnings
    assert all(finding.severity is Severity.WARNING for finding in findings)


# The folder, where it is not that of the name; the text; the rules that are broken, and in which line.
INVALID = {
    "empty": ("greeter", "", [("frontmatter-missing", 1)]),
    "no frontmatter": ("greeter", "# Greeter\n", [("frontmatter-missing", 1)]),
    "a blank line first": ("greeter", "\n" + PLAIN, [("frontmatter-missing", 1)]),
    "unclosed": ("greeter", "---\nname: greeter\ndescription: d\n", [("frontmatter-unclosed", 1)]),
    "closed by dots": ("greeter", "---\nname: greeter\ndescription: d\n...\nText\n", [("frontmatter-unclosed", 1)]),
    "nothing in it": ("greeter", "---\n---\nText\n", [("frontmatter-map", 2)]),
    "a list": ("greeter", "---\n- a\n---\nText\n", [("frontmatter-map", 2)]),
    "a colon too many": ("greeter", front(description="a: b: c"), [("frontmatter-yaml", 3)]),
    "a tab": ("greeter", "---\nname: greeter\n\tdescription: d\n---\nText\n", [("frontmatter-yaml", 3)]),
    "a key twice": ("greeter", front("name: greeter"), [("frontmatter-yaml", 4)]),
    "a control character": ("greeter", front(description="a\x07b"), [("frontmatter-yaml", 3)]),
    "no name": ("greeter", "---\ndescription: d\n---\nText\n", [("name-missing", 2)]),
    "no description": ("greeter", "---\nname: greeter\n---\nText\n", [("description-missing", 2)]),
    "an empty name": ("greeter", front(name=""), [("name-missing", 2)]),
    "a blank description": ("greeter", front(description="'  '"), [("description-missing", 3)]),
    "a list for a name": ("greeter", front(name="\n- a"), [("name-type", 3)]),
    "a list for a description": ("greeter", front(description="\n- a"), [("description-type", 4)]),
    "capitals": ("Greeter", front(name="Greeter"), [("name-characters", 2)]),
    "an underscore": ("greet_er", front(name="greet_er"), [("name-characters", 2)]),
    "a blank": ("greet er", front(name="greet er"), [("name-characters", 2)]),
    "a hyphen first": ("-greeter", front(name="-greeter"), [("name-hyphens", 2)]),
    "a hyphen last": ("greeter-", front(name="greeter-"), [("name-hyphens", 2)]),
    "two hyphens": ("gree--ter", front(name="gree--ter"), [("name-hyphens", 2)]),
    "65 characters": ("a" * 65, front(name="a" * 65), [("name-length", 2)]),
    "another folder": ("greeter", front(name="other"), [("name-folder", 2)]),
    "1025 characters": ("greeter", front(description="d" * 1025), [("description-length", 3)]),
    "501 characters": ("greeter", front("compatibility: " + "c" * 501), [("compatibility-length", 4)]),
    "a list for compatibility": ("greeter", front("compatibility:", "- c"), [("compatibility-type", 5)]),
    "an unknown key": ("greeter", front("version: '1'"), [("key-unknown", 4)]),
    "a key in capitals": ("greeter", front("License: MIT"), [("key-unknown", 4)]),
    "latin-1": ("greeter", front(description="Grüße").encode("latin-1"), [("file-encoding", 3)]),
}


@pytest.mark.parametrize("case", INVALID)
def test_what_the_reference_validator_refuses_is_refused_with_its_line(skill, case):
    folder, text, broken = INVALID[case]
    findings = validate([skill(text, folder)])
    assert [(finding.rule, finding.line) for finding in findings] == broken
    assert all(finding.severity is Severity.ERROR and finding.fix for finding in findings)


# Where the reference validator is behind the specification, or reads YAML in a way of its own.
STRICTER = {
    "a number for a name": ("123", front(name="123"), ["name-type"]),
    "letters beyond a to z": ("größer", front(name="größer"), ["name-characters"]),
    "a padded name": ("greeter", front(name="' greeter'"), ["name-characters", "name-folder"]),
    "a boolean description": ("greeter", front(description="true"), ["description-type"]),
    "a null description": ("greeter", front(description="~"), ["description-missing"]),
    "a list of licenses": ("greeter", front("license:", "- MIT"), ["license-type"]),
    "empty compatibility": ("greeter", front("compatibility:"), ["compatibility-length"]),
    "metadata of text": ("greeter", front("metadata: text"), ["metadata-type"]),
    "a map of tools": ("greeter", front("allowed-tools:", "  a: b"), ["allowed-tools-type"]),
    "a key on the fence": ("greeter", PLAIN.replace("---\nname", "---name", 1), ["frontmatter-missing"]),
    "an indented fence": ("greeter", PLAIN.replace("\n---\n", "\n ---\n"), ["frontmatter-unclosed"]),
    "larger than 1 MiB": ("greeter", PLAIN + "x" * (1 << 20), ["file-size"]),
}
MILDER = {
    "a byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "a list in brackets": front("allowed-tools: [Read, Write]"),
    "a map in braces": front("metadata: {a: b}"),
    "an anchor": front("license: &a MIT", "compatibility: *a"),
}


@pytest.mark.parametrize("case", STRICTER)
def test_what_the_specification_says_holds_where_the_reference_validator_is_mild(skill, case):
    folder, text, rules = STRICTER[case]
    assert [finding.rule for finding in validate([skill(text, folder)])] == rules


@pytest.mark.parametrize("case", MILDER)
def test_yaml_that_agents_read_is_accepted_where_the_reference_validator_knows_less_of_it(skill, case):
    assert validate([skill(MILDER[case])]) == []


def test_every_problem_of_a_file_is_told_in_its_order_and_with_what_mends_it(skill):
    text = front("licence: MIT", "allowed_tools: Read", "colour: red", name="Greet_Me", description="x" * 1025)
    findings = validate([skill(text, "greet-me")])
    assert [(finding.line, finding.rule, finding.fix) for finding in findings] == [
        (2, "name-characters", "write name: greet-me"),
        (2, "name-folder", "rename one of the two"),
        (3, "description-length", "move details to the instructions"),
        (4, "key-unknown", "did you mean 'license'?"),
        (5, "key-unknown", "did you mean 'allowed-tools'?"),
        (6, "key-unknown", "put it below metadata, or remove it"),
    ]


def test_a_finding_reads_as_file_line_rule_and_advice(skill):
    folder = skill(front("licence: MIT"))
    (finding,) = validate([folder])
    assert str(finding) == (f"{folder}/SKILL.md:4: error [key-unknown] unknown key 'licence'; did you mean 'license'?")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_are_those_of_the_file(skill, newline):
    text = body("# Greeter", "", "See [the list](references/list.md).").replace("\n", newline)
    (finding,) = validate([skill(b"\xef\xbb\xbf" + text.encode())])
    assert (finding.rule, finding.line) == ("reference-missing", 7)


def test_a_name_in_lower_case_is_found_and_warned_of_but_not_beside_the_right_one(skill):
    folder = skill(PLAIN, file="skill.md")
    assert [finding.rule for finding in validate([folder])] == ["file-name"]
    skill(PLAIN)
    assert find_skills([folder]) == [folder / "SKILL.md"]
    assert validate([folder]) == []


async def test_what_is_no_file_is_told_and_does_not_keep_anybody_waiting(tmp_path):
    folder = tmp_path / "greeter"
    folder.mkdir()
    os.mkfifo(folder / "SKILL.md")
    (finding,) = validate([folder])
    assert (finding.rule, finding.message) == ("file-unreadable", "is not a regular file")
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to("SKILL.md")
    assert [finding.rule for finding in validate([folder])] == ["file-unreadable"]


MISSING = {
    "a link": ("See [the guide](references/guide.md).", "references/guide.md"),
    "an image": ("![plan](assets/plan.png)", "assets/plan.png"),
    "a link with a place": ("[forms](FORMS.md#fields)", "FORMS.md"),
    "a link with a title": ('[forms](FORMS.md "Forms")', "FORMS.md"),
    "a link with blanks": ("[forms](<my forms.md>)", "my forms.md"),
    "an escaped link": ("[forms](my%20forms.md)", "my forms.md"),
    "a definition": ("[guide]: references/guide.md", "references/guide.md"),
    "a mention": ("Run scripts/extract.py on it.", "scripts/extract.py"),
    "the end of a sentence": ("Then read references/deep/notes.md.", "references/deep/notes.md"),
    "a mention in code": ("Run `python scripts/extract.py --all`.", "scripts/extract.py"),
    "a mention from here": ("Run `./scripts/run.sh`.", "scripts/run.sh"),
    "in a list": ("    - see `references/guide.md`", "references/guide.md"),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_reference_to_a_file_that_is_not_there_is_a_warning(skill, case):
    line, target = MISSING[case]
    folder = skill(body("# Greeter", "", line))
    (finding,) = validate([folder])
    assert (finding.rule, finding.severity, finding.line) == ("reference-missing", Severity.WARNING, 7)
    assert repr(target) in finding.message
    (folder / target).parent.mkdir(parents=True, exist_ok=True)
    (folder / target).touch()
    assert validate([folder]) == []


@pytest.mark.parametrize(
    "text",
    [
        "[site](https://example.org/scripts/a.py) and <https://example.org/references/b.md>",
        "[mail](mailto:me@example.org) [up](#top) [slashes](//example.org/a.md)",
        "```bash\npython scripts/missing.py\n```",
        "````\n```\n[a](missing.md)\n```\nscripts/missing.py\n````",
        "~~~ text\n[a](missing.md)\n~~~",
        "- a step:\n  ```sh\n  scripts/missing.sh\n  ```",
        "    scripts/missing.py",
        "<!-- [a](missing.md)\nscripts/missing.py -->",
        "Write it as `[text](missing.md)`.",
        "Name it `scripts/<name>.py`, `scripts/{name}.py`, `scripts/*.py` or scripts/$NAME.py",
        "[yours](references/<topic>.md) [all](references/*.md) [more](docs/...)",
        "Your project's `app/scripts/build.sh`, `~/scripts/a.sh`, /srv/scripts/a.sh, $HOME/scripts/b.sh",
        "Put scripts into scripts/ and notes into references/.",
        "An array is `a[0](b)`; a word is [a word](word).",
        "[^1]: A note about scripts.",
        "- **Example**: `scripts/rotate.py` for rotation,\n  `references/api.md` for an API",
        "Keep details apart, e.g. in `references/finance.md` or\nin `references/law.md`.",
        "A `references/schema.md` with all tables would be helpful.",
    ],
)
def test_what_may_be_an_example_or_leads_elsewhere_is_no_reference(skill, text):
    assert validate([skill(body("# Greeter", "", text))]) == []


def test_what_is_called_an_example_ends_with_its_thought(skill):
    text = body("- such as `scripts/a.py`", "- see references/b.md for more examples", "", "scripts/c.py")
    findings = validate([skill(text)])
    assert [finding.message.split()[0] for finding in findings] == ["'references/b.md'", "'scripts/c.py'"]


def test_text_after_a_code_block_is_read_again_and_each_file_is_told_once(skill):
    text = body("```", "scripts/a.py", "```", "scripts/b.py", "[b](scripts/b.py) and scripts/c.py")
    findings = validate([skill(text)])
    assert [(finding.line, finding.message.split()[0]) for finding in findings] == [
        (8, "'scripts/b.py'"),
        (9, "'scripts/c.py'"),
    ]


@pytest.mark.parametrize("target", ["../other/file.md", "references/../../x.md", "/etc/hosts.txt"])
def test_a_reference_that_leads_out_of_the_folder_is_a_warning(skill, target):
    (finding,) = validate([skill(body(f"See [it]({target})."))])
    assert (finding.rule, finding.line) == ("reference-outside", 5)


def test_links_that_go_in_a_circle_or_out_are_told_and_never_followed(skill, tmp_path):
    folder = skill(PLAIN)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "SKILL.md").write_text("nobody reads this")
    (folder / "again").symlink_to(".")
    (folder / "loop").symlink_to("loop")
    (folder / "gone").symlink_to("nowhere")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "in").symlink_to("SKILL.md")
    findings = validate([folder])
    assert [(finding.rule, finding.message.split("'")[1]) for finding in findings] == [
        ("link-broken", "gone"),
        ("link-broken", "loop"),
        ("link-outside", "out"),
    ]


def test_every_skill_below_a_folder_is_found_once_and_in_order(skill, tmp_path):
    for folder in (
        "b/two",
        "a/one",
        ".claude/skills/three",
        "a/one/examples/four",
        "node_modules/five",
        ".git/six",
    ):
        skill(PLAIN, folder)
    found = find_skills([tmp_path, tmp_path / "b", tmp_path / "b" / "two" / "SKILL.md"])
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        ".claude/skills/three/SKILL.md",
        "a/one/SKILL.md",
        "a/one/examples/four/SKILL.md",
        "b/two/SKILL.md",
    ]


def test_a_path_that_is_a_link_is_searched_by_its_own_name(skill, tmp_path):
    skill(PLAIN, "elsewhere")
    (tmp_path / "greeter").symlink_to("elsewhere")
    assert validate([tmp_path / "greeter"]) == []
    assert [finding.rule for finding in validate([tmp_path / "elsewhere"])] == ["name-folder"]


async def test_the_working_folder_is_known_by_its_name(skill, monkeypatch):
    monkeypatch.chdir(skill(PLAIN))
    assert validate([Path()]) == []
    assert validate([Path("SKILL.md")]) == []


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nowhere", "no such file or folder"),
        ("empty", "no SKILL.md in it or below it"),
        ("notes.md", "is no folder and no SKILL.md"),
        ("a\0b", "null byte"),
    ],
)
def test_a_path_without_a_skill_is_bad_input(tmp_path, path, says):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.md").touch()
    with pytest.raises(InputError, match=says):
        validate([tmp_path / path])


def test_a_folder_that_is_too_large_is_told(skill):
    folder = skill(PLAIN)
    with open(folder / "data", "wb") as file:
        file.truncate((256 << 20) + 1)
    (finding,) = validate([folder])
    assert (finding.rule, finding.severity) == ("folder-unreadable", Severity.ERROR)
    assert "more than 256 MiB" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "<!--" * 50_000,
        "[" * 200_000,
        "](" * 100_000,
        "](<" * 70_000,
        "`" * 200_001,
        "scripts/" * 25_000,
        "scripts/a " * 20_000,
    ],
    ids=lambda text: text[:10],
)
def test_odd_text_takes_no_longer_than_any_other(skill, text):
    folder = skill(PLAIN + text)
    started = time.process_time()
    validate([folder])
    assert time.process_time() - started < 1


def test_hundreds_of_skills_are_found_and_held_against_the_rules(skill, tmp_path):
    count = 500
    for number in range(count):
        skill(PLAIN.replace("greeter", f"s-{number}"), f"{number % 10}/s-{number}")
    assert validate([tmp_path]) == []
    assert len(find_skills([tmp_path])) == count


def test_every_rule_is_shown_here():
    told = {
        *(rule for _, rules in VALID.values() for rule in rules),
        *(rule for _, _, rules in INVALID.values() for rule, _ in rules),
        *(rule for _, _, rules in STRICTER.values() for rule in rules),
    }
    shown = {"file-unreadable", "file-name", "reference-missing", "reference-outside"}
    assert told | shown | {"folder-unreadable", "link-broken", "link-outside"} == set(RULES)
