"""A skill: a folder with a SKILL.md, held against the Agent Skills specification before anybody uses it."""

from ._digest import folder_digest
from ._find import find_skills
from ._model import RULES, Finding, Severity, Skill
from ._project import write_project
from ._validate import load_skill, validate

__all__ = [
    "RULES",
    "Finding",
    "Severity",
    "Skill",
    "find_skills",
    "folder_digest",
    "load_skill",
    "validate",
    "write_project",
]
