"""Reports that were written before."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trueup.core.errors import InputError

from ._model import Report


def read_report(path: Path) -> Report:
    """Read a report of `trueup test`, written as JSON or as a stream of JSON lines."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path}: is not a report of `trueup test` ({error}); write one with --output report.json"
        ) from None


class _Result(msgspec.Struct, tag_field="type", tag="result"):
    """The last line of a stream."""

    report: Report


def _decode(raw: bytes) -> Report:
    lines = raw.rstrip().rsplit(b"\n", 1)
    if lines[-1].startswith(b'{"type":"result"'):
        return msgspec.json.decode(lines[-1], type=_Result).report
    return msgspec.json.decode(raw, type=Report)
