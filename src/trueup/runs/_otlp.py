"""Runs in OpenTelemetry's protocol: as a file, sent once, or sent while they happen.

The library is optional and loaded when it is needed.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from trueup.core.errors import InfrastructureError, InputError

from ._hub import Tap, Written
from ._records import Ended, RunInfo
from ._store import RunStore

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from ._spans import RunSpans

AT_ONCE = 512
# How long a collector may take, retries and all.
TIMEOUT_SECS = 10
# Live: how long a span waits for others, how many records wait for the collector, and how long the end waits for it.
LINGER_SECS = 0.2
MOST_WAITING = 20_000
LAST_SECS = 3


async def export_otlp(store: RunStore, run: RunInfo, *, content: bool = False) -> AsyncIterator[str]:
    """A run as OTLP/JSON, one request a line, as the collector's file receiver reads it."""
    async for spans in _batches(store, run, content=content):
        yield _as_json(spans) + "\n"


async def send_otlp(store: RunStore, run: RunInfo, endpoint: str, *, content: bool = False) -> int:
    """Send a run to a collector; how many spans it took."""
    answers = _Answers()
    exporter = _exporter(endpoint, answers)
    sent = 0
    try:
        async for spans in _batches(store, run, content=content):
            if not await asyncio.to_thread(_export, exporter, spans):
                raise InfrastructureError(
                    f"{_without_password(endpoint)}: the collector took {sent} spans of run {run.run_id} and then none "
                    f"({answers}); is it running, and does it take OTLP over HTTP there?"
                )
            sent += len(spans)
    finally:
        await asyncio.to_thread(exporter.shutdown)
    return sent


class LiveExport:
    """What became of the spans so far. `dropped` are records that came faster than the collector took them."""

    def __init__(self, store: RunStore, tap: Tap, exporter: Any, tell: Callable[[str], None], *, content: bool) -> None:
        self._store = store
        self._tap = tap
        self._exporter = exporter
        self._tell = tell
        self._content = content
        self._runs: dict[str, RunSpans] = {}
        self._trouble = False
        self._dropped_told = 0
        self.sent = 0
        self.failed = 0

    @property
    def dropped(self) -> int:
        return self._tap.dropped

    async def work(self) -> None:
        """Send what is written, until the tap is closed and empty."""
        while await self._tap.ready():
            if not self._tap.closed:
                await asyncio.sleep(LINGER_SECS)
            await self._send(self._tap.take(AT_ONCE))

    async def _send(self, written: Sequence[Written]) -> None:
        spans = [span for each in written for span in await self._spans(each)]
        if not spans:
            return
        taken = await asyncio.to_thread(_export, self._exporter, spans)
        self.sent += len(spans) if taken else 0
        self.failed += 0 if taken else len(spans)
        if taken == self._trouble:
            self._trouble = not taken
            self._tell(self._news(taken))
        # Not at every batch: somebody reads it.
        if self.dropped > 2 * self._dropped_told:
            self._dropped_told = self.dropped
            self._tell(f"{self.dropped} records came faster than the OTLP collector takes spans, and were not sent")

    def _news(self, taken: bool) -> str:
        if not taken:
            return "the OTLP collector takes no spans; runs are recorded as before, and what it misses is counted"
        return f"the OTLP collector takes spans again; {self.failed} spans and {self.dropped} records were not sent"

    async def _spans(self, written: Written) -> list[ReadableSpan]:
        from ._spans import RunSpans

        run = self._runs.setdefault(written.run_id, RunSpans(written.run_id, content=self._content))
        if not run.knows_start and written.stored.seq > 0:
            # It was begun before anybody sent it.
            for stored in await self._store.trace(written.run_id, limit=1):
                list(run.take(stored))
        if isinstance(written.stored.record, Ended):
            del self._runs[written.run_id]
        return list(run.take(written.stored))


@asynccontextmanager
async def live_export(
    store: RunStore,
    endpoint: str,
    *,
    content: bool = False,
    tell: Callable[[str], None] = lambda _: None,
    most_waiting: int = MOST_WAITING,
) -> AsyncIterator[LiveExport]:
    """Send what this store writes while it does. A collector that is slow or down costs spans and nothing else.

    `tell` hears when the collector stops taking spans, when it takes them again, and how many did not wait for it.
    """
    exporter = _exporter(endpoint, _Answers())
    async with store.tapped(most_waiting) as tap:
        live = LiveExport(store, tap, exporter, tell, content=content)
        working = asyncio.create_task(live.work())
        try:
            yield live
        finally:
            await _finish(working, tap, exporter)


async def _finish(live: asyncio.Task[None], tap: Tap, exporter: Any) -> None:
    """Send what waits, as far as the collector is quick."""
    tap.close()
    await asyncio.wait([live], timeout=LAST_SECS)
    # Ends what it is waiting for, too.
    await asyncio.to_thread(exporter.shutdown)
    live.cancel()
    await asyncio.wait([live])


async def _batches(store: RunStore, run: RunInfo, *, content: bool) -> AsyncIterator[list[ReadableSpan]]:
    _require()
    from ._spans import RunSpans

    made = RunSpans(run.run_id, content=content)
    spans: list[ReadableSpan] = []
    last = run.started_at
    async for page in store.pages(run.run_id, until=run.record_count - 1):
        for stored in page:
            last = stored.at
            spans += made.take(stored)
            if len(spans) >= AT_ONCE:
                yield spans
                spans = []
    yield spans if run.ended else [*spans, made.so_far(last)]


def _require() -> None:
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError:
        raise InputError("OpenTelemetry is not installed: pip install 'trueup[otlp]'") from None


class _Answers:
    """What a collector answered last. Only the status counts: a body is not waited for, and can be endless."""

    def __init__(self) -> None:
        self._status: int | None = None

    def __str__(self) -> str:
        return "no answer" if self._status is None else f"it answered {self._status}"

    def take(self, response: Any, **_: Any) -> Any:
        """As a hook of `requests`: the answer without its body, and a redirection, which nobody follows, as a refusal."""
        response.close()
        self._status = response.status_code
        bare = type(response)()
        bare.status_code = 400 if 300 <= response.status_code < 400 else response.status_code
        bare.reason = response.reason
        return bare


def _exporter(endpoint: str, answers: _Answers) -> Any:
    _require()
    import requests
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    # It would print what is told here in our own words.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    session = requests.Session()
    session.stream = True
    session.hooks["response"] = [answers.take]
    return OTLPSpanExporter(endpoint=_address(endpoint), timeout=TIMEOUT_SECS, session=session)


def _address(endpoint: str) -> str:
    try:
        parsed = urlsplit(endpoint)
        is_usable = (
            parsed.scheme in ("http", "https") and bool(parsed.hostname) and (parsed.port is None or parsed.port)
        )
    except ValueError:
        is_usable = False
    if not is_usable:
        raise InputError(f"{_without_password(endpoint)!r} is no collector: use http://HOST:4318")
    return endpoint if parsed.path.strip("/") else f"{endpoint.rstrip('/')}/v1/traces"


def _without_password(endpoint: str) -> str:
    return re.sub(r"//[^/]*@", "//", endpoint)


def _export(exporter: Any, spans: Sequence[ReadableSpan]) -> bool:
    from opentelemetry.sdk.trace.export import SpanExportResult

    return bool(exporter.export(spans) is SpanExportResult.SUCCESS)


def _as_json(spans: Sequence[ReadableSpan]) -> str:
    """OTLP/JSON is protobuf's own JSON, but for ids, which are hexadecimal, and kinds, which are numbers."""
    from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    request = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    for resource in request.get("resourceSpans", []):
        for scope in resource.get("scopeSpans", []):
            for span in scope.get("spans", []):
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
    return msgspec.json.encode(request).decode()
