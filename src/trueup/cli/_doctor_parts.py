"""What a doctor looks at beside the machine itself: agents, the database of runs, the daemon's port.

Each part has a time within which it must answer, and one that does not is told like anything else that is wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import Awaitable
from contextlib import closing
from pathlib import Path

from trueup.core.errors import TrueupError
from trueup.core.process import Command, run
from trueup.daemon import DEFAULT_PORT
from trueup.harness import Probe, harness_names, plugin_complaints
from trueup.runs import RunStore
from trueup.workspace import Diagnosis, diagnose

from ._database import database_file, named_database
from ._harness_run import probed
from ._harness_show import advice, version_of

MACHINE_SECS = 60.0
AGENT_SECS = 20.0
DATABASE_SECS = 20.0
PORT_SECS = 3.0
LOCK_SECS = 2.0

Diagnoses = list[Diagnosis]
_IN_A_CHILD = "from trueup.cli._doctor_parts import tell_of_database; tell_of_database()"


async def examine() -> Diagnoses:
    """Look at everything that trueup stands on, all at once."""
    parts = (
        _within(MACHINE_SECS, "machine", diagnose()),
        look_at_agents(),
        look_at_database(),
        look_at_port(),
    )
    return [each for found in await asyncio.gather(*parts) for each in found]


async def _within(secs: float, name: str, looking: Awaitable[Diagnoses]) -> Diagnoses:
    try:
        return await asyncio.wait_for(looking, secs)
    except TimeoutError:
        fix = f"find out what keeps it: {name} should answer at once"
        return [_note(name, f"no answer within {secs:g} s", fix)]


async def look_at_agents(secs: float = AGENT_SECS) -> Diagnoses:
    """Which there are, and whether they can be used; each has so long to answer."""
    names = harness_names(os.environ, Path.cwd())
    found = await asyncio.gather(*(_agent(name, secs) for name in names))
    installed = [each for each in found if isinstance(each, Diagnosis)]
    missing = [each.harness for each in found if isinstance(each, Probe)]
    said = f"{len(installed)} of {len(names)} that trueup knows"
    summary = Diagnosis(
        name="agents",
        ok=bool(installed),
        detail=f"{said}; not installed: {', '.join(missing)}" if missing else said,
        fix="install one (`trueup harness list` says how), or have a program of yours work: --engine command:PROGRAM",
        required=False,
    )
    complaints = [_note("plugin", each, "upgrade the plugin, or uninstall it") for each in plugin_complaints()]
    return [summary, *installed, *complaints]


async def _agent(name: str, secs: float) -> Diagnosis | Probe:
    """What is to be said about an agent; a probe where it is not installed."""
    try:
        found = await asyncio.wait_for(probed(name), secs)
    except TimeoutError:
        fix = f"start it by hand, and see what it waits for: `trueup harness probe {name}` asks the same"
        return _note(f"agent {name}", f"no answer within {secs:g} s", fix)
    except TrueupError as error:
        return _note(f"agent {name}", str(error), f"see `trueup harness probe {name}`")
    if not found.installed:
        return found
    if found.logged_in is False:
        return _note(f"agent {name}", f"{version_of(found)}, not logged in", advice(found))
    login = "logged in" if found.logged_in else "whether it is logged in shows when it runs"
    return Diagnosis(name=f"agent {name}", ok=True, detail=f"{version_of(found)}, {login}", required=False)


async def look_at_database() -> Diagnoses:
    """Whether runs can be kept. By a process of its own: what waits for a server or a lock there can be ended from here."""
    command = Command(argv=(sys.executable, "-c", _IN_A_CHILD), timeout_secs=DATABASE_SECS)
    try:
        named, finished = named_database(), await run(command)
        if finished.timed_out:
            return [_bad_database(f"{named}: no answer within {DATABASE_SECS:g} s")]
        told = json.loads(finished.stdout.text)
    except TrueupError as error:
        return [_bad_database(str(error))]
    except ValueError:
        return [_bad_database(f"{named}: {finished.stderr.text.strip()[-300:]}")]
    return [
        _bad_database(told["error"]) if told["error"] else Diagnosis(name="database", ok=True, detail=told["detail"])
    ]


def _bad_database(detail: str) -> Diagnosis:
    fix = (
        "mend what is said, or name another database: TRUEUP_DATABASE_URL=sqlite:///PATH or postgresql://USER@HOST/NAME"
    )
    return Diagnosis(name="database", ok=False, detail=detail, fix=fix)


def tell_of_database() -> None:
    """Print as JSON whether the user's database can be opened and written to."""
    try:
        told = {"detail": asyncio.run(_opened()), "error": None}
    except (TrueupError, OSError) as error:
        told = {"detail": None, "error": str(error)}
    except sqlite3.Error as error:
        told = {"detail": None, "error": f"{named_database()}: cannot be written to: {error}"}
    sys.stdout.write(json.dumps(told))


async def _opened() -> str:
    named, file = named_database(), database_file()
    if file is not None and not file.exists():
        place = next(each for each in file.parents if each.exists())
        if not os.access(place, os.W_OK):
            raise PermissionError(f"{file}: cannot be made: {place} may not be written to")
        return f"{named} is not there yet, and is made when it is needed"
    async with await RunStore.open():
        pass
    if file is not None:
        with closing(sqlite3.connect(file, timeout=LOCK_SECS, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
    return f"{named} opens, is up to date{' and can be written to' if file is not None else ''}"


async def look_at_port(port: int = DEFAULT_PORT, secs: float = PORT_SECS) -> Diagnoses:
    """Whether a daemon could listen there, or one does."""
    return await _within(secs, f"port {port}", _port(port))


async def _port(port: int) -> Diagnoses:
    name = f"port {port}"
    try:
        said = await _health_at(port)
    except OSError:
        return [Diagnosis(name=name, ok=True, detail="free for `trueup serve`", required=False)]
    except (ValueError, asyncio.IncompleteReadError):
        said = {}
    if isinstance(said, dict) and {"version", "open_runs"} <= said.keys():
        detail = f"the daemon of trueup {said['version']}, {said['open_runs']} runs open"
        return [Diagnosis(name=name, ok=True, detail=detail, required=False)]
    fix = f"serve at another one (`trueup serve --port 0`), or stop what `ss -ltnp 'sport = :{port}'` shows"
    return [_note(name, "another program listens there", fix)]


async def _health_at(port: int) -> object:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET /health HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        answer = await reader.read(1 << 16)
    finally:
        writer.close()
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def _note(name: str, detail: str, fix: str) -> Diagnosis:
    return Diagnosis(name=name, ok=False, detail=detail, fix=fix, required=False)
