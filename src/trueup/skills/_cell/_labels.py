"""What evals are called in reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trueup.core.text import written

from .._case import (
    Activated,
    Boolean,
    Called,
    CommandEval,
    Contains,
    CostBelow,
    Eval,
    FileEval,
    JsonEval,
    Matches,
    NotActivated,
    NotCalled,
    Numeric,
    ToolCalled,
    ToolOrder,
    TurnsBelow,
)

_ABOUT: Mapping[type, Callable[[Any], str]] = {
    Boolean: lambda judged: judged.criterion,
    Numeric: lambda judged: judged.criterion,
    Called: lambda called: f"called {called.mock}",
    NotCalled: lambda called: f"not called {called.mock}",
    Contains: lambda reply: f"{'contains' if reply.expected else 'does not contain'} {reply.text!r}",
    Matches: lambda reply: f"{'matches' if reply.expected else 'does not match'} {reply.pattern!r}",
    JsonEval: lambda reply: f"json {reply.pointer}".rstrip(),
    FileEval: lambda file: f"{'' if file.exists else 'no '}file {file.path}",
    CommandEval: lambda command: f"command {command.command}",
    ToolCalled: lambda tool: f"{'tool called' if tool.expected else 'tool not called'}: {tool.tool}",
    ToolOrder: lambda order: f"tools in order: {', '.join(order.tools)}",
    CostBelow: lambda cost: f"costs less than ${cost.usd:g}",
    TurnsBelow: lambda turns: f"fewer than {turns.turns} replies",
    Activated: lambda _: "skill used",
    NotActivated: lambda _: "skill not used",
}


def labels(evals: Sequence[Eval]) -> list[str]:
    """What each eval is called: its name, else what it is about; told apart where two are the same."""
    seen: Counter[str] = Counter()
    told = []
    for eval_ in evals:
        label = written(eval_.name or _ABOUT[type(eval_)](eval_))
        seen[label] += 1
        told.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return told
