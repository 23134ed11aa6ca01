"""What a case can say that no type forbids: scales without a middle, mocks that are not there, paths that lead out."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NoReturn

from trueup.core.errors import InputError
from trueup.core.regex import compile_regex

from ._evals import (
    Boolean,
    Called,
    CommandEval,
    Eval,
    FileEval,
    JsonEval,
    Matches,
    NotCalled,
    Numeric,
    ToolCalled,
    ToolOrder,
)
from ._mocks import Match, Mock, Predicate, Predicates
from ._model import Case, CaseFile, Workspace

Mistake = tuple[tuple[str | int, ...], str]
Found = Iterator[Mistake]


def mistakes(case: CaseFile | Case) -> Found:
    """Everything that is wrong with a case although its types are right, each with the path to it."""
    yield from _blank(case.input, "input")
    if case.name is not None and not case.name.isprintable():
        yield ("name",), "a name is one line without control characters"
    if case.user is not None:
        yield from _below(("user",), _blank(case.user.persona, "persona"))
        yield from _below(("user",), _blank(case.user.done_when, "done_when"))
    labels: list[str] = []
    for index, mock in enumerate(case.mocks):
        yield from _below(("mocks", index), _of_mock(mock, index, labels))
        labels.append(mock.label(index))
    for index, each in enumerate(case.evals):
        yield from _below(("evals", index), _of_eval(each, labels))
    yield from _of_path(str(case.skill), "skill")
    workspace = Workspace(folder=case.workspace) if isinstance(case.workspace, str) else case.workspace
    if workspace is not None:
        yield from _of_path(workspace.folder or "", "workspace")
        yield from _below(("workspace", "files"), _of_files(workspace))


def _below(path: tuple[str | int, ...], found: Found) -> Found:
    return (((*path, *inner), what) for inner, what in found)


def _blank(text: str | None, key: str) -> Found:
    if text is not None and not text.strip():
        yield (key,), f"{key!r} is blank"


def _of_path(path: str, key: str) -> Found:
    if "\0" in path:
        yield (key,), "a path has no NUL in it"


def _of_files(workspace: Workspace) -> Found:
    for path in workspace.files:
        yield from _leads_out(path, path)


def _leads_out(path: str, key: str) -> Found:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        yield (key,), f"{path!r} is no path inside the cell's workspace"


def _of_mock(mock: Mock, index: int, earlier: list[str]) -> Found:
    if mock.name == "":
        yield ("name",), "'name' is blank"
    if mock.label(index) in earlier:
        yield ("name",), f"there is another mock with the name {mock.label(index)!r}"
    if len(mock.actions) > 1:
        yield (mock.actions[1],), f"a mock does one thing, and this does {' and '.join(mock.actions)}"
    if mock.stub in ([], ""):
        yield ("stub",), "'stub' is empty; to refuse a call, use 'deny'"
    if isinstance(mock.stub, list):
        yield from ((("stub", place), "a stub prints something") for place, each in enumerate(mock.stub) if each == "")
    yield from _below(("match",), _of_match(mock.match))


def _of_match(match: Match) -> Found:
    if not match.input and match.tool is None and match.contains is None and match.pattern is None:
        yield (), "'match' needs 'tool', 'contains', 'pattern' or 'input'; without one it would be every call"
    for key in ("tool", "contains"):
        if getattr(match, key) == "":
            yield (key,), f"{key!r} is empty, which would match every call"
    yield from _of_pattern(match.pattern, "pattern")
    yield from _below(("input",), _of_predicates(match.input))


def _of_predicates(wanted: Predicates) -> Found:
    for name, each in wanted.items():
        if isinstance(each, Predicate):
            yield from _below((name,), _of_predicate(each))


def _of_predicate(wanted: Predicate) -> Found:
    if wanted.equals is None and wanted.contains is None and wanted.pattern is None:
        yield (), "it needs 'equals', 'contains' or 'pattern'"
    if wanted.contains == "":
        yield ("contains",), "'contains' is empty, which would match everything"
    yield from _of_pattern(wanted.pattern, "pattern")


def _of_pattern(pattern: str | None, key: str) -> Found:
    if pattern == "":
        yield (key,), f"{key!r} is empty, which would match everything"
    try:
        compile_regex(pattern or "")
    except InputError as error:
        yield (key,), str(error)


def _of_eval(each: Eval, mocks: list[str]) -> Found:
    match each:
        case Boolean() | Numeric():
            yield from _of_judged(each)
        case Called() | NotCalled():
            yield from _of_mock_named(each.mock, mocks)
            yield from _below(("where",), _of_predicates(each.where))
        case Matches():
            yield from _of_pattern(each.pattern, "pattern")
        case JsonEval():
            yield from _of_json(each)
        case FileEval():
            yield from _of_file(each)
        case CommandEval():
            yield from _blank(each.command, "command")
        case ToolCalled():
            yield from _of_tool(each)
        case ToolOrder():
            yield from (
                (("tools", place), "a tool has a name") for place, tool in enumerate(each.tools) if tool.isspace()
            )


def _of_judged(each: Boolean | Numeric) -> Found:
    yield from _blank(each.criterion, "criterion")
    if isinstance(each, Numeric):
        yield from _of_scale(each)


def _of_tool(each: ToolCalled) -> Found:
    yield from _blank(each.tool, "tool")
    yield from _below(("input",), _of_predicates(each.input))
    if each.times is not None and not each.expected:
        yield ("times",), "'times' with 'expected: false' is unclear; say how often with 'times' alone"


def _of_scale(each: Numeric) -> Found:
    for key in ("min", "max", "threshold"):
        if not math.isfinite(getattr(each, key)):
            yield (key,), f"{key!r} is no finite number"
            return
    if each.min >= each.max:
        yield ("min",), f"'min' ({each.min:g}) must be less than 'max' ({each.max:g})"
    elif not each.min <= each.threshold <= each.max:
        yield ("threshold",), f"'threshold' ({each.threshold:g}) is outside of the scale {each.min:g} to {each.max:g}"


def _of_mock_named(name: str, mocks: list[str]) -> Found:
    if name in mocks:
        return
    nearest = difflib.get_close_matches(name, mocks, n=1)
    known = f"mocks: {', '.join(mocks)}" if mocks else "the case has no mocks"
    yield ("mock",), f"there is no mock {name!r}; " + (f"did you mean {nearest[0]!r}?" if nearest else known)


def _of_json(each: JsonEval) -> Found:
    if not re.fullmatch(r"(/([^~/]|~[01])*)*", each.pointer):
        yield ("pointer",), f"{each.pointer!r} is no JSON Pointer, which is '' or '/key/0', with ~ as ~0 and / as ~1"
    if each.schema is not None:
        yield from _of_schema(each.schema)


def _of_schema(schema: dict[str, Any]) -> Found:
    # Here, so that cases without schemas load without it.
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(schema, retriever=_fetch_nothing)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        first = str(error).partition("\n")[0]
        yield ("schema",), f"no JSON Schema that can be used: {first}"


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


def _of_file(each: FileEval) -> Found:
    yield from _below((), ((("path",), what) for _, what in _leads_out(each.path, "path")))
    wanted = [key for key in ("contains", "matches", "equals") if getattr(each, key) is not None]
    if wanted and not each.exists:
        yield (wanted[0],), f"a file that must not exist cannot have {wanted[0]!r}"
    if each.matches is not None:
        yield from _of_pattern(each.matches, "matches")
