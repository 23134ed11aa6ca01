"""Policies out of files and off the wire, refused with the place of every mistake."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from trueup.core.documents import Document
from trueup.core.errors import InputError

from ._model import (
    AllowCommand,
    AllowToolParam,
    AnyPolicy,
    DenyCommand,
    DenyPath,
    DenyTool,
    DenyToolParam,
    DenyToolParamMatching,
    RateLimitTool,
    RequireState,
)

POLICY_FILE = ".trueup/policy.yaml"

Step = str | int

_KINDS: tuple[type[AnyPolicy], ...] = (
    DenyTool,
    DenyToolParam,
    DenyToolParamMatching,
    AllowToolParam,
    RequireState,
    RateLimitTool,
    DenyPath,
    DenyCommand,
    AllowCommand,
)
RULES: Mapping[str, type[AnyPolicy]] = {str(kind.__struct_config__.tag): kind for kind in _KINDS}


class PolicyFile(Struct, frozen=True):
    """What `.trueup/policy.yaml` holds."""

    policies: list[dict[str, Any]]


class _MistakeError(Exception):
    """Something wrong with a policy, at a place in it."""

    def __init__(self, path: tuple[Step, ...], what: str, *, is_key: bool = False) -> None:
        self.path = path
        self.what = what
        self.is_key = is_key


def policy_from(params: Mapping[str, Any], path: str = "") -> AnyPolicy:
    """A policy from `{name, rule, target?, key?, pattern?, value?}`; null is absent.

    An `InputError` names the field, below `path` where the policy is a part of something else.
    """
    try:
        return _understood(params)
    except _MistakeError as mistake:
        if mistake.what.startswith("unknown rule type: "):
            # Clients wait for exactly this text.
            raise InputError(mistake.what) from None
        where = ".".join([*([path] if path else []), *map(str, mistake.path)])
        raise InputError(f"{where}: {mistake.what}" if where else mistake.what) from None


def load_policies(raw: bytes, where: str) -> tuple[AnyPolicy, ...]:
    """The policies of a file's content; an `InputError` names the line of a mistake. `where` is the file's name."""
    return _policies_of(Document.parse(raw, source=where, is_json=where.endswith(".json")))


def read_policies(path: Path) -> tuple[AnyPolicy, ...]:
    """As `load_policies`, from a file."""
    return _policies_of(Document.read(path))


def _policies_of(document: Document) -> tuple[AnyPolicy, ...]:
    if not isinstance(document.data, dict):
        raise InputError(f"{document.locate(())}: a policy file is a mapping with 'policies'")
    found: dict[str, AnyPolicy] = {}
    for index, entry in enumerate(document.decode(PolicyFile).policies):
        place = ("policies", index)
        try:
            policy = _understood(entry)
        except _MistakeError as mistake:
            at = document.locate((*place, *mistake.path), key=mistake.is_key)
            raise InputError(f"{at}: {mistake.what}{_nearest_rule(mistake, entry)}{_in(entry)}") from None
        if policy.name in found:
            raise InputError(f"{document.locate((*place, 'name'))}: there is already a policy {policy.name!r}")
        found[policy.name] = policy
    return tuple(found.values())


def policy_file(folder: Path) -> Path | None:
    """The policy file of the repository that a folder is in, if there is one."""
    start = folder.absolute()
    root = next((place for place in (start, *start.parents) if (place / ".git").exists()), start)
    file = root / POLICY_FILE
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        # Whoever reads it says why it cannot be read: rules that nobody sees are not the same as no rules.
        return file
    return file


def _nearest_rule(mistake: _MistakeError, entry: Mapping[str, Any]) -> str:
    """What a person who misspelled a rule may have meant; clients of the wire wait for the text without it."""
    if mistake.path != ("rule",) or not isinstance(entry.get("rule"), str):
        return ""
    nearest = difflib.get_close_matches(entry["rule"], RULES, n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else f"; it is one of {', '.join(RULES)}"


def _in(entry: Mapping[str, Any]) -> str:
    return f" (policy {entry['name']!r})" if isinstance(entry.get("name"), str) else ""


def _understood(params: Mapping[str, Any]) -> AnyPolicy:
    if not isinstance(params, Mapping):
        raise _MistakeError((), "a policy is an object with 'name' and 'rule'")
    given = {str(key): value for key, value in params.items() if value is not None}
    rule = given.get("rule")
    if rule is None:
        raise _MistakeError(("rule",), f"missing; it is one of {', '.join(RULES)}")
    if not isinstance(rule, str) or rule not in RULES:
        raise _MistakeError(
            ("rule",), f"unknown rule type: {rule if isinstance(rule, str) else msgspec.json.encode(rule).decode()}"
        )
    kind = RULES[rule]
    _refuse_fields(given, kind, rule)
    return _decoded(given, kind, rule)


def _refuse_fields(given: Mapping[str, Any], kind: type[AnyPolicy], rule: str) -> None:
    fields = {field.name: field.required for field in structs.fields(kind)}
    takes = f"rule {rule} takes {', '.join(sorted(fields))}"
    for name in given:
        if name not in fields and name != "rule":
            nearest = difflib.get_close_matches(name, fields, n=1)
            advice = f"did you mean {nearest[0]!r}?" if nearest else takes
            raise _MistakeError((name,), f"unknown field {name!r}; {advice}", is_key=True)
    for name, is_required in fields.items():
        if is_required and name not in given:
            raise _MistakeError((name,), f"missing field {name!r}; {takes}")


def _decoded(given: Mapping[str, Any], kind: type[AnyPolicy], rule: str) -> AnyPolicy:
    try:
        policy: AnyPolicy = msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        path = tuple(int(index) if index else name for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", where))
        plain = what.replace("`", "'").replace("Object contains ", "").replace("Object missing required", "missing")
        raise _MistakeError(path, plain.replace("Expected", "expected")) from None
    try:
        policy.check()
    except InputError as error:
        needed = ("value",) if rule == "allow_tool_param" else ("pattern",)
        raise _MistakeError(needed, str(error)) from None
    return policy
