"""Who may see the pages: whoever opened the link that only the user was shown."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

from aiohttp import web

COOKIE_DAYS = 30
MOST_LINKS = 100
_ANYBODY = "anybody"


class Door:
    """Lets people in by a link that works once, and knows them again by a cookie.

    The cookie is signed with the human's token, so that it outlives the daemon and not the token. Without a token
    everybody of this machine is in, and forms still need theirs, which a page of elsewhere cannot read.
    """

    def __init__(self, human_token: str | None) -> None:
        self._open = human_token is None
        self._key = hashlib.sha256(b"pages:" + (human_token or secrets.token_hex(32)).encode()).digest()
        self._links: dict[str, None] = {}

    def link(self, origin: str) -> str:
        """An address that lets in whoever opens it first."""
        if self._open:
            return f"{origin}/runs"
        code = secrets.token_urlsafe(24)
        self._links[code] = None
        if len(self._links) > MOST_LINKS:
            del self._links[next(iter(self._links))]
        return f"{origin}/enter?code={code}"

    async def enter(self, request: web.Request) -> web.Response:
        """Take a link's code, and give a cookie for it."""
        code = request.query.get("code", "")
        if code not in self._links:
            raise web.HTTPForbidden
        del self._links[code]
        answer = web.Response(status=303, headers={"Location": "/runs"})
        answer.set_cookie(
            _cookie_name(request),
            self._signed(f"{int(time.time()) + COOKIE_DAYS * 86_400}.{secrets.token_urlsafe(12)}"),
            max_age=COOKIE_DAYS * 86_400,
            httponly=True,
            samesite="Strict",
        )
        return answer

    def is_in(self, request: web.Request) -> bool:
        """Whether whoever asks came through the door."""
        return self._open or self._is_signed(request.cookies.get(_cookie_name(request), ""))

    def form_token(self, request: web.Request) -> str:
        """What a form of a page must bring back, for this visitor alone."""
        return self._mac(f"form:{_ANYBODY if self._open else request.cookies.get(_cookie_name(request), '')}")

    def is_form_token(self, request: web.Request, shown: str) -> bool:
        """Whether a form was on a page that this visitor got here."""
        return hmac.compare_digest(shown.encode(errors="replace"), self.form_token(request).encode())

    def _signed(self, text: str) -> str:
        return f"{text}.{self._mac(text)}"

    def _is_signed(self, cookie: str) -> bool:
        text, _, mac = cookie.rpartition(".")
        expires = text.partition(".")[0]
        same = hmac.compare_digest(mac.encode(errors="replace"), self._mac(text).encode())
        return same and expires.isdecimal() and int(expires) > time.time()

    def _mac(self, text: str) -> str:
        return hmac.new(self._key, text.encode(errors="replace"), hashlib.sha256).hexdigest()


def _cookie_name(request: web.Request) -> str:
    """A name of its own for each port: cookies are of a host, and two daemons must not push out each other's."""
    host = request.headers.get("Host", "")
    port = host.rpartition(":")[2]
    return f"trueup-{port}" if port.isdecimal() else "trueup"
