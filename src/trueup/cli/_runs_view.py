"""Runs as people see them in a terminal: lines of a list, of a timeline, of what was found."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from trueup.core.text import visible, written
from trueup.runs import Found, Pruned, RunInfo, Step, StoredRecord, Totals, as_step, elapsed

from ._shared import coloured

LINE_WIDTH = 100
_COLOURS = {"plain": None, "good": "green", "amber": "yellow", "refused": "red"}


def run_lines(runs: Sequence[RunInfo]) -> list[str]:
    """Runs in a list, one below the other."""
    # The sessions of a race have longer ids.
    width = max((len(run.run_id) for run in runs), default=0)
    return [run_line(run, width) for run in runs]


def run_line(run: RunInfo, width: int = 0) -> str:
    """A run by itself, with as much room for its id as others beside it need."""
    turns = f"{run.turn_count} turn{'' if run.turn_count == 1 else 's'}"
    took = elapsed(run)
    return f"{run.run_id:<{width}}  {run.started_at[:19]}Z  {run.kind:<7}  {run.status:<11}  {turns:>9}  {took:>9}  {short(run.intent)}"


def step_line(stored: StoredRecord, run: RunInfo, totals: Totals) -> str:
    """A record in a timeline. What was spent adds up; what a tool put out is folded to its length."""
    totals.add(stored)
    step = as_step(stored, run)
    outcome = coloured(shown(step.outcome), _COLOURS[step.tone]) if step.outcome else ""
    facts = [outcome, *(shown(each) for each in _facts(step, totals))]
    place = f"{step.seq:>5}  {step.after:>11}  {shown(step.what):<14}  {shown(step.who):<12}"
    return f"{place}  {' · '.join(each for each in facts if each)}".rstrip()


def _facts(step: Step, totals: Totals) -> list[str]:
    spent = [f"{step.tokens} tokens" if step.tokens else "", f"{totals.cost} in all" if step.cost else ""]
    folded = "" if step.output_characters is None else f"[{step.output_characters:,} characters of output]"
    return [short(step.said), step.took, *spent, folded]


def whole_text(stored: StoredRecord) -> str:
    """A record with everything that it has."""
    whole = json.dumps(msgspec.to_builtins(stored.record), indent=2, ensure_ascii=False)
    return f"{stored.seq:>5}  {stored.at}  {stored.hash}\n{shown(whole)}"


def left_out(run: RunInfo, after: int, last: int) -> str:
    """What a timeline does not show, and how to see it; nothing where it shows everything."""
    before, rest = after + 1, run.record_count - last - 1
    parts = [f"{before:,} records before"] if before > 0 else []
    parts += [f"{rest:,} records after: --after {last}"] if rest > 0 else []
    return f"left out: {' · '.join(parts)}" if parts else ""


def found_text(found: Found) -> str:
    """A record that was looked for."""
    return f"{found.run.run_id}  {found.seq:>5}  {found.at[:19]}Z  {found.kind}: {found.snippet}"


def pruned_text(pruned: Pruned, *, dry_run: bool) -> str:
    """What was removed, or would be."""
    lines = run_lines(pruned.runs) if dry_run else []
    verb = "would remove" if dry_run else "removed"
    shared = "" if dry_run else f", and {pruned.payloads:,} payloads that no other run has"
    count = len(pruned.runs)
    told = f"{verb} {count:,} run{'' if count == 1 else 's'} with {pruned.records:,} records{shared}"
    space = f"\nthe space is not given back yet: {pruned.kept_space}" if pruned.kept_space else ""
    return "\n".join([*lines, f"{told}{space}"])


def shown(text: str) -> str:
    """Text of others, so that it cannot act on a terminal."""
    return visible(written(text))


def short(text: str) -> str:
    """One line of a text."""
    line = " ".join(text.split())
    return line if len(line) <= LINE_WIDTH else f"{line[: LINE_WIDTH - 1]}…"
