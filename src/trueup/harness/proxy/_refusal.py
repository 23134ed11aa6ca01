"""How the proxy says no: a status, and a body that every vendor's client can show."""

from __future__ import annotations

from http import HTTPStatus

import msgspec


class Refusal(Exception):  # noqa: N818 - it is an answer, and not a failure
    """A request that is not served, and why."""

    def __init__(self, status: int, kind: str, message: str, *, final: bool = True) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.final = final

    @property
    def headers(self) -> dict[str, str]:
        # The vendors' own libraries heed this; without it they would try again and again.
        retry = {"x-should-retry": "false"} if self.final else {}
        return {"Content-Type": "application/json", **retry}

    @property
    def body(self) -> bytes:
        """The shape that Anthropic, OpenAI and Gemini have in common."""
        error = {"type": self.kind, "code": self.kind, "status": self.kind, "message": f"trueup: {self.message}"}
        return msgspec.json.encode({"type": "error", "error": error})

    def encode(self) -> bytes:
        """The whole answer, for a connection that nothing else serves."""
        body = self.body
        headers = {**self.headers, "Content-Length": str(len(body)), "Connection": "close"}
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body
