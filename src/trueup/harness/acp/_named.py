"""What must be known of ACP agents beside the protocol, as data.

The protocol leaves open when an agent asks: by its mode, by its settings, or never. It leaves open where a command is
told that is asked for. And not every failure is told as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace


class AcpAgent(Struct, frozen=True, kw_only=True):
    """One agent.

    - `known_as`: the names by which it answers `initialize`.
    - `dialect`: the harness of the same agent, by whose dialect its program is told whom to call.
    - `env`, `settings`: what it must be told at its start so that it asks. A setting is a variable that holds JSON, and
      is merged into what the variable holds anyway.
    - `asking_modes`: the modes in which it asks, or can do nothing that matters; the first is set where it is in none
      of them. `free_mode` is the one for a run in which nothing needs to be asked.
    - `options`: configuration options that must have these values where it is to ask.
    - `asks`: whether it asks at all.
    - `title_is_command`, `content_is_input`: where the command is told, if not in the raw input.
    - `remarks`: how messages begin that are the program's and not the model's, each told at once. One that begins with
      one of the `error_remarks` is a failure, in a turn that ends as if nothing had happened.
    - `resumes`: whether it can be trusted to go on with a session.
    - `counts_last_call`: the usage that it tells is of the last call of the model, and not of the turn.
    """

    argv: tuple[str, ...]
    install: str = ""
    known_as: tuple[str, ...] = ()
    dialect: str | None = None
    env: Mapping[str, str] = {}
    settings: Mapping[str, Mapping[str, Any]] = {}
    model_word: str | None = None
    model_variable: str | None = None
    asking_modes: tuple[str, ...] = ()
    free_mode: str | None = None
    options: Mapping[str, str] = {}
    asks: bool = True
    title_is_command: bool = False
    content_is_input: bool = False
    remarks: tuple[str, ...] = ()
    error_remarks: tuple[str, ...] = ()
    resumes: bool = True
    counts_last_call: bool = False
    tested: str | None = None


_COPILOT_MODES = "https://agentclientprotocol.com/protocol/session-modes#"

_GOOSE_ERRORS = ("Network error: ", "Ran into this error: ")

NAMED: Mapping[str, AcpAgent] = {
    "claude-code": AcpAgent(
        argv=("claude-agent-acp",),
        install="install it with `npm install -g @agentclientprotocol/claude-agent-acp`",
        known_as=("@agentclientprotocol/claude-agent-acp",),
        dialect="claude-code",
        asking_modes=("default", "plan"),
        tested="0.99.0",
    ),
    "codex": AcpAgent(
        argv=("codex-acp",),
        install="install it with `npm install -g @agentclientprotocol/codex-acp`",
        known_as=("@agentclientprotocol/codex-acp",),
        dialect="codex",
        # In its usual mode a model of the vendor's approves, and not the client.
        asking_modes=("read-only",),
        free_mode="agent-full-access",
        remarks=("Warning: ",),
        tested="2.6.0",
    ),
    "copilot": AcpAgent(
        argv=("copilot", "--acp"),
        install="install it with `npm install -g @github/copilot`",
        known_as=("Copilot",),
        dialect="copilot",
        model_variable="COPILOT_MODEL",
        asking_modes=(f"{_COPILOT_MODES}agent", f"{_COPILOT_MODES}plan"),
        options={"allow_all": "off"},
        remarks=("Info: ", "Warning: ", "Error: "),
        error_remarks=("Error: ",),
        tested="1.0.102",
    ),
    "droid": AcpAgent(
        argv=("droid", "exec", "-o", "acp"),
        install="install it with `npm install -g droid`",
        known_as=("@factory/cli",),
        dialect="droid",
        model_word="-m",
        asking_modes=("normal", "spec"),
        tested="0.215.0",
    ),
    "gemini": AcpAgent(
        argv=("gemini", "--acp", "--skip-trust"),
        install="install it with `npm install -g @google/gemini-cli`",
        known_as=("gemini-cli",),
        dialect="gemini",
        model_word="-m",
        asking_modes=("default", "plan"),
        title_is_command=True,
        # It loses a session that is loaded in the minute in which it began.
        resumes=False,
        tested="0.61.0",
    ),
    "goose": AcpAgent(
        argv=("goose", "acp", "--with-builtin", "developer"),
        install="install it from https://block.github.io/goose",
        known_as=("goose",),
        dialect="goose",
        env={"GOOSE_MODE": "approve"},
        model_variable="GOOSE_MODEL",
        asking_modes=("approve", "chat"),
        remarks=_GOOSE_ERRORS,
        error_remarks=_GOOSE_ERRORS,
        counts_last_call=True,
        tested="1.52.0",
    ),
    "kimi": AcpAgent(
        argv=("kimi", "acp"),
        install="install it with `npm install -g @moonshot-ai/kimi-code`",
        known_as=("Kimi Code CLI",),
        dialect="kimi-code",
        asking_modes=("default", "plan"),
        content_is_input=True,
        tested="2.1.0",
    ),
    "opencode": AcpAgent(
        argv=("opencode", "acp"),
        install="install it with `npm install -g opencode-ai`",
        known_as=("OpenCode",),
        dialect="opencode",
        settings={"OPENCODE_CONFIG_CONTENT": {"permission": {"*": "ask"}}},
        counts_last_call=True,
        tested="1.18.33",
    ),
    "pi": AcpAgent(
        argv=("pi-acp",),
        install="install it with `npm install -g pi-acp`",
        known_as=("pi-acp",),
        asks=False,
    ),
    "qwen": AcpAgent(
        argv=("qwen", "--acp", "--approval-mode", "default"),
        install="install it with `npm install -g @qwen-code/qwen-code`",
        known_as=("qwen-code",),
        dialect="qwen",
        model_word="-m",
        asking_modes=("default", "plan"),
        tested="0.24.4",
    ),
    "vibe": AcpAgent(
        argv=("vibe-acp",),
        install="install it with `pip install mistral-vibe`",
        known_as=("@mistralai/mistral-vibe",),
        dialect="vibe",
        # In its usual mode it edits files unasked.
        asking_modes=("ask",),
        tested="3.0.2",
    ),
}


def agent_of(argv: tuple[str, ...]) -> AcpAgent:
    """What is known of the agent that a command line starts; only the command line, where it is nobody's."""
    program = PurePath(argv[0]).name
    known = next((each for each in NAMED.values() if each.argv[0] == program), None)
    return AcpAgent(argv=argv) if known is None else replace(known, argv=argv)


def agent_known_as(name: str | None, agent: AcpAgent) -> AcpAgent:
    """The agent that answers by this name, where nothing but its command line was known before."""
    if agent.known_as:
        return agent
    known = next((each for each in NAMED.values() if name in each.known_as), None)
    return agent if known is None else replace(known, argv=agent.argv)
