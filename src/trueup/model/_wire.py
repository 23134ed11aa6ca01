"""What every vendor's API has to offer here: a request put into its words, and its answer put into ours."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec import Struct

from trueup.core.usage import Usage

from ._errors import Complaint
from ._request import Native, Request, ToolUse
from ._target import Target

Arguments = dict[str, Any]


class Turn(Struct, frozen=True, kw_only=True):
    """An answer as read from a wire, before anybody judged it.

    `refusal` is why a model would not answer, `complaint` what went wrong although an answer came.
    """

    text: str
    model: str
    stop_reason: str
    tool_calls: list[ToolUse] = []
    usage: Usage = Usage()
    refusal: str | None = None
    complaint: Complaint | None = None
    native: Native | None = None


class Wire(Protocol):
    """One API of one vendor."""

    @property
    def library(self) -> str:
        """The vendor's own library, to be imported when it is needed."""
        ...

    def arguments(self, request: Request, target: Target, *, native_schema: bool) -> Arguments:
        """A request in the vendor's words."""
        ...

    async def send(self, client: Any, arguments: Arguments) -> bytes:
        """Ask through the vendor's library; the body of the answer as it came."""
        ...

    def read(self, body: bytes, target: Target) -> Turn:
        """An answer in our words; a `msgspec.DecodeError` where it is none."""
        ...


def of_type(items: list[dict[str, Any]], type_: str) -> list[dict[str, Any]]:
    """The items of one type; those of types that are not known here may look like anything."""
    return [item for item in items if item.get("type") == type_]


def tool_use(id_: str, name: str, arguments: str | dict[str, Any] | None) -> ToolUse:
    """A tool that was asked for, mostly with arguments as text, which a model may have got wrong."""
    if isinstance(arguments, dict):
        return ToolUse(id_, name, arguments)
    try:
        return ToolUse(id_, name, msgspec.json.decode(arguments or "{}", type=dict[str, Any]))
    except msgspec.DecodeError as error:
        return ToolUse(id_, name, error=f"the arguments are not a JSON object: {error}")
    except RecursionError:
        return ToolUse(id_, name, error="the arguments are nested too deeply")


def replayed(native: Native | None, wire: str, target: Target) -> list[Any] | None:
    """The vendor's own form of an earlier answer, where the same model is asked again over the same wire."""
    same = native is not None and (native.wire, native.model) == (wire, target.model)
    return native.items if native is not None and same else None
