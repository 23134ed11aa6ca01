"""Who may see the pages: whoever opened the link that only the user was shown."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

from aiohttp import web

from ._templates import template

COOKIE_DAYS = 30
MOST_LINKS = 100
_ANYBODY = "anybody"


class Door:
    """Lets people in by a link that works once, and knows them again by a cookie.

    The cookie is signed with the human's token, so that it outlives the daemon and not the token. Without a token
    everybody of this machine is in, and forms still need theirs, which a page of elsewhere cannot read.

    A browser sends the cookies of a host to every port of it, and some port may be an agent's. So the link leads to a
    `name` of this machine that nobody else knows: browsers find it here, and its cookie goes to no other server.
    """

    def __init__(self, human_token: str | None) -> None:
        self._open = human_token is None
        self._key = hashlib.sha256(b"pages:" + (human_token or secrets.token_hex(32)).encode()).digest()
        self._links: dict[str, None] = {}
        self.name = f"trueup-{self._mac('name')[:24]}.localhost"

    def link(self, host: str, port: int) -> str:
        """An address that lets in whoever opens it first; the host will do where nobody needs a cookie."""
        if self._open:
            return f"http://{host}:{port}/runs"
        code = secrets.token_urlsafe(24)
        self._links[code] = None
        if len(self._links) > MOST_LINKS:
            del self._links[next(iter(self._links))]
        return f"http://{self.name}:{port}/enter?code={code}"

    async def enter(self, request: web.Request) -> web.Response:
        """Take a link's code, and give a cookie for it. Who is in already comes in again by a link that was used."""
        is_in, code = self.is_in(request), request.query.get("code", "")
        if code not in self._links and not is_in:
            raise web.HTTPForbidden
        self._links.pop(code, None)
        answer = _go_on(request)
        # The cookie that somebody has stays: the forms of open pages are made for it.
        if not is_in:
            answer.set_cookie(
                _cookie_name(request),
                self._signed(f"{int(time.time()) + COOKIE_DAYS * 86_400}.{secrets.token_urlsafe(12)}"),
                max_age=COOKIE_DAYS * 86_400,
                httponly=True,
                samesite="Strict",
            )
        return answer

    def is_in(self, request: web.Request) -> bool:
        """Whether whoever asks came through the door, and was not sent by a page of elsewhere."""
        return not is_sent_from_elsewhere(request) and (self._open or self._cookie(request) is not None)

    def form_token(self, request: web.Request) -> str:
        """What a form of a page must bring back, for this visitor alone."""
        return self._mac(f"form:{_ANYBODY if self._open else self._cookie(request)}")

    def is_form_token(self, request: web.Request, shown: str) -> bool:
        """Whether a form was on a page that this visitor got here."""
        return hmac.compare_digest(shown.encode(errors="replace"), self.form_token(request).encode())

    def _cookie(self, request: web.Request) -> str | None:
        """The cookie that was given here; a server at another port can have put more of the same name beside it."""
        pairs = (each.strip().partition("=") for each in request.headers.get("Cookie", "").split(";"))
        name = _cookie_name(request)
        return next((value for key, _, value in pairs if key == name and self._is_signed(value)), None)

    def _signed(self, text: str) -> str:
        return f"{text}.{self._mac(text)}"

    def _is_signed(self, cookie: str) -> bool:
        text, _, mac = cookie.rpartition(".")
        expires = text.partition(".")[0]
        same = hmac.compare_digest(mac.encode(errors="replace"), self._mac(text).encode())
        return same and expires.isdecimal() and int(expires) > time.time()

    def _mac(self, text: str) -> str:
        return hmac.new(self._key, text.encode(errors="replace"), hashlib.sha256).hexdigest()


def is_sent_from_elsewhere(request: web.Request) -> bool:
    """Whether a page of another origin had the browser ask. It could have a key pressed here that was meant for it."""
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def _go_on(request: web.Request) -> web.Response:
    """To the pages. After a link on a page of elsewhere, no cookie would follow a redirection, but it does a page of ours."""
    if is_sent_from_elsewhere(request):
        text = template("entered.html").render()
        return web.Response(text=text, content_type="text/html", headers={"Refresh": "0; url=/runs"})
    return web.Response(status=303, headers={"Location": "/runs"})


def _cookie_name(request: web.Request) -> str:
    """A name of its own for each port: cookies are of a host, and two daemons must not push out each other's."""
    host = request.headers.get("Host", "")
    port = host.rpartition(":")[2]
    return f"trueup-{port}" if port.isdecimal() else "trueup"
