"""How real agents tell of themselves, for the scripted agent: Claude Code's stream-json and Codex's JSONL."""
# Files are handled without pathlib, which would cost more than the rest of the start.
# ruff: noqa: PTH109

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from trueup.testing.agent import TOKENS, VERSIONS, Voice, option, tell

STATUSES = {"auth": 401, "model_not_found": 404, "rate_limit": 429, "quota": 429, "overloaded": 529}
SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ClaudeVoice(Voice):
    """Claude Code's stream-json, its questions on stdin included."""

    name = "claude"
    names = {"shell": "Bash", "write": "Write", "read": "Read", "edit": "Edit"}  # noqa: RUF012 - never changed

    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        self._converses = option(arguments, "--input-format") == "stream-json"
        self._asks = option(arguments, "--permission-prompt-tool") == "stdio"
        self._hooks: list[str] = []
        self._was_told = not self._converses
        self._denied: list[dict[str, object]] = []

    def _session(self) -> str | None:
        return option(self.arguments, "--resume") or option(self.arguments, "--session-id")

    def prompt_from_stdin(self) -> str:
        if not self._converses:
            return super().prompt_from_stdin()
        self._was_told = True
        message: dict[str, Any] = next((line["message"] for line in self._hear() if line.get("type") == "user"), {})
        content = message.get("content", "")
        return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)

    def _hear(self) -> Iterator[dict[str, Any]]:
        """What is said on stdin, with the questions about the agent itself already answered."""
        while line := sys.stdin.buffer.readline():
            heard = json.loads(line)
            if heard.get("type") == "control_request":
                self._reply(heard["request_id"], heard["request"])
                if heard["request"].get("subtype") == "end_session":
                    return
            yield heard

    def _reply(self, id_: str, request: dict[str, Any]) -> None:
        told = {}
        if request.get("subtype") == "initialize":
            hooks = (request.get("hooks") or {}).get("PreToolUse") or []
            self._hooks = [callback for hook in hooks for callback in hook.get("hookCallbackIds", ())]
            told = {"hooks_applied": True, "hook_on_failure_supported": True}
        tell({"type": "control_response", "response": {"subtype": "success", "request_id": id_, "response": told}})

    def _tell(self, kind: str, **fields: object) -> None:
        tell({"type": kind, **fields, "session_id": self.session})

    def _assistant(self, block: dict[str, object], model: str | None = None) -> None:
        # The real one's count of output, too, is what was known when the answer began.
        usage = {"input_tokens": TOKENS["input"], "cache_read_input_tokens": TOKENS["cache_read"], "output_tokens": 1}
        said = {
            "id": f"msg_{self.spent.turns}",
            "type": "message",
            "role": "assistant",
            "model": model or self._model(),
        }
        used = None if self.spent.is_scripted or model else usage
        self._tell("assistant", message={**said, "content": [block], "stop_reason": None, "usage": used})

    def _model(self) -> str:
        return option(self.arguments, "--model") or "claude-sonnet-4-5"

    def start(self) -> None:
        # Whatever it is going to do, it begins when it is told to.
        if not self._was_told:
            self.prompt_from_stdin()
        mode = option(self.arguments, "--permission-mode") or "default"
        tools = list(self.names.values())
        version = VERSIONS["claude"].split()[0]
        who = {"model": self._model(), "tools": tools, "permissionMode": mode, "claude_code_version": version}
        self._tell("system", subtype="init", cwd=os.getcwd(), mcp_servers=[], **who)

    def say(self, text: str) -> None:
        self.text = text
        self._assistant({"type": "text", "text": text})

    def think(self, text: str) -> None:
        self._assistant({"type": "thinking", "thinking": text, "signature": ""})

    plan = say

    def may(self, call: str, name: str, arguments: dict[str, object]) -> bool:
        tool, given = self.names.get(name, name), self._shaped(arguments)
        allowed = all(self._allows_hook(hook, call, tool, given) for hook in self._hooks)
        if allowed and self._asks:
            asked: dict[str, object] = {
                "subtype": "can_use_tool",
                "tool_name": tool,
                "input": given,
                "tool_use_id": call,
            }
            allowed = self._ask(call, asked).get("behavior") == "allow"
        if not allowed:
            self._denied.append({"tool_name": tool, "tool_use_id": call, "tool_input": given})
        return allowed

    def _allows_hook(self, hook: str, call: str, tool: str, given: dict[str, object]) -> bool:
        told = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "tool_use_id": call}
        asked: dict[str, object] = {"subtype": "hook_callback", "callback_id": hook, "input": told, "tool_use_id": call}
        said = self._ask(f"{hook}-{call}", asked).get("hookSpecificOutput") or {}
        return said.get("permissionDecision") != "deny"

    def _ask(self, id_: str, request: dict[str, object]) -> dict[str, Any]:
        """Ask, and wait for what is answered."""
        tell({"type": "control_request", "request_id": id_, "request": request})
        heard = (line["response"] for line in self._hear() if line.get("type") == "control_response")
        said: dict[str, Any] = next((answer for answer in heard if answer.get("request_id") == id_), {})
        if said.get("subtype") != "success":
            # Nobody is there, or nobody wants to answer: both mean no.
            return {"behavior": "deny", "hookSpecificOutput": {"permissionDecision": "deny"}}
        return said.get("response") or {}

    def _shaped(self, arguments: dict[str, object]) -> dict[str, object]:
        names = {"path": "file_path", "old": "old_string", "new": "new_string"}
        return {names.get(name, name): value for name, value in arguments.items()}

    def call(self, call: str, name: str, arguments: dict[str, object]) -> None:
        named = self.names.get(name, name)
        self._assistant({"type": "tool_use", "id": call, "name": named, "input": self._shaped(arguments)})

    def result(self, call: str, output: str, code: int) -> None:
        block = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": code != 0}
        self._tell("user", message={"role": "user", "content": [block]})

    def usage(self, amounts: dict[str, float]) -> None:
        self.spent.add(amounts)

    def error(self, kind: str, message: str) -> None:
        status = STATUSES.get(kind, 500)
        self.text = f"API Error: {status} {message}"
        self._assistant({"type": "text", "text": self.text}, "<synthetic>")
        self._finish(is_error=True, api_error_status=status)

    def end(self) -> None:
        self._finish(is_error=False, api_error_status=None)

    def _finish(self, **fields: object) -> None:
        usage = {
            "input_tokens": self.spent.of("input"),
            "cache_creation_input_tokens": self.spent.of("cache_write"),
            "cache_read_input_tokens": self.spent.of("cache_read"),
            "output_tokens": self.spent.of("output"),
        }
        # Also where it failed: what counts is `is_error`.
        fields |= {"subtype": "success", "result": self.text, "num_turns": max(self.spent.turns, 1)}
        fields |= {"total_cost_usd": self.spent.cost_usd, "usage": usage, "permission_denials": self._denied}
        self._tell("result", **fields)
        if self._converses:
            for _ in self._hear():
                pass


class CodexVoice(Voice):
    """The JSONL of `codex exec`."""

    name = "codex"

    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        self._items = 0
        self._running: dict[str, dict[str, object]] = {}

    def _session(self) -> str | None:
        words = [word for word in self.arguments if not word.startswith("-")]
        return next((word for word in words if SESSION.fullmatch(word)), None)

    def _item(self, event: str, item: dict[str, object]) -> None:
        if "id" not in item:
            item["id"] = f"item_{self._items}"
            self._items += 1
        tell({"type": f"item.{event}", "item": item})

    def start(self) -> None:
        tell({"type": "thread.started", "thread_id": self.session})
        tell({"type": "turn.started"})

    def say(self, text: str) -> None:
        self.text = text
        self._item("completed", {"type": "agent_message", "text": text})

    plan = say

    def think(self, text: str) -> None:
        self._item("completed", {"type": "reasoning", "text": text})

    def call(self, call: str, name: str, arguments: dict[str, object]) -> None:
        item: dict[str, object] = {"type": "command_execution", "command": _as_command(name, arguments)}
        item |= {"aggregated_output": "", "exit_code": None, "status": "in_progress"}
        self._item("started", item)
        self._running[call] = item

    def result(self, call: str, output: str, code: int) -> None:
        status = "failed" if code else "completed"
        self._item(
            "completed", self._running.pop(call) | {"aggregated_output": output, "exit_code": code, "status": status}
        )

    def usage(self, amounts: dict[str, float]) -> None:
        self.spent.add(amounts)

    def error(self, kind: str, message: str) -> None:
        words = f"unexpected status {STATUSES.get(kind, 500)}: {message}"
        tell({"type": "error", "message": words})
        tell({"type": "turn.failed", "error": {"message": words}})

    def end(self) -> None:
        cached = self.spent.of("cache_read")
        usage = {
            "input_tokens": self.spent.of("input") + cached + self.spent.of("cache_write"),
            "cached_input_tokens": cached,
            "output_tokens": self.spent.of("output"),
            "reasoning_output_tokens": 0,
        }
        tell({"type": "turn.completed", "usage": usage})


def _as_command(name: str, arguments: dict[str, object]) -> str:
    """Codex does everything by commands."""
    if name == "shell":
        return f"/bin/bash -lc {json.dumps(arguments['command'])}"
    return " ".join([name, *map(str, arguments.values())])


VOICES = {"claude": ClaudeVoice, "codex": CodexVoice}
