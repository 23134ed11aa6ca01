"""`trueup completion`"""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from ._main import COMPLETE_VARIABLE

_SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(_SHELLS)))
def command(shell: str) -> None:
    """Print a script by which SHELL completes commands, options, agents, and the ids of sessions and runs.

    \b
    Examples:
      eval "$(trueup completion bash)"     # in ~/.bashrc
      eval "$(trueup completion zsh)"      # in ~/.zshrc, below compinit
      trueup completion fish > ~/.config/fish/completions/trueup.fish
    """
    # Not the method of bash's own class, which starts a bash to ask for its version.
    click.echo(ShellComplete.source(_SHELLS[shell](click.Command("trueup"), {}, "trueup", COMPLETE_VARIABLE)))
