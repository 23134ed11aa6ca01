"""The tools that a client registered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from trueup.core.errors import InputError

from ._schema import Schema


class ToolSpec(Struct, frozen=True):
    """A tool as its client describes it. `parameters` is a JSON Schema; an empty one accepts anything."""

    name: Annotated[str, Meta(min_length=1)]
    description: str = ""
    parameters: dict[str, Any] | None = None


class ToolInfo(Struct, frozen=True):
    """A tool as it is listed."""

    name: str
    source: str
    description: str
    parameters: dict[str, Any]


class Tools:
    """What can be called. Registering a name again replaces the tool."""

    def __init__(self) -> None:
        self._tools: dict[str, ToolInfo] = {}
        self._schemas: dict[str, Schema | None] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def register(self, specs: Sequence[ToolSpec], source: str = "client") -> int:
        """Add tools, all or none; how many. An `InputError` names the tool whose schema cannot be used."""
        schemas = {spec.name: _schema(spec) for spec in specs}
        for spec in specs:
            self._tools[spec.name] = ToolInfo(spec.name, source, spec.description, spec.parameters or {})
        self._schemas |= schemas
        return len(specs)

    def unregister(self, name: str) -> bool:
        """Forget a tool; whether there was one."""
        self._schemas.pop(name, None)
        return self._tools.pop(name, None) is not None

    def list(self) -> list[ToolInfo]:
        """Every tool, by name."""
        return [self._tools[name] for name in sorted(self._tools)]

    def get(self, name: str) -> ToolInfo | None:
        """One tool."""
        return self._tools.get(name)

    def problem(self, name: str, parameters: dict[str, Any]) -> str | None:
        """What is wrong with these parameters for a tool."""
        schema = self._schemas[name]
        found = None if schema is None else schema.problem(parameters, "$.parameters")
        return None if found is None else f"tool '{name}': {found}"


def _schema(spec: ToolSpec) -> Schema | None:
    if not spec.parameters:
        return None
    try:
        return Schema(spec.parameters)
    except InputError as error:
        raise InputError(f"tool '{spec.name}': {error}") from None
