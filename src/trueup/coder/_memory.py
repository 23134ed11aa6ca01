"""What is remembered of a base, so that checking the same work twice does not run everything twice."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec

from trueup.contract import Baseline
from trueup.core.errors import TrueupError
from trueup.core.files import write_whole

from ._trial import Rewritten


class KnownBase(msgspec.Struct, frozen=True):
    """A baseline, and what its checks did to files that decide: what they do on the base, they may do again."""

    baseline: Baseline
    rewritten: list[Rewritten]
    planted: list[str]


class BaselineMemory:
    """One file per base, contract, dependencies, sandbox and toolchain."""

    def __init__(self, folder: Path, parts: tuple[str, ...]) -> None:
        key = hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:32]
        self._file = folder / f"{key}.json"

    def recall(self) -> KnownBase | None:
        """What was kept, if it can still be read."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._file.read_bytes(), type=KnownBase)
        return None

    def keep(self, known: KnownBase) -> None:
        """Remember it, unless it says that something is amiss here: that may be mended before the next run."""
        if known.baseline.broken or known.baseline.flaky:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # Not remembering costs time and nothing else.
        with suppress(TrueupError):
            write_whole(self._file, msgspec.json.encode(known).decode())
