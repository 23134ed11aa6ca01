"""One try at asking: the vendor's library, a clock around it, and every way to fail told apart."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.text import visible
from trueup.core.usage import Usage

from ._client import EndlessError, open_client
from ._errors import Complaint, ModelError, advice, classify, quote, read_complaint, retry_after
from ._keys import VARIABLES, Secret
from ._target import Target
from ._wire import Arguments, Turn, Wire

# Many times as long as a quote and a key.
_REDACTED = 1 << 14
_LONGEST_ID = 100


class Attempt(Struct, frozen=True, kw_only=True):
    """Who is asked, over which wire, with which key, for how long."""

    target: Target
    wire: Wire
    key: Secret
    key_variable: str | None
    timeout_secs: float

    async def ask(self, arguments: Arguments) -> Turn:
        """Ask once. The connection is closed when this returns, also by time-out and cancellation."""
        outcome = self._read(await self._send(arguments))
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def _read(self, body: bytes) -> Turn | ModelError:
        # Returned and not raised: a traceback with local variables would show what the server sent, unredacted.
        try:
            turn = self.wire.read(body, self.target)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return self._unreadable(body, str(error))
        return turn if turn.complaint is None else self._complained(turn.complaint)

    async def _send(self, arguments: Arguments) -> bytes:
        library, client = await asyncio.to_thread(
            open_client, self.wire.library, self.target, self.key, self.timeout_secs
        )
        try:
            async with asyncio.timeout(self.timeout_secs), client:
                return await self.wire.send(client, arguments)
        except library.APIStatusError as error:
            problem = self._rejected(error)
        except (TimeoutError, library.APITimeoutError):
            problem = self.error(Kind.TIMEOUT, f"did not answer within {self.timeout_secs:g} s")
        except (library.APIConnectionError, EndlessError) as error:
            problem = self._broken(error)
        # Outside of the handlers: the library's error knows the request, and the request knows the key.
        raise problem

    def _broken(self, error: Exception) -> ModelError:
        cause = _innermost(error)
        if isinstance(cause, EndlessError):
            return self.error(Kind.PROTOCOL, f"sent an answer that is too long ({cause})")
        return self.error(Kind.NETWORK, f"could not be reached, or broke off ({str(cause) or type(cause).__name__})")

    def _rejected(self, error: Any) -> ModelError:
        status, headers = error.status_code, error.response.headers
        if error.response.has_redirect_location:
            where = self.quote(headers["location"])
            return self.error(
                Kind.PROTOCOL, f"is elsewhere ({status}: {where}), and is not followed there", status=status
            )
        body: bytes = error.response.content
        complaint = read_complaint(body) or Complaint(self.quote(body))
        said = f"{status}: {self.quote(complaint.message)}"
        if error.request_id:
            said += f", request {error.request_id[:_LONGEST_ID]}"
        wait = retry_after(headers)
        asks = "" if wait is None else f"; it asks to wait for {wait:g} s"
        return self.error(
            classify(status, complaint), f"answered with an error ({said}){asks}", status=status, retry_after_secs=wait
        )

    def _complained(self, complaint: Complaint) -> ModelError:
        return self.error(classify(None, complaint), f"answered with an error ({self.quote(complaint.message)})")

    def _unreadable(self, body: bytes, reason: str) -> ModelError:
        complaint = read_complaint(body)
        if complaint is not None:
            return self._complained(complaint)
        return self.error(Kind.PROTOCOL, f"sent an answer that cannot be read ({reason}): {self.quote(body)}")

    def quote(self, said: bytes | str) -> str:
        """The beginning of what a server sent, on one line, without the key: also where only a part of it would be left."""
        beginning = said[:_REDACTED]
        text = beginning.decode("utf-8", "replace") if isinstance(beginning, bytes) else beginning
        return quote(self.key.redact(text))

    def error(
        self,
        kind: Kind,
        what: str,
        *,
        status: int | None = None,
        retry_after_secs: float | None = None,
        usage: Usage | None = None,
    ) -> ModelError:
        """A failure as a sentence: who, what, and what to do; without a trace of the key."""
        context = {
            "variable": self.key_variable or VARIABLES.get(self.target.provider, "the key"),
            "timeout": self.timeout_secs,
        }
        sentence = f"{self.target.model} at {self.target.host} {what}; {advice(kind, context)}"
        return ModelError(
            visible(self.key.redact(sentence)),
            kind=kind,
            status=status,
            retry_after_secs=retry_after_secs,
            usage=usage,
        )


def _innermost(error: BaseException) -> BaseException:
    """The cause that says most: the library's own words are only that there was an error."""
    cause = error.__cause__ or error.__context__
    return error if cause is None else _innermost(cause)
