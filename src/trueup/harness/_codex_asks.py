"""What `codex app-server` asks before it acts: what is put to somebody, and what is declined at once.

What would leave the mode is declined, and nobody is asked for it. So is what codex does not describe.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.core.protocols import Action, Decision, Event

from ._codex_items import command_of, paths_of
from ._events import PermissionDecided
from ._protocol import Ask, Mode, Say

UNKNOWN_METHOD = -32601


class Questions:
    """The questions of one run. `folder` is where codex works."""

    def __init__(self, mode: Mode) -> None:
        self.folder = ""
        self.denied: list[str] = []
        self._mode = mode
        self._changes: dict[str, dict[str, Any]] = {}
        self._waiting: dict[str, int | str] = {}
        self._asked: set[str] = set()

    def remember(self, item: dict[str, Any]) -> None:
        """Keep what a question may refer to without repeating it."""
        if item["type"] == "file_change":
            self._changes[str(item.get("id"))] = item

    def has_asked(self, item: Mapping[str, Any]) -> bool:
        """Whether there was a question about it."""
        return str(item.get("id")) in self._asked

    def take(self, rpc: int | str, method: str, params: dict[str, Any]) -> list[Event | Ask | Say]:
        """Put a question, or answer it where there is nothing to decide."""
        match method:
            case "item/commandExecution/requestApproval":
                return self._put(rpc, "command_execution", params)
            case "item/fileChange/requestApproval":
                return self._put(rpc, "file_change", {**params, **self._changes.get(str(params.get("itemId")), {})})
            case "item/permissions/requestApproval":
                return self._decline(rpc, "permissions", params, {"permissions": {}}, "nobody widens a run's mode")
            case "mcpServer/elicitation/request":
                return self._decline(rpc, "mcp", params, {"action": "decline"}, "nobody is there to answer a server")
            case "item/tool/requestUserInput":
                return [Say(_answer(rpc, {"answers": {}}))]
        return [Say(rpc_line({"id": rpc, "error": {"code": UNKNOWN_METHOD, "message": f"trueup has no {method}"}}))]

    def _put(self, rpc: int | str, tool: str, told: Mapping[str, Any]) -> list[Event | Ask | Say]:
        item = str(told.get("itemId", ""))
        self._asked.add(item)
        reason = self._beyond_mode(tool, told) or _undescribed(tool, told)
        if reason:
            return self._decline(rpc, tool, told, {"decision": "decline"}, reason)
        self._waiting[item] = rpc
        return [Ask(item, Action(tool, _params(told)))]

    def _beyond_mode(self, tool: str, told: Mapping[str, Any]) -> str:
        if self._mode is Mode.READ_ONLY:
            return "mode read_only allows what codex's sandbox allows, and nothing beyond"
        outside = [path for path in paths_of(told) if not _is_below(path, self.folder)]
        if self._mode is Mode.EDIT and tool == "file_change" and outside:
            return f"mode edit allows no change outside of the workspace: {', '.join(outside)}"
        return ""

    def _decline(
        self, rpc: int | str, tool: str, told: Mapping[str, Any], result: dict[str, Any], reason: str
    ) -> list[Event | Ask | Say]:
        self.denied.append(label(told) or tool)
        return [PermissionDecided(str(told.get("itemId", "")), tool, False, reason), Say(_answer(rpc, result))]

    def answer(self, ask: Ask, decision: Decision) -> bytes:
        """How a decision is told: for this once, so that each action is decided by itself."""
        if not decision.allowed:
            params = ask.action.params
            self.denied.append(params.get("command") or ", ".join(params["paths"]))
        return _answer(self._waiting.pop(ask.id), {"decision": "accept" if decision.allowed else "decline"})


def label(told: Mapping[str, Any]) -> str:
    """How to name an action in a message."""
    return command_of(told) or ", ".join(paths_of(told))


def rpc_request(method: str, params: Mapping[str, Any]) -> bytes:
    """A request of ours. Each method is called once, so that its name can be its id."""
    return rpc_line({"id": method, "method": method, "params": params})


def rpc_line(message: Mapping[str, Any]) -> bytes:
    """A message as it is written."""
    return msgspec.json.encode(message) + b"\n"


def _answer(rpc: int | str, result: Mapping[str, Any]) -> bytes:
    return rpc_line({"id": rpc, "result": result})


def _undescribed(tool: str, told: Mapping[str, Any]) -> str:
    known = command_of(told) if tool == "command_execution" else paths_of(told)
    return "" if known else "codex does not tell what this is about"


def _params(told: Mapping[str, Any]) -> dict[str, Any]:
    """What there is to decide on: the command or the files, and why codex asks where it says so."""
    network = told.get("networkApprovalContext")
    known = {
        "command": command_of(told) or None,
        "cwd": told.get("cwd"),
        "paths": paths_of(told) or None,
        "changes": told.get("changes"),
        "reason": told.get("reason"),
        "host": network.get("host") if isinstance(network, dict) else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _is_below(path: str, folder: str) -> bool:
    whole = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - a path of the agent's, not of ours
    return bool(folder) and (whole == folder or whole.startswith(folder.rstrip("/") + "/"))
