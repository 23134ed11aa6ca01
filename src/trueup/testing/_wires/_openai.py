"""What both of OpenAI's formats share: how tools are offered, and how an error is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._request import Offered
from .._steps import Fault

TYPES = {401: "invalid_request_error", 400: "invalid_request_error", 403: "permission_error", 404: "not_found_error"}
CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded", 404: "model_not_found", 503: "server_is_overloaded"}


def offered(tools: list[Mapping[str, Any]]) -> list[Offered]:
    found = []
    for tool in tools:
        said = tool.get("function") or tool.get("custom") or tool
        name = said.get("name") or ("local_shell" if tool.get("type") == "local_shell" else "")
        properties = (said.get("parameters") or {}).get("properties") or {}
        if name:
            found.append(Offered(name, properties, tool.get("type") == "custom"))
    return found


def error(fault: Fault, status: int) -> dict[str, Any]:
    kind = fault.type or TYPES.get(status, "rate_limit_error" if status == 429 else "server_error")
    code = fault.code or CODES.get(status)
    return {"error": {"message": fault.message or f"scripted {kind}", "type": kind, "param": None, "code": code}}
