"""Keys and passwords of the environment: agents and providers may need them, and nobody who reads a report does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

T = TypeVar("T")

_NAMED_SO = re.compile(r"(?:^|_|API|AUTH|ACCESS)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)S?$", re.IGNORECASE)
# What is shorter may be a word of any text.
_SHORTEST = 12


class Secrets:
    """What variables with the name of a secret hold, in order to put the name in its place."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        found = {value: name for name, value in environ.items() if _NAMED_SO.search(name) and len(value) >= _SHORTEST}
        # A secret may be a part of another one.
        self._names = dict(sorted(found.items(), key=lambda each: -len(each[0])))

    def __bool__(self) -> bool:
        return bool(self._names)

    def text(self, text: str) -> str:
        """A text without secrets."""
        for value, name in self._names.items():
            if value in text:
                text = text.replace(value, f"[{name}]")
        return text

    def hidden(self, value: T) -> T:
        """Anything of plain data and structs, without secrets in any of its texts."""
        if not self._names:
            return value
        found: T = self._hidden(value)
        return found

    def _hidden(self, value: Any) -> Any:
        match value:
            case str():
                # Not what is a text and more, such as a member of an enumeration.
                return self.text(value) if type(value) is str else value
            case dict():
                return {self._hidden(key): self._hidden(each) for key, each in value.items()}
            case list():
                return [self._hidden(each) for each in value]
            case tuple():
                return tuple(self._hidden(each) for each in value)
            case Struct():
                fields = value.__struct_fields__
                return replace(value, **{name: self._hidden(getattr(value, name)) for name in fields})
            case _:
                return value
