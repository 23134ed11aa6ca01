"""A model's script as text, one step on a line, and how far a script has come."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from trueup.core.errors import InputError

from ._request import ModelRequest
from ._steps import Answer, Fault, Part, Step, Text, Thinking, Tokens, Tool
from .agent import Line, lines_of, named_values, quoted


def parse_script(text: str) -> list[Answer | Fault]:
    """The steps that a text describes.

    Raises:
        InputError: a line that is none; the message names it.
    """
    steps: list[Answer | Fault] = []
    usage, delay_secs = None, 0.0
    for line in lines_of(text):
        try:
            match line.word:
                case "usage":
                    usage = Tokens(**{name: int(value) for name, value in named_values(line.rest).items()})
                case "sleep":
                    delay_secs = float(line.rest)
                case "fault":
                    steps.append(_fault(line.rest))
                case _:
                    _add(steps, Answer([_part(line)], usage, delay_secs=delay_secs), joined=line.joined)
                    delay_secs = 0.0
        except (ValueError, TypeError, InputError) as error:
            raise InputError(f"the script's line `{line.word} {line.rest}` is not understood: {error}") from None
    return steps


def _add(steps: list[Answer | Fault], answer: Answer, *, joined: bool) -> None:
    former = steps[-1] if steps else None
    if joined and isinstance(former, Answer):
        steps[-1] = structs.replace(former, parts=[*former.parts, *answer.parts])
    else:
        steps.append(answer)


def _part(line: Line) -> Part:
    first, _, more = line.rest.partition(" ")
    makers: dict[str, Callable[[], Part]] = {
        "say": lambda: Text(quoted(line.rest)),
        "think": lambda: Thinking(quoted(line.rest)),
        "shell": lambda: Tool.shell(line.rest),
        "read": lambda: Tool.read(line.rest),
        "write": lambda: Tool.write(first, quoted(more)),
        "edit": lambda: Tool.edit(first, *json.loads(f"[{more}]")),
        "tool": lambda: Tool(first, json.loads(more or "{}")),
    }
    if line.word not in makers:
        raise ValueError(f"a line begins with one of {', '.join([*makers, 'fault', 'usage', 'sleep'])}")
    return makers[line.word]()


def _fault(text: str) -> Fault:
    what, _, options = text.partition(" ")
    kinds = {"times": int, "retry_after": float}
    values: dict[str, Any] = {name: kinds.get(name, str)(value) for name, value in named_values(options).items()}
    return Fault(int(what) if what.isdigit() else what, **values)


class InOrder:
    """A script whose steps are taken one after another, whoever asks."""

    def __init__(self, steps: Sequence[Step], after: Answer | Fault) -> None:
        self._steps = _unfolded(steps)
        self._after = after
        self._taken = 0

    def next(self, request: ModelRequest) -> Step:
        step = _at(self._steps, self._taken, self._after)
        self._taken += 1
        return step


class PerConversation:
    """A script that each conversation goes through by itself.

    How far one has come is read from its own history, so that any number of clients can share a model and resume
    each other's work. Faults leave no trace there: they are counted by how often the very same call came.
    """

    def __init__(self, after: Answer | Fault) -> None:
        self._after = after
        self._calls: Counter[bytes] = Counter()

    def next(self, steps: Sequence[Step], answers: int, request: ModelRequest) -> Step:
        key = _identity(request, answers)
        call = self._calls[key]
        self._calls[key] += 1
        stages = _stages(_unfolded(steps))
        stage = stages[min(answers, len(stages) - 1)]
        if not stage:
            return _at(steps, len(steps), self._after)
        # The very same call again gets the very same answer: an agent may have lost it on the way.
        return stage[min(call, len(stage) - 1)]


def _unfolded(steps: Sequence[Step]) -> list[Step]:
    return [again for step in steps for again in [step] * (step.times if isinstance(step, Fault) else 1)]


def _at(steps: Sequence[Step], number: int, after: Answer | Fault) -> Step:
    """The step of a number; behind the end, a fault that was the last one stays, and else it is over."""
    if number < len(steps):
        return steps[number]
    return steps[-1] if steps and isinstance(steps[-1], Fault) else after


def _stages(steps: Sequence[Step]) -> list[list[Step]]:
    """An answer and the faults before it, for each answer; last, what comes after all of them."""
    stages: list[list[Step]] = [[]]
    for step in steps:
        stages[-1].append(step)
        if _leaves_a_trace(step):
            stages.append([])
    return stages


def _leaves_a_trace(step: Step) -> bool:
    """Whether a conversation has one answer more after it: what goes wrong with words does, without it does not."""
    if not isinstance(step, Fault):
        return True
    answer = step.spoken()
    return answer is not None and bool(answer.parts)


def _identity(request: ModelRequest, answers: int) -> bytes:
    """What calls have in common that are one call, tried again.

    Agents name their session, and may put their own words into the next try. Of others only all that was said tells.
    """
    body = request.body if isinstance(request.body, dict) else {}
    session = body.get("metadata") or body.get("prompt_cache_key")
    said = session or [body.get(key) for key in ("messages", "input", "contents")]
    who = [request.headers.get(key) for key in ("authorization", "x-api-key", "x-goog-api-key")]
    script = request.script()
    told = [request.api, who, said, answers, request.answers_so_far, script[0] if script else None]
    return hashlib.blake2b(json.dumps(told).encode(), digest_size=16).digest()
