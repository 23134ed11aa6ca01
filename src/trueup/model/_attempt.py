"""One try at asking: the vendor's library, a clock around it, and every way to fail told apart."""

from __future__ import annotations

import asyncio
import importlib
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind
from trueup.core.text import visible
from trueup.core.usage import Usage

from ._errors import Complaint, ModelError, advice, classify, quote, read_complaint, retry_after
from ._keys import VARIABLES, Secret
from ._target import Provider, Target
from ._wire import Arguments, Turn, Wire


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
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._unreadable(body, str(error))
        return turn if turn.complaint is None else self._complained(turn.complaint)

    async def _send(self, arguments: Arguments) -> bytes:
        library, client = await asyncio.to_thread(self._open)
        try:
            async with asyncio.timeout(self.timeout_secs), client:
                return await self.wire.send(client, arguments)
        except library.APIStatusError as error:
            problem = self._rejected(error)
        except (TimeoutError, library.APITimeoutError):
            problem = self.error(Kind.TIMEOUT, f"did not answer within {self.timeout_secs:g} s")
        except library.APIConnectionError as error:
            problem = self.error(Kind.NETWORK, f"could not be reached, or broke off ({_reason(error)})")
        # Outside of the handlers: the library's error knows the request, and the request knows the key.
        raise problem

    def _open(self) -> tuple[Any, Any]:
        # In a thread: the libraries take a second to import, and TLS reads every certificate of the system.
        library = importlib.import_module(self.wire.library)
        make = library.AsyncAnthropic if self.wire.library == "anthropic" else library.AsyncOpenAI
        # The library would tell any server which organization of OpenAI's the user belongs to.
        untold = dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), library.Omit())
        client = make(
            api_key=self.key.reveal(),
            base_url=self.target.base_url,
            max_retries=0,
            timeout=self.timeout_secs,
            default_headers=untold if self.target.provider is Provider.OPENAI_COMPATIBLE else None,
            http_client=library.DefaultAsyncHttpxClient(verify=_certificates()),
        )
        return library, client

    def _rejected(self, error: Any) -> ModelError:
        body: bytes = error.response.content
        complaint = read_complaint(body) or Complaint(quote(body))
        said = f"{error.status_code}: {quote(complaint.message)}"
        if error.request_id:
            said += f", request {error.request_id}"
        return self.error(
            classify(error.status_code, complaint),
            f"answered with an error ({said})",
            status=error.status_code,
            retry_after_secs=retry_after(error.response.headers),
        )

    def _complained(self, complaint: Complaint) -> ModelError:
        return self.error(classify(None, complaint), f"answered with an error ({quote(complaint.message)})")

    def _unreadable(self, body: bytes, reason: str) -> ModelError:
        complaint = read_complaint(body)
        if complaint is not None:
            return self._complained(complaint)
        return self.error(Kind.PROTOCOL, f"sent an answer that cannot be read ({reason}): {quote(body)}")

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


@cache
def _certificates() -> Any:
    return importlib.import_module("httpx2").create_ssl_context()


def _reason(error: BaseException) -> str:
    """The innermost cause that says anything: the library's own words are only that there was an error."""
    reason = str(error)
    cause = error.__cause__ or error.__context__
    while cause is not None:
        reason = str(cause) or type(cause).__name__
        cause = cause.__cause__ or cause.__context__
    return reason
