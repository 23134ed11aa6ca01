"""The scripted model as a program, for tests in other languages: `python -m trueup.testing.model --script FILE`.

Prints one line of JSON, `{"url": …}`, when it listens, then one for each call that it answers (`--quiet` for none),
and goes on until it is ended; with `--until-eof` also when its stdin is closed, so that it cannot outlive a test.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from trueup.core.errors import InputError

from . import ModelRequest, ScriptedModel, parse_script


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the end."""
    options = _options().parse_args(argv)
    try:
        script = parse_script(options.script.read_text()) if options.script else None
    except (InputError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    asyncio.run(_serve(options, ScriptedModel(script, per_conversation=options.per_conversation, port=options.port)))
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trueup.testing.model", description="A model that follows a script."
    )
    parser.add_argument("--script", type=Path, help="the steps, one on a line; without it they are read from prompts")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one (default)")
    parser.add_argument("--per-conversation", action="store_true", help="each conversation takes all the steps")
    parser.add_argument("--quiet", action="store_true", help="no line for each call")
    parser.add_argument("--until-eof", action="store_true", help="end when stdin is closed")
    return parser


async def _serve(options: argparse.Namespace, model: ScriptedModel) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    async with model:
        _tell({"url": model.url})
        if options.until_eof:
            threading.Thread(target=_call_at_eof, args=(loop, over), daemon=True).start()
        reporting = asyncio.create_task(_report(model, quiet=options.quiet))
        await over.wait()
    await reporting


def _call_at_eof(loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    while os.read(0, 4096):
        pass
    # It may be over already.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(over.set)


async def _report(model: ScriptedModel, *, quiet: bool) -> None:
    async for request in model.watch():
        if not quiet:
            _tell(_summary(request))


def _summary(request: ModelRequest) -> dict[str, object]:
    return {
        "api": request.api,
        "path": request.path,
        "model": request.model,
        "aside": request.aside,
        "prompt": request.prompt,
        "tool_results": request.tool_results,
    }


def _tell(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
