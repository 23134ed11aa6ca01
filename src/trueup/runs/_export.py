"""A run as a file: every record as a line of JSON, or a page that a person can read. Neither needs the whole run at once."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Iterator
from html import escape

from msgspec import UNSET

from trueup.core.text import visible, written

from ._encoding import encode_json
from ._records import CheckRecord, EventRecord, ModelTurn, RunInfo, StoredRecord, Turn
from ._store import RunStore
from ._timeline import Totals, as_step, as_text, elapsed

_TOLD = "run_id kind status agent_id agent_name started_at ended_at summary head_hash".split()
# What of one value a page shows; `jsonl` has all of it.
MOST_SHOWN = 64 << 10

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1c1e21; background: #fff }
h1 { font-size: 1.3rem; white-space: pre-wrap } dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem }
dt { color: #5b6068 } dd { margin: 0 } ol { list-style: none; padding: 0 }
li { border-left: 3px solid #c8ccd2; margin: .35rem 0; padding: .1rem .8rem; overflow-wrap: anywhere }
li.good { border-color: #2e8540 } li.amber { border-color: #c77c02 } li.refused { border-color: #b3261e }
.amber b { color: #8f5a00 } .refused b { color: #b3261e } .good b { color: #1e6b31 }
small { color: #5b6068 } pre { white-space: pre-wrap; background: #f4f5f7; padding: .6rem; margin: .3rem 0 }
@media (prefers-color-scheme: dark) { body { color: #e4e6eb; background: #17191c } pre { background: #23262b }
  .amber b { color: #f0b45b } .refused b { color: #f2837c } .good b { color: #79c98b } }
"""


async def export_jsonl(store: RunStore, run: RunInfo) -> AsyncIterator[str]:
    """Every record of a run, whole, one a line."""
    async for page in store.pages(run.run_id, until=run.record_count - 1):
        for stored in page:
            yield encode_json(stored).decode() + "\n"


async def export_html(store: RunStore, run: RunInfo) -> AsyncIterator[str]:
    """A page that stands alone: nothing in it is run or loaded, whatever the records say."""
    totals = Totals()
    yield "".join(_head(run))
    async for page in store.pages(run.run_id, until=run.record_count - 1):
        for stored in page:
            totals.add(stored)
        yield "".join(_item(run, stored) for stored in page)
    summary = " · ".join(each for each in (str(totals), elapsed(run)) if each)
    yield f"</ol>\n<p>{_text(summary)}</p>\n</body>\n</html>\n"


def _head(run: RunInfo) -> Iterator[str]:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">\n'
    yield f"<title>{_text(run.run_id)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{_text(run.intent)}</h1>\n<dl>"
    for name in _TOLD:
        value = getattr(run, name)
        if value:
            yield f"<dt>{name.replace('_', ' ')}</dt><dd>{_text(str(value))}</dd>"
    yield "</dl>\n<ol>\n"


def _item(run: RunInfo, stored: StoredRecord) -> str:
    line = as_step(stored, run)
    spent = [f"took {line.took}" if line.took else "", f"{line.tokens} tokens" if line.tokens else "", line.cost]
    facts = " · ".join(each for each in spent if each)
    more = "".join(_folded(name, value) for name, value in _details(stored))
    outcome = f" <b>{_text(line.outcome)}</b>" if line.outcome else ""
    return (
        f'<li id="r{line.seq}" class="{line.tone}"><small>{line.seq} · {line.after}</small> '
        f"{_text(line.what)} {_text(line.who)}{outcome} <small>{_text(facts)}</small>"
        f"<br>{_text(_cut(line.said))}{more}</li>\n"
    )


def _details(stored: StoredRecord) -> Iterator[tuple[str, object]]:
    record = stored.record
    if isinstance(record, Turn):
        if record.parameters:
            yield "parameters", record.parameters
        if record.output is not UNSET:
            yield "output", record.output
        if record.policy_rejected is not None:
            yield "refusal", record.policy_rejected
    elif isinstance(record, ModelTurn) and record.requested_tool_calls:
        yield "tool calls", record.requested_tool_calls
    elif isinstance(record, CheckRecord):
        yield "result", record.result
    elif isinstance(record, EventRecord) and record.data:
        yield "data", record.data


def _folded(name: str, value: object) -> str:
    return f"<details><summary>{_text(name)}</summary><pre>{_text(_cut(as_text(value)))}</pre></details>"


def _cut(text: str) -> str:
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}\n… {len(text) - MOST_SHOWN:,} characters more; `--format jsonl` has them"


def _text(text: str) -> str:
    return escape(visible(written(text)))
