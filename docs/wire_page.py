"""The page about the wire: prose from `wire.in.md`, everything else from what the daemon says of itself."""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trueup.daemon import DEFAULT_PORT, Code, describe
from trueup.daemon._connection import MOST_IN_FLIGHT
from trueup.daemon._daemon import TOKEN_WITHIN_SECS
from trueup.daemon._front import MOST_FRAME_BYTES
from trueup.daemon._jsonrpc import MOST_IN_A_BATCH
from trueup.daemon._methods._session import PROTOCOL_VERSION
from trueup.daemon._proposals._ground import GRACE_SECS, WITHOUT_TIMEOUT_SECS
from trueup.policy import RULES
from trueup.runs import AnyRecord

TEMPLATE = Path(__file__).with_name("wire.in.md")

# The nouns of the methods, in the order in which a client meets them.
CHAPTERS = {
    "session": "The connection",
    "server": "The connection",
    "rpc": "The connection",
    "tools": "Tools",
    "policy": "Policies",
    "state": "State",
    "verify": "Proposals",
    "proposal": "Proposals",
    "runs": "Runs",
    "coder": "Coder sessions",
}

WHO_MAY = {
    "nothing": "Needs no token.",
    "token": "",
    "human": "Needs the human token.",
}

WHEN = {
    Code.PARSE: "The frame is not JSON.",
    Code.INVALID_REQUEST: "It is JSON, and no JSON-RPC 2.0; or its id is that of a request being answered.",
    Code.UNKNOWN_METHOD: "There is no such method.",
    Code.INVALID_PARAMS: "A parameter is missing or wrong. The message says where.",
    Code.FAILED: "It was tried, and did not work; `data.kind` says of which kind the reason is. Also: a wrong token.",
    Code.AUTH_REQUIRED: "No token was shown yet. The connection ends.",
    Code.APPROVAL_DENIED: "Only whoever has the human token may do this.",
    Code.DEADLINE_EXCEEDED: "It took too long.",
    Code.HANDSHAKE_REQUIRED: "`server.handshake` comes first.",
    Code.VERSION_MISMATCH: "The client speaks another version of the protocol; `data` has the daemon's.",
    Code.CAPABILITY_MISMATCH: "The daemon lacks what the client cannot do without; `data.missing` says what.",
    Code.RUN_NOT_FOUND: "There is no such run.",
    Code.RUN_ENDED: "The run has ended, and takes nothing more.",
    Code.RUN_OF_ANOTHER: "Another client writes this run.",
    Code.BUSY: "Too much at once. Wait for an answer, or unsubscribe from something.",
    Code.FRAME_TOO_LARGE: "The frame has too many bytes. The connection ends.",
}

Schema = Mapping[str, Any]

# Bounds beyond this only keep numbers within what every language has.
NO_LIMIT = 10**12
ANYTHING = "any JSON"


def wire() -> str:
    """The whole page."""
    document = describe()
    known: dict[str, Schema] = document["components"]["schemas"]
    shared = _shared(document["methods"])
    parts = {
        "port": DEFAULT_PORT,
        "frame_mib": MOST_FRAME_BYTES >> 20,
        "batch": f"{MOST_IN_A_BATCH:,}",
        "in_flight": MOST_IN_FLIGHT,
        "token_secs": f"{TOKEN_WITHIN_SECS:g}",
        "protocol": PROTOCOL_VERSION,
        "tool_grace": f"{GRACE_SECS:g}",
        "tool_wait": f"{WITHOUT_TIMEOUT_SECS:g}",
        "contents": contents(document["methods"]),
        "methods": methods(document["methods"], known, shared),
        "records": records(),
        "rules": rules(),
        "errors": "\n".join(f"| {int(code)} | `{code.name.lower()}` | {WHEN[code]} |" for code in Code),
        "types": types(document["methods"], known, shared),
    }
    page = TEMPLATE.read_text()
    for name, text in parts.items():
        page = page.replace(f"<<{name}>>", str(text))
    return page


def _shared(described: Sequence[Schema]) -> set[str]:
    """The types that several methods take or give; they are described once."""
    named = Counter(_key(side["$ref"]) for each in described for side in _sides(each) if "$ref" in side)
    return {key for key, count in named.items() if count > 1}


def _sides(described: Schema) -> tuple[Schema, Schema]:
    return described["x-params"], described["result"]["schema"]


def contents(described: Sequence[Schema]) -> str:
    """Every method in a line."""
    ordered = sorted(described, key=lambda each: list(CHAPTERS.values()).index(_chapter(each)))
    rows = [f"| [`{each['name']}`](#{_anchor(each['name'])}) | {each['summary']} |" for each in ordered]
    return "\n".join(["| method | what it does |", "|---|---|", *rows])


def methods(described: Sequence[Schema], known: Mapping[str, Schema], shared: Set[str]) -> str:
    """Every method, by chapter."""
    chapters: dict[str, list[str]] = {title: [] for title in CHAPTERS.values()}
    for each in described:
        chapters[_chapter(each)].append(one_method(each, known, shared))
    return "\n\n".join(f"### {title}\n\n" + "\n\n".join(sections) for title, sections in chapters.items())


def _chapter(described: Schema) -> str:
    return CHAPTERS[described["name"].partition(".")[0]]


def one_method(described: Schema, known: Mapping[str, Schema], shared: Set[str]) -> str:
    """A method: what it is for, who may call it, what it takes and gives."""
    params, result = _sides(described)
    parts = [
        f"#### `{described['name']}`",
        described["summary"],
        described.get("description", ""),
        WHO_MAY[described["x-needs"]],
        side("Takes", params, known, shared),
        side("Gives", result, known, shared),
    ]
    return "\n\n".join(part for part in parts if part)


def side(verb: str, schema: Schema, known: Mapping[str, Schema], shared: Set[str]) -> str:
    """What a method takes or gives: a table where it has keys, a type where it is something else."""
    key = _key(schema.get("$ref", ""))
    found = known.get(key)
    if found is not None and not found.get("properties"):
        return ""
    if found is None or key in shared:
        return f"*{verb}:* {type_text(schema)}"
    return f"*{verb}:* {_sentence(found)}\n\n{table(found, given=verb == 'Gives')}"


def table(schema: Schema, *, given: bool = False) -> str:
    """The keys of an object; of what is given, most are always there."""
    required = schema.get("required", [])
    rows = [
        f"| `{name}` | {type_text(each)} | {_presence(name in required, each, given=given)} |"
        for name, each in schema["properties"].items()
    ]
    return "\n".join(["| key | type | |", "|---|---|---|", *rows])


def _presence(required: bool, schema: Schema, *, given: bool) -> str:
    if required:
        return "" if given else "required"
    if schema.get("default") is not None:
        return f"default `{json.dumps(schema['default'])}`"
    return "may be absent" if given else ""


def type_text(schema: Schema) -> str:
    """A type, in words."""
    if "$ref" in schema:
        name = _short(_key(schema["$ref"]))
        return f"[{name}](#type-{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(type_text(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    return _plain_type_text(schema)


def _plain_type_text(schema: Schema) -> str:
    match schema.get("type"):
        case "array":
            return _of("list", schema.get("items"))
        case "object":
            return _of("object", schema.get("additionalProperties"))
        case None:
            return ANYTHING
        case kind:
            return f"{kind}{_bounds(schema)}"


def _of(whole: str, part: Any) -> str:
    inside = type_text(part) if isinstance(part, Mapping) else ANYTHING
    return whole if inside == ANYTHING else f"{whole} of {inside}"


def _bounds(schema: Schema) -> str:
    if schema.get("minLength") == 1:
        return " that is not empty"
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤"}
    found = [f"{sign} {schema[name]:,}" for name, sign in signs.items() if abs(schema.get(name, NO_LIMIT)) < NO_LIMIT]
    return "".join(f" {each}" for each in [", ".join(found)] if each)


def types(described: Sequence[Schema], known: Mapping[str, Schema], shared: Set[str]) -> str:
    """Every type that another one has inside, or that several methods share."""
    sides = [side for each in described for side in _sides(each)]
    pending = [key for side in sides for key in _references(known.get(_key(side.get("$ref", "")), side))]
    pending += [key for key in shared if known[key].get("properties")]
    found: dict[str, Schema] = {}
    while pending:
        key = pending.pop()
        if key not in found:
            found[key] = known[key]
            pending += _references(known[key])
    return "\n\n".join(one_type(_short(key), found[key]) for key in sorted(found, key=_short))


def one_type(name: str, schema: Schema) -> str:
    """A type, with a name that no heading of the page has."""
    body = table(schema) if schema.get("properties") else type_text(schema)
    heading = f'### <a id="type-{name.lower()}"></a>{name}'
    return "\n\n".join(part for part in (heading, _sentence(schema), body) if part)


def records() -> str:
    """Every kind of record."""
    _, known = msgspec.json.schema_components([AnyRecord], ref_template="#/{name}")
    kinds = [schema for schema in known.values() if "kind" in schema.get("properties", {})]
    return "\n\n".join(_record(schema) for schema in sorted(kinds, key=_kind))


def _record(schema: Schema) -> str:
    others = {name: each for name, each in schema["properties"].items() if name != "kind"}
    return (
        f"### Record `{_kind(schema)}`\n\n{_sentence(schema)}\n\n{table({**schema, 'properties': others}, given=True)}"
    )


def _kind(schema: Schema) -> str:
    return str(schema["properties"]["kind"]["enum"][0])


def rules() -> str:
    """Every rule of policies, with the keys that it needs."""
    return "\n".join(["| rule | needs | may have | |", "|---|---|---|---|", *(_rule(*each) for each in RULES.items())])


def _rule(rule: str, kind: type[Struct]) -> str:
    fields = [field for field in msgspec.structs.fields(kind) if field.name != "name"]
    needs = ", ".join(f"`{field.encode_name}`" for field in fields if field.required)
    may_have = ", ".join(f"`{field.encode_name}`" for field in fields if not field.required)
    return f"| `{rule}` | {needs} | {may_have} | {' '.join((inspect.getdoc(kind) or '').split())} |"


def _references(schema: Any) -> list[str]:
    if isinstance(schema, Mapping):
        own = [_key(schema["$ref"])] if isinstance(schema.get("$ref"), str) else []
        return own + [key for name, each in schema.items() if name != "discriminator" for key in _references(each)]
    if isinstance(schema, list):
        return [key for each in schema for key in _references(each)]
    return []


def _key(reference: str) -> str:
    return reference.rpartition("/")[2]


def _short(key: str) -> str:
    return key.rpartition(".")[2]


def _anchor(heading: str) -> str:
    return heading.replace(".", "").lower()


def _sentence(schema: Schema) -> str:
    return "\n\n".join(" ".join(part.split()) for part in schema.get("description", "").split("\n\n"))
