"""The programs that take a command into a stack: bubblewrap where it is installed, else util-linux."""

from __future__ import annotations

import os
import shutil

from msgspec import Struct

from trueup.core.errors import TrueupError


class SandboxError(TrueupError):
    """A sandbox could not be built."""


class Backend(Struct, frozen=True):
    """A way into a stack. It is named in every result that rests on it.

    `copies` is for machines on which layers cannot be mounted over one another: they are copied into one folder.
    """

    name: str
    copies: bool = False

    def __str__(self) -> str:
        return f"{self.name}, copied" if self.copies else self.name

    def enter(self, holder: int, cwd: str, *, network: bool) -> tuple[str, ...]:
        """The words before a command that make it run in a holder's stack, with processes of its own."""
        joined = ("--user", "--mount", "--uts", *(() if network else ("--net",)))
        into = ("nsenter", f"--target={holder}", *joined, "--preserve-credentials", "--")
        return (*into, *(_BUBBLEWRAP if self.name == "bubblewrap" else _UNSHARE), *self._start(cwd))

    def _start(self, cwd: str) -> tuple[str, ...]:
        if self.name == "bubblewrap":
            return ("--chdir", cwd, "--")
        drop = ("--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
        # The first process of a namespace neither reaps orphans nor feels signals: let it be a shell that waits.
        return ("setpriv", "--no-new-privs", *drop, "sh", "-c", 'cd "$0" && "$@"; exit $?', cwd)


_BUBBLEWRAP = (
    "bwrap",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--disable-userns",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    # With devices: the few in the stack's /dev are meant to be used.
    "--dev-bind",
    "/",
    "/",
    "--proc",
    "/proc",
)
_UNSHARE = (
    "unshare",
    "--user",
    "--map-current-user",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount",
    "--ipc",
    "--mount-proc",
    "--",
)

BUBBLEWRAP = Backend("bubblewrap")
UNSHARE = Backend("unshare")


NO_SANDBOX = Backend("none", copies=True)


def installed_backends() -> list[Backend]:
    """The backends whose programs are there, best first. Whether they hold is found out by `prove`."""
    if shutil.which("nsenter") is None:
        return []
    found = [BUBBLEWRAP] if shutil.which("bwrap") else []
    return [*found, UNSHARE] if shutil.which("unshare") and shutil.which("setpriv") else found


def _candidates() -> list[Backend]:
    installed = installed_backends()
    return [*installed, *(Backend(backend.name, copies=True) for backend in installed)]


async def find_backend() -> Backend:
    """The best backend that was proven here by trying to escape from it."""
    from ._probe import prove

    failures = []
    for backend in _candidates():
        escapes = await prove(backend)
        if not escapes:
            return backend
        failures += [f"{backend}: {escape.what}" for escape in escapes]
    why = "; ".join(failures) or "neither `bwrap` nor `nsenter` and `unshare` of util-linux are installed"
    raise SandboxError(
        f"no sandbox can be built here ({why}). Enable user namespaces (`trueup doctor` says how), install bubblewrap, "
        "or say --sandbox none to run without one"
    )
