"""The installed program itself, whose start other tests leave out: each command finds all that it needs."""

from __future__ import annotations

import asyncio

from coded import TRUEUP
from trueup.cli._main import COMMANDS
from trueup.core.process import Command, run


async def test_every_command_is_loaded_by_the_program_that_has_loaded_nothing_yet(tmp_path):
    """Its help is there whichever command it is, and no import complains, warns or prints."""
    called = [Command(argv=(TRUEUP, name, "--help"), cwd=tmp_path, timeout_secs=60) for name in COMMANDS]
    for name, finished in zip(COMMANDS, await asyncio.gather(*map(run, called)), strict=True):
        assert (finished.exit_code, finished.stderr.text) == (0, ""), name
        assert finished.stdout.text.startswith(f"Usage: trueup {name}")
