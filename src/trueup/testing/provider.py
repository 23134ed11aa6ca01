"""A provider of skill tests that needs no model: `python -m trueup.testing.provider`, or `trueup skill provider`.

It speaks the command protocol: one JSON object on stdin, one on stdout, then it ends. What cannot be answered is told
on stderr, with exit code 1. The same request always has the same answer.

`respond` answers by markers in the skill's text, each on a line of its own, in a comment if you like:
  fake-reply: TEXT        the reply; "ok" without one
  fake-reply-N: TEXT      the reply from turn N on
  fake-tool: NAME COMMAND a tool call, told as an event; again in every turn
  fake-tools: N           N calls of a tool `noop`
  fake-write: PATH TEXT   a file of the cell's workspace, which TRUEUP_WORKSPACE names
  fake-done: N            the skill says that it is done in turn N
  fake-usage: K=V …       what a reply used: input_tokens, output_tokens, cost_usd
Where the request has `mocks`, their rules are applied to those calls, the first that matches, and every call is told
in `mock_calls`. What a stub prints and why a call was denied is added to the reply as `[NAME] TEXT`.
`user` says what follows `say:` in the persona, or "continue".
`judge` looks at all replies: each text in `backticks` of the criterion must occur, and `turns>=N` wants N replies. A
boolean is whether all of that holds, a number is how much of it does, on the scale from `min` to `max`.
"""
# Files are handled without pathlib, which would cost more than the rest of the start.
# ruff: noqa: PTH103, PTH118, PTH120, PTH123

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

NUMBERED_REPLY = re.compile(r"fake-reply-(\d{1,9}):(.*)")
TURNS = re.compile(r"turns>=(\d{1,9})")
BACKTICKS = re.compile("`([^`]*)`")
MOST_CALLS = 100_000
COUNTED = {"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"}


class RequestError(Exception):
    """A request that has no answer."""


def main() -> int:
    """Answer the request on stdin."""
    try:
        answer = reply_to(sys.stdin.buffer.read())
    except RequestError as error:
        sys.stderr.write(f"trueup provider: {error}\n")
        return 1
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def reply_to(raw: bytes) -> dict[str, Any]:
    """The answer to one request."""
    try:
        request = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the request is not valid JSON: {error}") from None
    if not isinstance(request, dict):
        raise RequestError("the request is no JSON object")
    answers = {"respond": respond, "user": simulate_user, "judge": judge}
    answer = answers.get(_text(request, "op"))
    if answer is None:
        raise RequestError(f"unknown op {request.get('op')!r}; it is one of {', '.join(answers)}")
    return answer(request)


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """The next reply of the skill, or of nobody in particular where there is no skill."""
    instructions = _text(request.get("skill"), "instructions")
    turn = len(_replies(request)) + 1
    mocks = request.get("mocks")
    watched = [_Watched(name, command) for name, command in _calls(instructions)]
    if isinstance(mocks, dict):
        _apply(_rules(mocks), watched, turn)
    _write_files(instructions)
    answer: dict[str, Any] = {
        "message": "\n".join([_reply(instructions, turn), *(call.shown for call in watched if call.shown)]),
        "done": _is_done(instructions, turn),
        # Also where there are none: who tells of no events at all may have called anything.
        "events": [call.event(index) for index, call in enumerate(watched)],
    }
    if isinstance(mocks, dict):
        answer["mock_calls"] = [call.record() for call in watched]
    usage = _usage(_marked(instructions, "fake-usage:"))
    return {**answer, "usage": usage} if usage else answer


def simulate_user(request: dict[str, Any]) -> dict[str, Any]:
    """What the simulated user says next."""
    return {"message": _marked(_text(request, "persona"), "say:") or "continue", "stop": False}


def judge(request: dict[str, Any]) -> dict[str, Any]:
    """Whether, or how far, the replies have what the criterion names."""
    criterion, replies = _text(request, "criterion"), _replies(request)
    said = "\n".join(replies)
    wanted = [text for text in BACKTICKS.findall(criterion) if text]
    found = sum(text in said for text in wanted)
    turns = TURNS.search(criterion)
    enough = turns is None or len(replies) >= int(turns[1])
    reason = f"texts found: {found} of {len(wanted)}, replies: {len(replies)}"
    if not enough:
        reason += f", too few for {turns[0]}" if turns else ""
    if _text(request, "kind") != "numeric":
        return {"value": found == len(wanted) and enough, "reason": reason}
    least, most = _bound(request, "min", 0), _bound(request, "max", 1)
    share = (found / len(wanted) if wanted else 1) if enough else 0
    return {"value": least + (most - least) * share, "reason": reason}


class _Watched:
    """A tool call that the skill makes, and what became of it."""

    def __init__(self, name: str, command: str) -> None:
        self.name = name
        self.input: dict[str, Any] = {"command": command}
        self.action = "allow"
        self.rule: int | None = None
        self.shown = ""
        self._done: Any = self.input
        self._output: str | None = None

    def deny(self, message: str) -> None:
        self._output = f"denied: {message}"
        self.shown = f"[{self.name}] {self._output}"

    def stub(self, output: str, exit_code: int) -> None:
        quoted = output.replace("'", "'\\''")
        self._done = {"command": f"printf '%s\\n' '{quoted}'" + (f"; exit {exit_code}" if exit_code else "")}
        self._output = f"{output}\n"
        self.shown = f"[{self.name}] {output}"

    def rewrite(self, changed: Any) -> None:
        self._done = changed
        self.shown = f"[{self.name}] input rewritten to {_compact(changed)}"

    def event(self, index: int) -> dict[str, Any]:
        told = {"kind": "tool_call", "name": self.name, "input": self._done, "index": index}
        return told if self._output is None else {**told, "output": self._output}

    def record(self) -> dict[str, Any]:
        """What the channel of mocks saw: the call as it was meant."""
        return {"tool": self.name, "input": self.input, "action": self.action, "rule": self.rule}


def _apply(rules: list[dict[str, Any]], calls: list[_Watched], turn: int) -> None:
    """Do to each call what the first rule that matches says."""
    for call in calls:
        call.rule = next((index for index, rule in enumerate(rules) if _matches(rule["match"], call)), None)
    for position, call in enumerate(calls):
        if call.rule is None:
            continue
        # Every turn makes the same calls, so those of the turns before need not be remembered to be counted.
        earlier = (turn - 1) * sum(other.rule == call.rule for other in calls)
        nth = earlier + sum(other.rule == call.rule for other in calls[:position])
        call.action = _act(rules[call.rule]["action"], call, nth)


def _act(action: dict[str, Any], call: _Watched, nth: int) -> str:
    """Do an action; the word for it."""
    if "deny" in action:
        call.deny(_text(action["deny"], "message") if isinstance(action["deny"], dict) else str(action["deny"]))
        return "deny"
    if "rewrite" in action:
        changed = action["rewrite"]
        call.rewrite(changed["input"] if isinstance(changed, dict) and "input" in changed else changed)
        return "rewrite"
    if "stub" in action:
        stubs = action["stub"] if isinstance(action["stub"], list) else [action["stub"]]
        if not stubs:
            raise RequestError("a stub is an empty list")
        stub = stubs[min(nth, len(stubs) - 1)]
        call.stub(*((_text(stub, "output"), _exit_code(stub)) if isinstance(stub, dict) else (str(stub), 0)))
        return "stub"
    raise RequestError(f"unknown action of a mock: {', '.join(action) or 'none'}; it is deny, rewrite or stub")


def _matches(match: dict[str, Any], call: _Watched) -> bool:
    event = _compact({"tool_name": call.name, "tool_input": call.input})
    told = {"contains": match.get("event_contains"), "regex": match.get("event_regex")}
    fields = match.get("input") or {}
    return (
        ("tool" not in match or str(match["tool"]).lower() == call.name.lower())
        and _holds(told, event)
        and all(name in call.input and _holds(wanted, call.input[name]) for name, wanted in fields.items())
    )


def _holds(wanted: Any, value: Any) -> bool:
    """Whether a value is what a predicate says; anything but text is compared as JSON."""
    if not isinstance(wanted, dict):
        wanted = {"equals": wanted}
    text = value if isinstance(value, str) else _compact(value)
    equals, contains, pattern = wanted.get("equals"), wanted.get("contains"), wanted.get("regex")
    return (
        (equals is None or text == (equals if isinstance(equals, str) else _compact(equals)))
        and (contains is None or contains in text)
        and (pattern is None or _search(pattern, text))
    )


def _search(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error as error:
        raise RequestError(f"the pattern {pattern!r} of a mock is not a regular expression: {error}") from None


def _rules(mocks: dict[str, Any]) -> list[dict[str, Any]]:
    given = mocks.get("rules")
    rules = given.get("rules") if isinstance(given, dict) else given
    if rules is None:
        return []
    good = isinstance(rules, list) and all(
        isinstance(rule, dict) and isinstance(rule.get("match"), dict) and isinstance(rule.get("action"), dict)
        for rule in rules
    )
    if not good:
        raise RequestError("the rules of mocks are a list of objects with a match and an action")
    return list(rules)


def _reply(instructions: str, turn: int) -> str:
    """What is said in a turn: the reply with the highest number that is not above it."""
    numbered = {int(found[1]): _ended(found[2]) for found in map(NUMBERED_REPLY.search, _lines(instructions)) if found}
    reached = [number for number in numbered if number <= turn]
    return numbered[max(reached)] if reached else _marked(instructions, "fake-reply:") or "ok"


def _is_done(instructions: str, turn: int) -> bool:
    return "fake-done:" in instructions and turn >= _number(_marked(instructions, "fake-done:"), "fake-done")


def _calls(instructions: str) -> Iterator[tuple[str, str]]:
    for line in _lines(instructions):
        many, one = line.partition("fake-tools:"), line.partition("fake-tool:")
        if many[1]:
            count = _number(_ended(many[2]), "fake-tools")
            yield from [("noop", "")] * min(count, MOST_CALLS)
        elif one[1]:
            name, *command = _ended(one[2]).split(None, 1) or [""]
            yield name, command[0] if command else ""


def _write_files(instructions: str) -> None:
    """Leave in the cell's workspace what the skill says; never outside of it."""
    for line in _lines(instructions):
        marked = line.partition("fake-write:")
        if not marked[1]:
            continue
        name, *text = _ended(marked[2]).split(None, 1) or [""]
        folder = os.environ.get("TRUEUP_WORKSPACE")
        if not folder:
            raise RequestError("fake-write: TRUEUP_WORKSPACE names no folder to write to")
        root = os.path.realpath(folder)
        target = os.path.realpath(os.path.join(root, name))
        if os.path.commonpath([root, target]) != root:
            raise RequestError(f"fake-write: {name!r} is outside of the workspace")
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write("".join(text) + "\n")
        except OSError as error:
            raise RequestError(f"fake-write: {name!r} cannot be written: {error.strerror}") from None


def _usage(marked: str) -> dict[str, float]:
    usage: dict[str, float] = {}
    for pair in marked.split():
        name, _, amount = pair.partition("=")
        try:
            usage[name] = int(amount) if name in COUNTED else float(amount)
        except ValueError:
            raise RequestError(f"fake-usage: {pair!r} is no NAME=NUMBER") from None
    return usage


def _replies(request: dict[str, Any]) -> list[str]:
    messages = request.get("messages")
    given = messages if isinstance(messages, list) else []
    return [_text(each, "content") for each in given if isinstance(each, dict) and each.get("role") == "assistant"]


def _marked(text: str, marker: str) -> str:
    """What follows a marker on its line, without the end of the comment that it may be in."""
    return next((_ended(line.partition(marker)[2]) for line in _lines(text) if marker in line), "")


def _ended(text: str) -> str:
    return text.strip().removesuffix("-->").strip()


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _text(holder: Any, key: str) -> str:
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else ""


def _number(text: str, marker: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise RequestError(f"{marker}: {text!r} is not a number")
    return int(text)


def _bound(request: dict[str, Any], key: str, default: float) -> float:
    value = request.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else default


def _exit_code(stub: dict[str, Any]) -> int:
    code = stub.get("exit_code", 0)
    return code if isinstance(code, int) else 0


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(main())
