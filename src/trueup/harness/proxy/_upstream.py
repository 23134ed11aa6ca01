"""The vendors behind the proxy: where they are, whose credentials they get, and what may be asked of them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from typing import Self

from msgspec import Struct
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from trueup.core.errors import InputError

from ._refusal import Refusal
from ._veil import Veil
from ._wires import AnthropicReading, ChatReading, GeminiReading, Reading, ResponsesReading

# Every header in which a client of some vendor sends credentials.
CREDENTIALS = ("Authorization", "x-api-key", "api-key", "x-goog-api-key", "Cookie")
HOP_BY_HOP = frozenset({
    "connection", "expect", "host", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
# What a vendor says about its own host would be taken for a word about this one.
OF_THE_HOST = frozenset({"alt-svc", "strict-transport-security"})
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_ABOVE = re.compile(r"(^|/)(\.|%2e){1,2}(/|$|\?)", re.IGNORECASE)


class Endpoint(Struct, frozen=True):
    """A kind of call. Its answer is read by `reading`; None where it uses nothing."""

    methods: tuple[str, ...]
    path: re.Pattern[str]
    reading: Callable[[], Reading] | None = None


# The whole of what follows the base URL: an end alone could stand behind anything else.
_VERSION = r"(?:/v\d\w*)?"
_MODEL = rf"{_VERSION}/models/[\w.@-]+"
# What may be asked: calls that can be metered, and calls that are free. Batches, files and the rest are neither.
ENDPOINTS = (
    Endpoint(("POST",), re.compile(rf"{_VERSION}/messages"), AnthropicReading),
    Endpoint(("POST",), re.compile(rf"{_VERSION}/(chat/completions|completions|embeddings)"), ChatReading),
    Endpoint(("POST",), re.compile(rf"{_VERSION}/responses(/compact)?"), ResponsesReading),
    Endpoint(("POST",), re.compile(rf"{_MODEL}:(generateContent|streamGenerateContent)"), GeminiReading),
    Endpoint(
        ("POST",), re.compile(rf"{_VERSION}(/messages/count_tokens|/responses/input_tokens)|{_MODEL}:countTokens")
    ),
    Endpoint(("GET", "HEAD"), re.compile(rf"{_VERSION}/models(/[^/:]+)?")),
)


class Upstream(Struct, frozen=True, kw_only=True):
    """A vendor's API, served below `/NAME/`. `base_url` is what the vendor's own library would be given.

    With a `key`, the agent shows the proxy's own key and never sees this one. Without, the agent's own credentials
    pass through untouched: subscriptions. `headers` are added to every request. `variables` are the names by which
    agents are told the base URL and the key.
    """

    name: str
    base_url: str
    key: str | None = None
    key_header: str = "Authorization"
    headers: Mapping[str, str] = {}
    variables: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputError(f"an upstream cannot be called {self.name!r}: use small letters, digits, - and _")
        if not _is_http(self.base_url):
            raise InputError(f"upstream {self.name}: {_without_login(self.base_url)!r} is no http(s) URL")

    def __repr__(self) -> str:
        key = "passthrough" if self.key is None else "key=[redacted]"
        return f"Upstream({self.name!r}, {_without_login(self.base_url)!r}, {key})"

    @classmethod
    def anthropic(cls, key: str | None = None, base_url: str = "https://api.anthropic.com") -> Self:
        variables = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
        return cls(name="anthropic", base_url=base_url, key=key, key_header="x-api-key", variables=variables)

    @classmethod
    def openai(cls, key: str | None = None, base_url: str = "https://api.openai.com/v1") -> Self:
        return cls(name="openai", base_url=base_url, key=key, variables=("OPENAI_BASE_URL", "OPENAI_API_KEY"))

    @classmethod
    def gemini(cls, key: str | None = None, base_url: str = "https://generativelanguage.googleapis.com") -> Self:
        variables = ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY")
        return cls(name="gemini", base_url=base_url, key=key, key_header="x-goog-api-key", variables=variables)

    @property
    def passes_through(self) -> bool:
        """Whether the agent's own credentials are used."""
        return self.key is None

    def url_at(self, origin: str) -> str:
        """What an agent is given in place of `base_url`, where the proxy is at `origin`."""
        return f"{origin}/{self.name}{URL(self.base_url).raw_path.rstrip('/')}"

    def endpoint(self, method: str, path: str) -> Endpoint | None:
        """What kind of call this is; None for another look at something, for which only the agent's own login is good."""
        # What follows a # is not sent, so that the path would be another one than was looked at.
        if "#" in path or _ABOVE.search(path):
            raise Refusal(400, "bad_path", f"{path!r} leads out of where it is")
        under = URL(self.base_url).raw_path.rstrip("/")
        plain = path.partition("?")[0]
        for each in ENDPOINTS if plain.startswith(f"{under}/") else ():
            if method in each.methods and each.path.fullmatch(plain, len(under)):
                return each
        if self.passes_through and method in {"GET", "HEAD"}:
            return None
        raise Refusal(
            403,
            "endpoint_not_allowed",
            f"{method} {plain} of {self.name} cannot be metered, so it is not open to agents",
        )

    def target(self, path: str) -> URL:
        """Where a request goes whose path was `/NAME` + `path`."""
        origin = URL(self.base_url).origin()
        return URL(f"{origin}{self._without_key(path)}", encoded=True)

    def request_headers(self, theirs: CIMultiDictProxy[str]) -> CIMultiDict[str]:
        """The headers of a request as the vendor gets them."""
        headers = end_to_end(theirs)
        if self.key is not None:
            for name in CREDENTIALS:
                headers.popall(name, None)
            bearer = "Bearer " if self.key_header == "Authorization" else ""
            headers[self.key_header] = f"{bearer}{self.key}"
        headers.update(self.headers)
        # A packed answer could not be metered while it flows.
        headers["Accept-Encoding"] = "identity"
        return headers

    def response_headers(self, theirs: CIMultiDictProxy[str]) -> CIMultiDict[str]:
        """The headers of an answer as the agent gets them."""
        headers = end_to_end(theirs)
        for name in OF_THE_HOST:
            headers.popall(name, None)
        if self.key is not None:
            headers.popall("Set-Cookie", None)
            veil = Veil(self.key)
            headers = CIMultiDict((name, veil.text(value)) for name, value in headers.items())
        return headers

    def refuse_strangers(self, headers: CIMultiDictProxy[str], query: Mapping[str, str], own_key: str) -> None:
        """Let only those use the real key who show the one that was made for them."""
        if self.passes_through:
            return
        shown = shown_keys(headers, query)
        if not any(hmac.compare_digest(key.encode(errors="replace"), own_key.encode()) for key in shown):
            raise Refusal(401, "wrong_key", "this is not the key that was made for this run")

    def _without_key(self, path: str) -> str:
        if self.passes_through or "key=" not in path:
            return path
        plain, _, query = path.partition("?")
        kept = [part for part in query.split("&") if not part.startswith("key=")]
        return f"{plain}?{'&'.join(kept)}" if kept else plain


def shown_keys(headers: CIMultiDictProxy[str], query: Mapping[str, str]) -> list[str]:
    """The credentials that a request carries, wherever a vendor's client may have put them."""
    shown = [headers[name] for name in CREDENTIALS if name in headers]
    shown = [re.sub(r"^(?i:bearer|basic) +", "", value) for value in shown]
    return [*shown, query["key"]] if "key" in query else shown


def end_to_end(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """Headers without those that were meant for the next hop only."""
    named = {name.strip().lower() for value in headers.getall("Connection", ()) for name in value.split(",")}
    dropped = HOP_BY_HOP | named
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in dropped)


def _is_http(text: str) -> bool:
    try:
        url = URL(text)
    except ValueError:
        return False
    return url.scheme in {"http", "https"} and bool(url.host)


def _without_login(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)
