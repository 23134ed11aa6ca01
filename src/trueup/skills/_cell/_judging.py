"""Evals that a judge decides, or a panel of them.

Every judge is asked as often as there are votes. A boolean eval goes by the majority; a tie does not pass. A numeric
one goes by the mean of the scores. `agreement` is the share of votes that are with the majority, and for scores 1 less
the distance between the highest and the lowest as a share of the scale: 1 is one mind, 0 both ends of the scale.
"""

from __future__ import annotations

import asyncio
from statistics import fmean

from .._case import Boolean, Comparator, Numeric
from .._model import Judgement, Query, QueryKind
from .._report import BooleanDetail, NumericDetail, Vote
from ._calls import Calls, shown
from ._evidence import Evidence, Finding


async def judge_boolean(eval_: Boolean, evidence: Evidence, calls: Calls, slots: asyncio.Semaphore) -> Finding:
    """Ask whether the criterion holds."""
    query = Query(kind=QueryKind.BOOLEAN, criterion=eval_.criterion)
    votes = await _votes(query, evidence, calls, slots)
    for_it = sum(vote.value is True for vote in votes)
    against = len(votes) - for_it
    # A tie is counted against whatever is expected.
    value = not eval_.expected if for_it == against else for_it > against
    return Finding(
        passed=value is eval_.expected,
        detail=BooleanDetail(value=value, expected=eval_.expected),
        reason=_boolean_reason(votes, for_it, against, value=value),
        votes=votes if len(votes) > 1 else [],
        agreement=max(for_it, against) / len(votes) if len(votes) > 1 else None,
    )


async def judge_numeric(eval_: Numeric, evidence: Evidence, calls: Calls, slots: asyncio.Semaphore) -> Finding:
    """Ask for a score, and hold it against the threshold."""
    query = Query(kind=QueryKind.NUMERIC, criterion=eval_.criterion, min=eval_.min, max=eval_.max)
    votes = await _votes(query, evidence, calls, slots)
    scores = [float(vote.value) for vote in votes]
    mean = fmean(scores)
    spread = (max(scores) - min(scores)) / ((eval_.max - eval_.min) or 1)
    return Finding(
        passed=_satisfies(mean, eval_),
        detail=NumericDetail(value=mean, threshold=eval_.threshold, comparator=eval_.comparator.value),
        reason=_numeric_reason(votes, mean),
        votes=votes if len(votes) > 1 else [],
        agreement=1 - spread if len(votes) > 1 else None,
    )


async def _votes(query: Query, evidence: Evidence, calls: Calls, slots: asyncio.Semaphore) -> list[Vote]:
    """Every judge's verdict, in the order of the panel."""

    async def ask(model: str) -> Judgement:
        async with slots:
            return await calls.judge(model, query, evidence.messages)

    panel = [model for model in evidence.spec.judges for _ in range(evidence.spec.votes)]
    # All of them are heard also where one fails: what they cost is known then.
    verdicts = await asyncio.gather(*(ask(model) for model in panel), return_exceptions=True)
    for verdict in verdicts:
        if isinstance(verdict, BaseException):
            raise verdict
    return [
        Vote(model=model, value=verdict.value, reason=verdict.reason)
        for model, verdict in zip(panel, verdicts, strict=True)
        if isinstance(verdict, Judgement)
    ]


def _satisfies(score: float, eval_: Numeric) -> bool:
    match eval_.comparator:
        case Comparator.AT_LEAST:
            return score >= eval_.threshold
        case Comparator.MORE:
            return score > eval_.threshold
        case Comparator.AT_MOST:
            return score <= eval_.threshold
        case Comparator.LESS:
            return score < eval_.threshold


def _boolean_reason(votes: list[Vote], for_it: int, against: int, *, value: bool) -> str:
    if len(votes) == 1:
        return _alone(votes[0])
    if for_it == against:
        return f"The judges are divided, {for_it} to {against}, and a tie does not pass. {_first_of_each(votes)}"
    with_majority = [vote for vote in votes if vote.value is value]
    return f"{len(with_majority)} of {len(votes)} votes say {shown(value)}. {_said(with_majority[0])}".rstrip()


def _numeric_reason(votes: list[Vote], mean: float) -> str:
    if len(votes) == 1:
        return _alone(votes[0])
    scores = ", ".join(shown(vote.value) for vote in votes)
    closest = min(votes, key=lambda vote: abs(vote.value - mean))
    return f"The mean of {scores} is {mean:.4g}. {_said(closest)}".rstrip()


def _alone(vote: Vote) -> str:
    return vote.reason or f"The judge says {shown(vote.value)} and gives no reason."


def _first_of_each(votes: list[Vote]) -> str:
    firsts = (next(vote for vote in votes if vote.value is value) for value in (True, False))
    return " ".join(f"{shown(vote.value)}: {vote.reason}" for vote in firsts if vote.reason)


def _said(vote: Vote) -> str:
    return f"{vote.model}: {vote.reason}" if vote.model and vote.reason else vote.reason
