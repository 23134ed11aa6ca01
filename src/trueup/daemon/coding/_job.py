"""What a worker is told to do, and what it tells meanwhile: one JSON object a line, in and out."""

from __future__ import annotations

from msgspec import Struct

from trueup.coder import Answer, CodeRequest, State


class Start(Struct, frozen=True, tag=True):
    """Begin a session."""

    request: CodeRequest


class GoOn(Struct, frozen=True, tag=True):
    """Go on with a session, having these answers to what it asks."""

    session_id: str
    answers: list[Answer] = []


class Respond(Struct, frozen=True, tag=True):
    """Say something to a session, and go on with it where nobody else does."""

    session_id: str
    words: str


Job = Start | GoOn | Respond


class Reached(Struct, frozen=True, tag=True):
    """The session that is worked on, and the state that it is in."""

    session_id: str
    state: State


class GaveUp(Struct, frozen=True, tag=True):
    """It cannot be done."""

    message: str
    kind: str


Report = Reached | GaveUp
