"""Programs that checks need beside them: started in the check's own namespaces, ended with it."""

from __future__ import annotations

import secrets
import shlex

import msgspec

from trueup.contract import Service
from trueup.core.errors import InfrastructureError
from trueup.core.process import Finished
from trueup.core.protocols import Shell, ShellCommand

READY_SECS = 30
EXIT_NOT_READY = 113
_BASH = "bash --noprofile --norc -o pipefail -c"

# What a service says goes into a file without a name, so that nothing is left behind and no output is mixed up with
# the check's. A service that ends by itself is fine if it succeeded: it may have put itself into the background.
_START = """\
trueup_log=$(mktemp) && exec 9<>"$trueup_log" && rm -- "$trueup_log" || exit
{bash} {command} >&9 2>&1 9>&- </dev/null &
trueup_service=$!
trueup_deadline=$((SECONDS + {ready_secs}))
until timeout $((trueup_deadline - SECONDS + 1)) {bash} {ready} >/dev/null 2>&1 9>&- </dev/null; do
  trueup_why=""
  if ! kill -0 "$trueup_service" 2>/dev/null; then
    wait "$trueup_service" || trueup_why="ended with exit $?"
  fi
  if [ "$SECONDS" -ge "$trueup_deadline" ]; then
    trueup_why="was not ready after {ready_secs} s"
  fi
  if [ -n "$trueup_why" ]; then
    printf '%s %s\\n' {marker} "$trueup_why"
    tail -c 2000 /proc/self/fd/9
    exit {exit_code}
  fi
  sleep 0.05
done
exec 9>&-
"""


class WithServices:
    """A `Shell` in which every command finds the services running."""

    def __init__(self, shell: Shell, services: list[Service], ready_secs: int = READY_SECS) -> None:
        self._shell = shell
        self._services = services
        self._ready_secs = ready_secs

    async def run(self, command: ShellCommand) -> Finished:
        """Start the services, wait until each is ready, run the command; an error where one does not get there."""
        token = secrets.token_hex(8)
        finished = await self._shell.run(
            msgspec.structs.replace(
                command,
                line=self._script(command, token),
                # Services belong to the whole repository, whatever folder the check is in.
                cwd=".",
                timeout_secs=command.timeout_secs + self._ready_secs * len(self._services),
            )
        )
        if finished.exit_code == EXIT_NOT_READY:
            self._complain(finished.stdout.text, token)
        return finished

    def _script(self, command: ShellCommand, token: str) -> str:
        starts = [
            _START.format(
                bash=_BASH,
                command=shlex.quote(service.command),
                ready=shlex.quote(service.ready),
                ready_secs=self._ready_secs,
                marker=f"{token}-{number}",
                exit_code=EXIT_NOT_READY,
            )
            for number, service in enumerate(self._services)
        ]
        check = f"cd -- {shlex.quote(command.cwd)} || exit\nexec {_BASH} {shlex.quote(command.line)}\n"
        return "".join([*starts, check])

    def _complain(self, output: str, token: str) -> None:
        for number, service in enumerate(self._services):
            _, found, rest = output.rpartition(f"{token}-{number} ")
            if found:
                why, _, said = rest.partition("\n")
                last_words = f"; its last output:\n{said.strip()}" if said.strip() else ""
                raise InfrastructureError(f"the service `{service.command}` {why}{last_words}")
