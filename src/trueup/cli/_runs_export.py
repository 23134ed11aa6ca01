"""`trueup runs export`: a run as a file, or sent to a collector."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import click

from trueup.core.errors import InputError
from trueup.runs import RunInfo, RunStore, export_html, export_jsonl, export_otlp, send_otlp

AT_ONCE_BYTES = 1 << 18


async def export(store: RunStore, run: RunInfo, form: str, output: Path | None, *, content: bool) -> None:
    """Write a run to a file or to standard output."""
    pieces = _pieces(store, run, form, content=content)
    if output is None or str(output) == "-":
        await _write(pieces, sys.stdout.buffer)
        return
    try:
        if await asyncio.to_thread(_is_something_else, output):
            # Opening a pipe waits for somebody who reads it.
            await _write_to(pieces, await asyncio.to_thread(output.open, "wb"))
        else:
            await _replace(pieces, await asyncio.to_thread(output.resolve))
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None


def _is_something_else(output: Path) -> bool:
    return output.exists() and not output.is_file()


async def _replace(pieces: AsyncIterator[str], place: Path) -> None:
    """What was there stays until the run is written as a whole."""
    scratch = place.with_name(f".{place.name[:100]}-{secrets.token_hex(4)}")
    try:
        await _write_to(pieces, await asyncio.to_thread(scratch.open, "xb"))
        scratch.replace(place)
    finally:
        scratch.unlink(missing_ok=True)


async def _write_to(pieces: AsyncIterator[str], file: IO[bytes]) -> None:
    with file:
        await _write(pieces, file)


async def send(store: RunStore, run: RunInfo, endpoint: str, *, content: bool) -> None:
    """Send a run to a collector."""
    count = await send_otlp(store, run, endpoint, content=content)
    # Without a name and password in front of it.
    collector = urlsplit(endpoint).netloc.rpartition("@")[2]
    click.echo(f"sent {count:,} span{'' if count == 1 else 's'} of run {run.run_id} to {collector}")


def _pieces(store: RunStore, run: RunInfo, form: str, *, content: bool) -> AsyncIterator[str]:
    if form == "otlp":
        return export_otlp(store, run, content=content)
    return export_html(store, run) if form == "html" else export_jsonl(store, run)


async def _write(pieces: AsyncIterator[str], file: IO[bytes]) -> None:
    waiting = bytearray()
    async for piece in pieces:
        waiting += piece.encode()
        if len(waiting) >= AT_ONCE_BYTES:
            # Writing can block as long as a reader likes; a thread for every line would take longer than the lines.
            await asyncio.to_thread(file.write, bytes(waiting))
            waiting.clear()
    await asyncio.to_thread(file.write, bytes(waiting))
    await asyncio.to_thread(file.flush)
