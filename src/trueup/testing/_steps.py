"""What a scripted model says, call by call: texts, tool calls, thoughts, and faults."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from msgspec import Struct

from trueup.core.errors import InputError

if TYPE_CHECKING:
    from ._request import ModelRequest


class Tokens(Struct, frozen=True, kw_only=True):
    """What one answer is said to have used. `input` is what was neither read from a cache nor written to one.

    Each vendor's answer tells it in the vendor's way: Anthropic apart, OpenAI and Gemini with the cached ones
    included.
    """

    input: int = 1000
    output: int = 50
    cache_read: int = 200
    cache_write: int = 0
    reasoning: int = 0

    @property
    def prompt(self) -> int:
        """All tokens that went in."""
        return self.input + self.cache_read + self.cache_write


class Text(Struct, frozen=True):
    """Something that the model says."""

    text: str


class Thinking(Struct, frozen=True):
    """Something that the model thinks aloud, where the vendor's format has a place for it."""

    text: str


class Tool(Struct, frozen=True):
    """A tool that the model calls.

    The names `shell`, `read`, `write`, `edit` are neutral: they become the offered tool that does this, with its
    arguments. Any other name is sent as it is, offered or not.
    """

    name: str
    arguments: Mapping[str, Any] = {}
    id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.arguments, Mapping):
            raise InputError(f"the arguments of {self.name!r} are {self.arguments!r}: give an object")
        try:
            json.dumps(dict(self.arguments))
        except (TypeError, ValueError) as error:
            raise InputError(f"the arguments of {self.name!r} are no JSON: {error}") from None

    @classmethod
    def shell(cls, command: str) -> Tool:
        """Run a command."""
        return cls("shell", {"command": command})

    @classmethod
    def read(cls, path: str) -> Tool:
        """Read a file."""
        return cls("read", {"path": path})

    @classmethod
    def write(cls, path: str, content: str) -> Tool:
        """Write a whole file."""
        return cls("write", {"path": path, "content": content})

    @classmethod
    def edit(cls, path: str, old: str, new: str) -> Tool:
        """Replace a piece of a file. Some agents want the file to be read first."""
        return cls("edit", {"path": path, "old": old, "new": new})


Part: TypeAlias = Text | Thinking | Tool
Stop: TypeAlias = Literal["end", "max_tokens", "refusal"]


class Answer(Struct, frozen=True):
    """One whole answer: several parts, what it used, how it ended, and how slowly it came.

    `delay_secs` passes before the first byte, `pause_secs` before each further piece of a stream.
    """

    parts: Sequence[Part] = ()
    usage: Tokens | None = None
    stop: Stop = "end"
    delay_secs: float = 0
    pause_secs: float = 0

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Text | Thinking | Tool):
                raise InputError(f"{part!r} is no part of an answer: give Text, Thinking or Tool")
        if self.stop not in get_args(Stop):
            raise InputError(f"no answer ends with {self.stop!r}: give one of {', '.join(get_args(Stop))}")


FAULTS = ("hang", "stall", "cut", "garbage", "empty", "refusal", "max_tokens", "stream_error")
# They come as an answer; the others as none.
SPOKEN: Mapping[str, Stop] = {"empty": "end", "refusal": "refusal", "max_tokens": "max_tokens"}


class Fault(Struct, frozen=True):
    """A call that goes wrong: by an HTTP status (`Fault(429, retry_after=1)`) or in one of these ways.

    `hang`: not a byte until the server is closed. `stall`: a stream that begins and falls silent. `cut`: one whose
    connection is dropped in the middle. `stream_error`: one that ends with the vendor's record of an error.
    `garbage`: status 200 and no JSON. `empty`: an answer without content. `refusal` and `max_tokens`: an answer that
    ends for this reason. `times` such calls in a row, then the script goes on; a fault that ends the script stays.
    """

    what: int | str
    times: int = 1
    message: str | None = None
    retry_after: float | None = None
    type: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        if isinstance(self.what, str) and self.what not in FAULTS:
            raise InputError(f"unknown fault {self.what!r}: give an HTTP status or one of {', '.join(FAULTS)}")
        if isinstance(self.what, int) and not 400 <= self.what <= 599:
            raise InputError(f"fault {self.what} is no HTTP status of an error: give one from 400 to 599")
        if self.times < 1:
            raise InputError(f"a fault of {self.times} times is none: give 1 or more")
        if self.retry_after is not None and self.retry_after < 0:
            raise InputError(f"nobody waits for {self.retry_after:g} s: give a retry_after of 0 or more")

    def spoken(self) -> Answer | None:
        """The answer that this fault is, where it is one."""
        stop = SPOKEN.get(str(self.what))
        if stop is None:
            return None
        said = self.message if self.message is not None else _WORDS[str(self.what)]
        return Answer([Text(said)] if said else [], stop=stop)


_WORDS = {"empty": "", "refusal": "I cannot help with that.", "max_tokens": "This answer is cut"}

Reply: TypeAlias = str | Part | Answer | Fault | Sequence[Part]
Responder: TypeAlias = "Callable[[ModelRequest], Reply | Awaitable[Reply]]"
Step: TypeAlias = "Reply | Responder"
Script: TypeAlias = "str | Sequence[Step] | Responder"


def as_answer(reply: Reply) -> Answer | Fault:
    """A whole answer of whatever short form a script has for it."""
    if isinstance(reply, Answer | Fault):
        return reply
    if isinstance(reply, str):
        return Answer([Text(reply)])
    parts = [reply] if isinstance(reply, Text | Thinking | Tool) else reply
    if isinstance(parts, Sequence) and all(isinstance(part, Text | Thinking | Tool) for part in parts):
        return Answer(list(parts))
    raise InputError(f"{reply!r} is no step: give a string, Text, Thinking, Tool, a list of these, Answer or Fault")
