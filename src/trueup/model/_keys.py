"""API keys: found in the environment or a keyring, and never shown."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Mapping

from trueup.core.errors import Kind

from ._errors import ModelError
from ._target import Provider, variable_of

VARIABLES = {Provider.ANTHROPIC: "ANTHROPIC_API_KEY", Provider.OPENAI: "OPENAI_API_KEY"}

# A server that never heard of keys still gets a header, since the library insists on one.
NO_KEY = "no-key-needed"

_KEYRING_SERVICE = "trueup"
_HIDDEN = "[redacted]"
_SHORTEST = 6

# What keys of the known vendors look like, also where a vendor quotes one back with stars in the middle.
_KEY_SHAPES = re.compile(r"\b(?:sk|rk)-[\w*.-]{6,}")


class Secret:
    """A text that is never shown: every way to print it gives a placeholder."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself, for the one place that sends it."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    @property
    def can_be_sent(self) -> bool:
        """Whether it is a single word of characters that a header takes."""
        return self._value.isascii() and self._value.isprintable() and " " not in self._value

    def redact(self, text: str) -> str:
        """The text without this secret, and without anything that looks like a key."""
        # A key that is this short is a dummy, and may be part of any word.
        if len(self._value) >= _SHORTEST and self._value != NO_KEY:
            text = text.replace(self._value, _HIDDEN)
        return _KEY_SHAPES.sub(_HIDDEN, text)

    def __repr__(self) -> str:
        return f"Secret({_HIDDEN})"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret cannot be pickled")


async def find_key(provider: Provider, variable: str | None = None, environ: Mapping[str, str] | None = None) -> Secret:
    """The key for a provider, from its variable or the keyring; an error that names the variable where there is none."""
    name = variable or VARIABLES.get(provider)
    if name is None:
        # Never OPENAI_API_KEY: that one is OpenAI's, and this server is not.
        return Secret(NO_KEY)
    key = Secret(variable_of(name, environ) or await asyncio.to_thread(_from_keyring, name))
    if not key:
        raise ModelError(
            f"there is no key for {provider}: set {name}, or store it with `keyring set {_KEYRING_SERVICE} {name}`",
            kind=Kind.AUTH,
        )
    return checked(key, name)


def checked(key: Secret, name: str) -> Secret:
    """The key, where it can be one. Checked here because the library would quote the whole of it in its complaint."""
    if not key.can_be_sent:
        raise ModelError(f"{name} holds characters that no key has; copy the key again", kind=Kind.AUTH)
    return key


def has_key(provider: Provider, environ: Mapping[str, str] | None = None) -> bool:
    """Whether the environment holds a key for a provider; a keyring is not asked, since that may ask the person."""
    name = VARIABLES.get(provider)
    return name is None or bool(variable_of(name, environ))


def _from_keyring(name: str) -> str:
    if importlib.util.find_spec("keyring") is None:
        return ""
    keyring = importlib.import_module("keyring")
    try:
        return (keyring.get_password(_KEYRING_SERVICE, name) or "").strip()
    except keyring.errors.KeyringError:
        # A locked or missing keyring is the same as no key; the error that follows names the variable.
        return ""
