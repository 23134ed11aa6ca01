"""The data: a file on both sides of a change, what is known besides it, and one thing that looks wrong."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from .._verdict import Severity

LINK = "120000"
SUBMODULE = "160000"
EXECUTABLE = "100755"


class ChangedFile(Struct, frozen=True, kw_only=True):
    """One path of a change with both of its contents; a side that has nothing there is None.

    `protected` says that the file decides what checks do; whether git ignores it is not known here.
    """

    path: str
    old: bytes | None = None
    new: bytes | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    protected: bool = False


class Context(Struct, frozen=True, kw_only=True):
    """What else is known about a change; all of it may be left out, and then less is found.

    `standards` are test files and verifying scripts of the base, by path: their expectations are looked for in the
    change's sources. `goals` are those of the `commands` that must become green; None where that is not known.
    `intent` is what was asked for, in words. `ignored_read` are paths that checks read although git ignores them.
    """

    base_paths: Collection[str] = ()
    standards: Mapping[str, bytes] = {}
    commands: Sequence[str] = ()
    goals: Sequence[str] | None = None
    intent: str = ""
    ignored_read: Sequence[str] = ()


class Suspicion(Struct, frozen=True, kw_only=True):
    """One place that looks wrong: `what` goes on after "FILE line N".

    `key` tells whether the base had it already, wherever it stood; without one, the text of its line does.
    """

    kind: str
    severity: Severity
    what: str
    line: int | None = None
    key: str | None = None
