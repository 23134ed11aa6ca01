"""Keeping the real key from the agent where a vendor repeats what it was sent."""

from __future__ import annotations

COVER = b"*"


class Veil:
    """Covers a secret in bytes that flow by, one for one, so that no length changes.

    Only an end that may be the secret's beginning is held back until more has come.
    """

    def __init__(self, secret: str | None) -> None:
        self._secret = (secret or "").encode()
        self._held = b""

    def cover(self, chunk: bytes) -> bytes:
        """The next bytes, as they may be seen."""
        if not self._secret:
            return chunk
        seen = (self._held + chunk).replace(self._secret, COVER * len(self._secret))
        kept = self._beginning_at_the_end_of(seen)
        self._held = seen[len(seen) - kept :]
        return seen[: len(seen) - kept]

    def rest(self) -> bytes:
        """What was held back, now that nothing more comes."""
        held, self._held = self._held, b""
        return held

    def text(self, text: str) -> str:
        """A text as it may be seen."""
        secret = self._secret.decode()
        return text.replace(secret, COVER.decode() * len(secret)) if secret else text

    def _beginning_at_the_end_of(self, seen: bytes) -> int:
        """How much at the end may be the secret's beginning; looked for by its first byte, which most ends lack."""
        at = seen.find(self._secret[:1], max(0, len(seen) - len(self._secret) + 1))
        while at >= 0 and not self._secret.startswith(seen[at:]):
            at = seen.find(self._secret[:1], at + 1)
        return len(seen) - at if at >= 0 else 0
