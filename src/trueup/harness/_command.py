"""Any program as an engine: the prompt on stdin and in a file, the checkout as its working folder.

What it prints is its output. A line that is a JSON object with a key `trueup` tells more, so that its calls can be
metered and watched: `{"trueup": "usage", "input_tokens": 900, "output_tokens": 80, "cost_usd": 0.004}`,
`{"trueup": "plan", "text": …}`, `{"trueup": "tool_call", "id": …, "name": …, "arguments": {…}}`,
`{"trueup": "tool_result", "id": …, "output": …}`, `{"trueup": "error", "kind": "rate_limit", "message": …}`.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from trueup.core.errors import InputError, Kind, SpawnError
from trueup.core.process import Command, Finished, Process
from trueup.core.protocols import Event, Launcher, Recorder
from trueup.core.usage import Usage

from ._engine import EngineError, EngineStalledError, Surroundings, Task, Work
from ._events import PlanText, ToolCall, ToolResult, UsageReported
from ._json_lines import decoded_line

PREFIX = "command:"
FILES = "/run/trueup/files"
TAIL_BYTES = 4096
# By the convention of sysexits.h: try again later.
TEMPORARY_FAILURE = 75
COULD_NOT_START = (126, 127)


# A program that took something back could use as much as it likes.
_Tokens = Annotated[int, Meta(ge=0)]
_Dollars = Annotated[float, Meta(ge=0)]


class _Usage(Struct, tag_field="trueup", tag="usage"):
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None
    cost_usd: _Dollars | None = None
    cache_read_tokens: _Tokens | None = None
    cache_write_tokens: _Tokens | None = None


class _Plan(Struct, tag_field="trueup", tag="plan"):
    text: str


class _ToolCall(Struct, tag_field="trueup", tag="tool_call"):
    name: str
    id: str = ""
    arguments: dict[str, Any] = {}


class _ToolResult(Struct, tag_field="trueup", tag="tool_result"):
    id: str = ""
    output: str = ""
    failed: bool = False


class _Error(Struct, tag_field="trueup", tag="error"):
    message: str
    kind: Kind = Kind.OTHER


_LINE = msgspec.json.Decoder(_Usage | _Plan | _ToolCall | _ToolResult | _Error)


def parse_command(spec: str, around: Surroundings) -> CommandEngine:
    """The engine that a person named by a program and its arguments."""
    try:
        argv = shlex.split(spec.removeprefix(PREFIX))
    except ValueError as error:
        raise InputError(f"engine {spec!r}: {error}; quote it as a shell would want it") from None
    if not argv:
        raise InputError("engine 'command:' names no program; write it as `command:PROGRAM ARGUMENTS`")
    words, files = _located(argv, around)
    return CommandEngine(words, files, around.environ.get("PATH", os.defpath))


class CommandEngine:
    """An `Engine` that runs a program and takes what it leaves in the checkout for its work."""

    name = "command"
    vendor = None
    login = None
    asks_first = False

    def __init__(self, argv: tuple[str, ...], files: Mapping[str, str], path: str = os.defpath) -> None:
        self.argv = argv
        self.files = dict(files)
        self._path = path

    async def version(self) -> str | None:
        program = self.argv[0]
        # A file with a path of its own is looked for where the engine works.
        if os.sep not in program and shutil.which(program, path=self._path) is None:
            raise EngineError(
                f"engine {program!r} cannot be started: no such program on PATH; install it or give its whole path",
                kind=Kind.SPAWN,
            )
        self._look_at_the_file()
        return None

    def _look_at_the_file(self) -> None:
        """A program that was named by a whole path is there, and can be run."""
        program = self.argv[0]
        file = Path(next((source for source, seen_at in self.files.items() if seen_at == program), program))
        if not file.is_absolute():
            return
        if not os.access(file, os.X_OK) or not file.is_file():
            why = "is a folder" if file.is_dir() else "cannot be executed" if file.exists() else "is not there"
            raise EngineError(f"engine {str(file)!r} cannot be started: it {why}", kind=Kind.SPAWN)

    async def work(self, task: Task, launcher: Launcher, recorder: Recorder) -> Work:
        variables = {
            "TRUEUP_PROMPT_FILE": task.prompt_file,
            **({"TRUEUP_ENGINE_MODEL": task.model} if task.model else {}),
        }
        command = Command(argv=self.argv, stdin=task.prompt.encode(errors="replace"), env=variables)
        heard = _Heard(recorder)
        try:
            async with launcher.launch(command) as process:
                async for line in _lines_before(process, task.idle_secs):
                    await heard.take(line)
                finished = await process.wait()
        except SpawnError as error:
            raise EngineError(str(error), kind=Kind.SPAWN) from None
        self._complain(finished, heard)
        return Work(
            exit_code=finished.exit_code,
            signal=finished.signal,
            duration_secs=finished.duration_secs,
            output_tail=_tail(finished),
        )

    def _complain(self, finished: Finished, heard: _Heard) -> None:
        """Raise what ended the work for a reason that is not in the work."""
        if heard.error is not None and finished.exit_code != 0:
            raise EngineError(heard.error.message, kind=heard.error.kind)
        if finished.exit_code == TEMPORARY_FAILURE:
            raise EngineError(f"{self.argv[0]} asks to be tried again later: {_tail(finished)}", kind=Kind.OVERLOADED)
        if finished.exit_code in COULD_NOT_START:
            raise EngineError(
                f"{self.argv[0]} could not be run in the workspace (exit {finished.exit_code}): {_tail(finished)}",
                kind=Kind.SPAWN,
            )


class _Heard:
    """What a program told of itself while it ran."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.error: _Error | None = None

    async def take(self, line: str) -> None:
        if not line.startswith("{"):
            return
        told = decoded_line(line, _LINE)
        if isinstance(told, _Error):
            self.error = told
        elif told is not None:
            await self._recorder.record(_event(told))


def _event(told: _Usage | _Plan | _ToolCall | _ToolResult) -> Event:
    match told:
        case _Usage():
            return UsageReported(Usage(**msgspec.structs.asdict(told)))
        case _Plan(text=text):
            return PlanText(text)
        case _ToolCall(name=name, id=id_, arguments=arguments):
            return ToolCall(name, id_, input=arguments)
        case _ToolResult(id=id_, output=output, failed=failed):
            return ToolResult(id_, not failed, output)


async def _lines_before(process: Process, idle_secs: float | None) -> AsyncIterator[str]:
    """Lines while they come; the program is given up where it keeps silent for too long."""
    lines = process.lines()
    while True:
        try:
            async with asyncio.timeout(idle_secs):
                line = await anext(lines, None)
        except TimeoutError:
            raise EngineStalledError(
                f"the engine said nothing for {idle_secs:g} s and was ended", kind=Kind.OTHER
            ) from None
        if line is None:
            return
        yield line


def _tail(finished: Finished) -> str:
    return (finished.stderr.tail(TAIL_BYTES).strip() or finished.stdout.tail(TAIL_BYTES).strip()) or "it said nothing"


def _located(argv: list[str], around: Surroundings) -> tuple[tuple[str, ...], dict[str, str]]:
    """The words of a command as they hold where the engine works, and the files that must be brought there.

    The repository is seen at its own path. A file outside of it is bound at its own path too; one inside of it that
    the base does not have would not be there, and is bound elsewhere.
    """
    words, files = [], {}
    for number, word in enumerate(argv):
        file = Path(os.path.abspath(around.folder / word))  # noqa: PTH100 - links stay as they were named
        is_bare_program = number == 0 and os.sep not in word
        if not word or is_bare_program or not file.is_file():
            words.append(word)
            continue
        seen_at = str(file)
        if around.confined and file.is_relative_to(around.repository):
            if not around.in_base(str(file.relative_to(around.repository))):
                seen_at = f"{FILES}/{number}/{file.name}"
                files[str(file)] = seen_at
        elif around.confined:
            files[str(file)] = seen_at
        words.append(seen_at)
    return tuple(words), files
