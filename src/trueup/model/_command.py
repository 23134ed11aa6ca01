"""A program as a model: the prompt on stdin, the answer on stdout."""

from __future__ import annotations

from trueup.core.errors import GenerationError, Kind
from trueup.core.process import Command, run
from trueup.core.protocols import Prompt, Reply

TIMEOUT_SECS = 300
MOST_BYTES = 1 << 20


class CommandModel:
    """A `Generate` that asks a command line. A system prompt goes before the prompt."""

    def __init__(self, line: str, *, timeout_secs: float = TIMEOUT_SECS) -> None:
        self._line = line
        self._timeout_secs = timeout_secs

    async def __call__(self, prompt: Prompt) -> Reply:
        text = prompt.text if prompt.system is None else f"{prompt.system}\n\n{prompt.text}"
        command = Command(
            shell=self._line, stdin=text.encode(), timeout_secs=self._timeout_secs, output_limit=MOST_BYTES
        )
        finished = await run(command)
        if finished.timed_out:
            raise GenerationError(f"`{self._line}` gave no answer within {self._timeout_secs:g} s", kind=Kind.TIMEOUT)
        if finished.exit_code != 0:
            told = finished.stderr.tail(500).strip() or finished.stdout.tail(500).strip() or "it printed nothing"
            raise GenerationError(f"`{self._line}` failed (exit {finished.exit_code}): {told}")
        if not finished.stdout.whole:
            raise GenerationError(f"`{self._line}` printed more than {MOST_BYTES >> 20} MiB", kind=Kind.PROTOCOL)
        if not finished.stdout.text.strip():
            raise GenerationError(f"`{self._line}` printed no answer", kind=Kind.PROTOCOL)
        return Reply(finished.stdout.text)
