"""A model that says what it was told to say."""

from __future__ import annotations

from collections.abc import Iterable

from trueup.core.errors import GenerationError, TrueupError
from trueup.core.protocols import Prompt, Reply


class ScriptedReplies:
    """A `Generate` that gives its replies in order, or raises those that are errors, and keeps the prompts."""

    def __init__(self, replies: Iterable[str | Reply | TrueupError]) -> None:
        self._replies = list(replies)
        self.prompts: list[Prompt] = []

    async def __call__(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        if len(self.prompts) > len(self._replies):
            raise GenerationError(f"the script has {len(self._replies)} replies and was asked once more")
        reply = self._replies[len(self.prompts) - 1]
        if isinstance(reply, TrueupError):
            raise reply
        return Reply(reply) if isinstance(reply, str) else reply
