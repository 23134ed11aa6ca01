"""`trueup runs export`: a run as a file, or sent to a collector."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

import click

from trueup.core.errors import InputError
from trueup.runs import RunInfo, RunStore, export_html, export_jsonl, export_otlp, send_otlp

from ._main import tell


async def export(store: RunStore, run: RunInfo, form: str, output: Path | None, *, content: bool) -> None:
    """Write a run to a file or to standard output."""
    if output is None:
        await _write(_pieces(store, run, form, content=content), sys.stdout.buffer)
        return
    try:
        with output.open("wb") as file:
            await _write(_pieces(store, run, form, content=content), file)
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None
    tell(f"written: {output}")


async def send(store: RunStore, run: RunInfo, endpoint: str, *, content: bool) -> None:
    """Send a run to a collector."""
    count = await send_otlp(store, run, endpoint, content=content)
    click.echo(f"sent {count:,} span{'' if count == 1 else 's'} of run {run.run_id} to {endpoint}")


def _pieces(store: RunStore, run: RunInfo, form: str, *, content: bool) -> AsyncIterator[str]:
    if form == "otlp":
        return export_otlp(store, run, content=content)
    return export_html(store, run) if form == "html" else export_jsonl(store, run)


async def _write(pieces: AsyncIterator[str], file: IO[bytes]) -> None:
    async for piece in pieces:
        # Writing can block as long as a reader likes.
        await asyncio.to_thread(file.write, piece.encode())
    await asyncio.to_thread(file.flush)
