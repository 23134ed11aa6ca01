"""What a skill is, and what can be wrong with one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from .._model import SkillRef


class Severity(StrEnum):
    """Whether a skill breaks the specification, or is worth a second look."""

    ERROR = "error"
    WARNING = "warning"


class Rule(NamedTuple):
    """One thing that is looked at in every skill."""

    severity: Severity
    says: str


_E, _W = Severity.ERROR, Severity.WARNING

# The ids are stable: people name them in scripts.
RULES = {
    "file-unreadable": Rule(_E, "SKILL.md is a file that can be read"),
    "file-size": Rule(_E, "SKILL.md is smaller than 1 MiB"),
    "file-encoding": Rule(_E, "SKILL.md is UTF-8 text"),
    "file-name": Rule(_W, "the file is called SKILL.md, in capitals: not every agent finds skill.md"),
    "frontmatter-missing": Rule(_E, "the first line is ---, and YAML follows"),
    "frontmatter-unclosed": Rule(_E, "a second line of --- ends the frontmatter"),
    "frontmatter-yaml": Rule(_E, "the frontmatter is YAML in which no key appears twice"),
    "frontmatter-map": Rule(_E, "the frontmatter is a map of keys to values"),
    "key-unknown": Rule(_E, "every key is one of the specification"),
    "name-missing": Rule(_E, "there is a name"),
    "name-type": Rule(_E, "the name is text"),
    "name-length": Rule(_E, "the name has at most 64 characters"),
    "name-characters": Rule(_E, "the name is made of a to z, 0 to 9 and hyphens"),
    "name-hyphens": Rule(_E, "no hyphen of the name is at an edge or doubled"),
    "name-folder": Rule(_E, "the name is that of the folder"),
    "description-missing": Rule(_E, "there is a description"),
    "description-type": Rule(_E, "the description is text"),
    "description-length": Rule(_E, "the description has at most 1024 characters"),
    "description-markup": Rule(_W, "the description has no < and no >, which some agents take for markup"),
    "license-type": Rule(_E, "license is text"),
    "compatibility-type": Rule(_E, "compatibility is text"),
    "compatibility-length": Rule(_E, "compatibility has 1 to 500 characters"),
    "metadata-type": Rule(_E, "metadata is a map"),
    "metadata-values": Rule(_W, "keys and values of metadata are text"),
    "allowed-tools-type": Rule(_E, "allowed-tools is text, or a list of texts"),
    "body-empty": Rule(_W, "there are instructions below the frontmatter"),
    "body-length": Rule(_W, "the instructions have at most 500 lines"),
    "reference-missing": Rule(_W, "every file of the skill that the instructions name is there"),
    "reference-outside": Rule(_W, "no reference leads out of the skill's folder"),
    "folder-unreadable": Rule(_E, "the folder can be read whole, and has at most 10,000 files and 256 MiB"),
    "link-broken": Rule(_W, "every symbolic link of the folder leads somewhere"),
    "link-outside": Rule(_W, "no symbolic link leads out of the skill's folder"),
}


class Finding(Struct, frozen=True, kw_only=True):
    """A rule that a skill breaks: where, how, and what mends it. `line` is None where none is to blame."""

    rule: str
    severity: Severity
    path: str
    line: int | None
    message: str
    fix: str

    @property
    def place(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place}: {self.severity} [{self.rule}] {self.message}; {self.fix}"


class Remark(NamedTuple):
    """What a rule has to say, before it is known of which file."""

    rule: str
    line: int | None
    message: str
    fix: str

    def of(self, path: str) -> Finding:
        severity = RULES[self.rule].severity
        return Finding(rule=self.rule, severity=severity, path=path, line=self.line, message=self.message, fix=self.fix)


class Skill(Struct, frozen=True, kw_only=True):
    """A skill that keeps every rule of the specification.

    `instructions` is the text without the frontmatter, and begins at line `body_line` of the file. `digest` is that of
    the whole folder. `warnings` is what a person should know all the same.
    """

    name: str
    description: str
    folder: Path
    file: Path
    instructions: str
    body_line: int
    digest: str
    license: str | None = None
    compatibility: str | None = None
    metadata: dict[str, str] = {}
    allowed_tools: tuple[str, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def ref(self) -> SkillRef:
        """The skill as a provider sees it."""
        return SkillRef(name=self.name, path=str(self.folder), instructions=self.instructions)
