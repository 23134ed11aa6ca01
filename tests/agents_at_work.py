"""What an agent does in a workspace, for tests of any room."""

from __future__ import annotations

from trueup.core.protocols import ShellCommand
from trueup.workspace import Change, Workspace


async def work(workspace: Workspace, line: str) -> str:
    """One stretch of work, and then the agent is gone; what it said is returned."""
    async with workspace.open() as shell:
        finished = await shell.run(ShellCommand(line=line, timeout_secs=60))
    assert finished.exit_code == 0, finished.stdout.text
    return finished.stdout.text


def changed(change: Change) -> dict[str, str]:
    """What became of which path."""
    return {file.path: file.status for file in change.files}
