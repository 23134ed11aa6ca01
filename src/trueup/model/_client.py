"""The client of a vendor's library, kept from what a server should not get it to do."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

from trueup.core.errors import InputError

from ._keys import Secret
from ._target import Provider, Target

MOST_BYTES = 32 << 20
# Nobody asks for compressed answers; these unfold to at most some dozens of megabytes.
MOST_COMPRESSED_BYTES = 64 << 10


class EndlessError(Exception):
    """An answer is longer than any can be."""


def open_client(name: str, target: Target, key: Secret, timeout_secs: float) -> tuple[Any, Any]:
    """A vendor's library and a client of it. Takes a second: the libraries are slow to import, and TLS reads certificates."""
    library = importlib.import_module(name)
    make = library.AsyncAnthropic if name == "anthropic" else library.AsyncOpenAI
    # The library would tell any server which organization of OpenAI's the user belongs to.
    untold = dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), library.Omit())
    try:
        client = make(
            api_key=key.reveal(),
            base_url=target.base_url,
            max_retries=0,
            timeout=timeout_secs,
            default_headers=untold if target.provider is Provider.OPENAI_COMPATIBLE else None,
            http_client=_http_client(library),
        )
    except importlib.import_module("httpx2").InvalidURL as error:
        problem = f"the base URL of {target.model!r} is none: {error}"
    except (OSError, ImportError, ValueError) as error:
        problem = f"no connection can be set up: {error}; check HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
    else:
        return library, client
    # Outside of the handlers: the library's error knows the key.
    raise InputError(problem)


def _http_client(library: Any) -> Any:
    return library.DefaultAsyncHttpxClient(
        verify=_certificates(),
        # What was asked is for this server alone, and a redirected POST may arrive without it.
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_bound]},
    )


@cache
def _certificates() -> Any:
    return importlib.import_module("httpx2").create_ssl_context()


async def _bound(response: Any) -> None:
    response.stream = _bounded_stream()(response.stream, compressed="content-encoding" in response.headers)


@cache
def _bounded_stream() -> type:
    base: Any = importlib.import_module("httpx2").AsyncByteStream

    class Bounded(base):  # type: ignore[misc]
        """What a server sends, until it is more than any answer has."""

        def __init__(self, stream: Any, *, compressed: bool) -> None:
            self._stream = stream
            self._most = MOST_COMPRESSED_BYTES if compressed else MOST_BYTES
            self._what = f"{MOST_COMPRESSED_BYTES >> 10} KiB, compressed" if compressed else f"{MOST_BYTES >> 20} MiB"

        async def __aiter__(self) -> AsyncIterator[bytes]:
            seen = 0
            async for piece in self._stream:
                seen += len(piece)
                if seen > self._most:
                    raise EndlessError(f"more than {self._what}")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    return Bounded
