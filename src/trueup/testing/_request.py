"""What a client asked, in one shape for all four vendors' formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from msgspec import Struct, field

from ._steps import Answer, Fault
from .agent import find_script

WORKING_FOLDER = re.compile(r"(?:working directory(?: is)?: *|current directory: *|<cwd>)(/[^\n<]*)", re.IGNORECASE)


class Offered(Struct, frozen=True):
    """A tool that the client lets the model call. `is_free` where its input is text instead of JSON."""

    name: str
    properties: Mapping[str, Any] = {}
    is_free: bool = False


class Said(Struct, frozen=True):
    """One piece of the conversation so far, by `system`, `user`, `assistant` or `tool`."""

    role: str
    text: str


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One call of the model. `headers` have lower-case names and are complete, keys and tokens included.

    `aside` says that it was taken for a call beside the work, `answered_by` what of the script answered it.
    """

    api: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    raw: bytes = field(default=b"")
    model: str = ""
    stream: bool = False
    max_tokens: int | None = None
    tools: list[Offered] = []
    conversation: list[Said] = []
    wants_json: Mapping[str, Any] | None = None
    aside: bool = False
    answered_by: Answer | Fault | None = None

    @property
    def prompt(self) -> str:
        """The latest that the user said."""
        return next((said.text for said in reversed(self.conversation) if said.role == "user"), "")

    @property
    def system(self) -> str:
        """All that the model was told about itself."""
        return "\n".join(said.text for said in self.conversation if said.role == "system")

    @property
    def tool_results(self) -> list[str]:
        """What the client's tools answered, in order."""
        return [said.text for said in self.conversation if said.role == "tool"]

    @property
    def answers_so_far(self) -> int:
        """How many answers of the model the conversation already has."""
        return _runs_of_assistant(self.conversation)

    @property
    def working_folder(self) -> str | None:
        """Where the client says that it works."""
        found = [match[1].strip() for said in self.conversation for match in WORKING_FOLDER.finditer(said.text)]
        return found[0] if found else None

    def script(self) -> tuple[str, int] | None:
        """The script in the latest message of the user that has one, and how many answers came after it."""
        for number in range(len(self.conversation) - 1, -1, -1):
            said = self.conversation[number]
            text = find_script(said.text) if said.role == "user" else None
            if text is not None:
                return text, _runs_of_assistant(self.conversation[number:])
        return None


def _runs_of_assistant(conversation: Iterable[Said]) -> int:
    return sum(role == "assistant" for role, _ in groupby(conversation, key=lambda said: said.role))


def text_of(content: Any) -> str:
    """The words in a message's content, which every format allows to be a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("text") or content.get("content") or "")
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    return ""
