"""Charm's Crush, known from its documentation and its source alone: the answer as text, and an error on stderr.

It has no record of success: that it ended with exit 0 and an answer is all there is, and says little. It tells no
session, no tokens and no tools. What it keeps goes into the folder of the run, and not into the working folder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from trueup.core.process import Finished
from trueup.core.protocols import Event

from .._events import Message
from .._protocol import Ask, HarnessRequest, Invocation, Say
from .._vendors import Vendor
from ._base import ANTHROPIC_KEY, MOST_TEXT, OPENAI_KEY, Listening, PromptedAgent, as_stdin
from ._capabilities import Capabilities
from ._failures import Failure
from ._folder import Layout, Place, Word, in_folder
from ._providers import Provider, provider_of

DATA, CONFIG, PROVIDER = "data", "config", "trueup"
# The file of its configuration names the key by this variable.
KEY = "TRUEUP_CRUSH_KEY"
QUIET = {"CRUSH_DISABLE_METRICS": "1", "CRUSH_DISABLE_PROVIDER_AUTO_UPDATE": "1"}
_TYPES = {OPENAI_KEY.name: "openai-compat", ANTHROPIC_KEY.name: "anthropic"}


class CrushListening(Listening):
    """A `Conversation` with Crush, which is its answer."""

    decoder = msgspec.json.Decoder(Any)

    def feed(self, line: str) -> Sequence[Event | Ask | Say]:
        self.text = f"{self.text}\n{line}"[-MOST_TEXT:] if self.text else line
        return [Message(line)] if line.strip() else []

    def hear(self, record: Any) -> list[Event]:
        return []

    def problem(self, finished: Finished) -> Failure | None:
        self.text = self.text.strip()
        self.succeeded = finished.exit_code == 0 and bool(self.text)
        return super().problem(finished)


class Crush(PromptedAgent):
    """The `Dialect` of Crush."""

    name = "crush"
    program = "crush"
    install = "see https://github.com/charmbracelet/crush"
    vendors: ClassVar[tuple[Vendor, ...]] = (OPENAI_KEY, ANTHROPIC_KEY)
    login_files = (".local/share/crush/crush.json", ".config/crush/crush.json")
    capabilities = Capabilities(
        budget_while_running=True,
        notes=(
            "known from its documentation and its source alone",
            "has no record of success: exit 0 and an answer are all there is",
            "tells no tokens",
        ),
    )

    def put(self, request: HarnessRequest) -> Invocation:
        words: list[Word] = [self._program, "run", "--quiet", "--data-dir", Place(DATA)]
        env: dict[str, Word] = dict(QUIET)
        provider = provider_of(self.name, request, self.vendors)
        if provider is None:
            words += [f"--model={request.model}"] if request.model else []
            return in_folder(words, Layout(), env=env, stdin=as_stdin(request.prompt))
        env |= {KEY: provider.key or "none", "CRUSH_GLOBAL_CONFIG": Place(CONFIG)}
        layout = Layout(files={f"{CONFIG}/crush.json": _configuration(provider)})
        return in_folder(words, layout, env=env, stdin=as_stdin(request.prompt))

    def converse(self, request: HarnessRequest) -> CrushListening:
        return CrushListening(request)


def _configuration(provider: Provider) -> str:
    model = {"id": provider.model, "name": provider.model, "context_window": 200_000, "default_max_tokens": 16_384}
    described = {
        "type": _TYPES[provider.vendor.name],
        "base_url": provider.base_url,
        "api_key": f"${KEY}",
        "models": [model],
    }
    chosen = {"model": provider.model, "provider": PROVIDER}
    return json.dumps({"providers": {PROVIDER: described}, "models": {"large": chosen, "small": chosen}})
