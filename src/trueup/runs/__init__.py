"""What happened: runs, their records, and proof that nobody changed them since.

A run is a list of records that only grows: `Started`, then turns, checks and events in the order in which they were
written, then `Ended`. The `RunStore` keeps them in a database; what it acknowledged is on disk. It stamps numbers and
times, shares large payloads, and chains each record to the one before it. A `RunRecorder` lets any part that takes a
`Recorder` write to one run. Runs are followed, searched, exported (`jsonl`, `html`, OpenTelemetry) and pruned from here.

What a record means, and what to do about it, is the business of whoever wrote it: the coder, the skill tests, the
daemon.
"""

from ._encoding import encode_json
from ._export import export_html, export_jsonl
from ._glance import newest_runs
from ._hub import Tap, Written
from ._otlp import LiveExport, export_otlp, live_export, send_otlp
from ._recorder import RunRecorder, as_record
from ._records import (
    AnyRecord,
    Appended,
    CheckRecord,
    Ended,
    EndStatus,
    EventRecord,
    Found,
    ModelTurn,
    Outlined,
    Pruned,
    Record,
    RunInfo,
    Started,
    StoredRecord,
    Turn,
    Verification,
)
from ._store import RunStore
from ._timeline import NOTHING, Step, Totals, as_step, as_text, elapsed

__all__ = [
    "NOTHING",
    "AnyRecord",
    "Appended",
    "CheckRecord",
    "EndStatus",
    "Ended",
    "EventRecord",
    "Found",
    "LiveExport",
    "ModelTurn",
    "Outlined",
    "Pruned",
    "Record",
    "RunInfo",
    "RunRecorder",
    "RunStore",
    "Started",
    "Step",
    "StoredRecord",
    "Tap",
    "Totals",
    "Turn",
    "Verification",
    "Written",
    "as_record",
    "as_step",
    "as_text",
    "elapsed",
    "encode_json",
    "export_html",
    "export_jsonl",
    "export_otlp",
    "live_export",
    "newest_runs",
    "send_otlp",
]
