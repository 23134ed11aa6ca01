"""JSON-RPC 2.0 without a transport: what a frame says, and how answers are written.

Parameters and results stay as they came until somebody knows what they should be: they are decoded once, straight into
their type.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from trueup.runs import encode_json

from ._errors import Code, RpcError

Id = str | int | float | None

MOST_IN_A_BATCH = 1000


class Request(Struct, frozen=True):
    """Somebody asks for a method; without an id it is a notification, and is never answered."""

    id: Id | UnsetType
    method: str
    params: Any = UNSET


class Answer(Struct, frozen=True):
    """Somebody answers what they were asked."""

    id: Id
    result: Any = UNSET
    error: Any = UNSET


class Fault(Struct, frozen=True):
    """Something that can only be answered by an error."""

    id: Id
    error: RpcError


Message = Request | Answer | Fault


class Batch(Struct, frozen=True):
    """Several messages in one frame, answered in one."""

    messages: Sequence[Message]


class _Envelope(Struct):
    """All that a message can have."""

    jsonrpc: Any = UNSET
    id: Any = UNSET
    method: Any = UNSET
    params: Any = UNSET
    result: Any = UNSET
    error: Any = UNSET


class _RawEnvelope(_Envelope):
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_DECODER: msgspec.json.Decoder[_RawEnvelope | list[Raw]] = msgspec.json.Decoder(_RawEnvelope | list[Raw])


def parse(frame: bytes | str) -> Message | Batch:
    """What a frame says, whatever it holds."""
    try:
        opened = _open(frame)
    except RpcError as error:
        return Fault(None, error)
    if isinstance(opened, _Envelope):
        return _read(opened)
    if not opened:
        return Fault(None, RpcError(Code.INVALID_REQUEST, "not JSON-RPC: an empty batch"))
    if len(opened) > MOST_IN_A_BATCH:
        said = f"a batch of {len(opened):,} messages; send at most {MOST_IN_A_BATCH:,} at once"
        return Fault(None, RpcError(Code.INVALID_REQUEST, said))
    return Batch([_parse_part(part) for part in opened])


def _open(frame: bytes | str) -> _Envelope | Sequence[Any]:
    try:
        content = frame.encode() if isinstance(frame, str) else frame
        # Parts that nobody decodes would not be looked at otherwise.
        str(content, "utf-8")
        return _decode(content)
    except UnicodeError as error:
        raise RpcError(Code.PARSE, f"not JSON: the frame is not UTF-8: {error}") from None
    except RecursionError:
        raise RpcError(Code.PARSE, "nested too deeply to be read; send something flatter") from None
    except msgspec.ValidationError as error:
        raise RpcError(Code.INVALID_REQUEST, f"not JSON-RPC: {error}") from None
    except ValueError as error:
        raise RpcError(Code.PARSE, f"not JSON: {error}") from None


def _decode(content: bytes) -> _Envelope | Sequence[Any]:
    try:
        return _DECODER.decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        if rb"\u" not in content:
            raise ValueError(str(error)) from None
        # Half of a surrogate pair, the name of a file say, is JSON that only the standard library reads.
        value = json.loads(content, parse_constant=_refuse)
        return value if isinstance(value, list) else _enveloped(value)


def _enveloped(value: Any) -> _Envelope:
    if not isinstance(value, dict):
        raise RpcError(Code.INVALID_REQUEST, "not JSON-RPC: a message is an object")
    return _Envelope(**{name: value[name] for name in _Envelope.__struct_fields__ if name in value})


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number there")


def _parse_part(part: Any) -> Message:
    if isinstance(part, Raw):
        message = parse(bytes(part))
        if isinstance(message, Batch):
            return Fault(None, RpcError(Code.INVALID_REQUEST, "not JSON-RPC: a batch inside of a batch"))
        return message
    try:
        return _read(_enveloped(part))
    except RpcError as error:
        return Fault(None, error)


def _read(envelope: _Envelope) -> Message:
    has_id = _can_be_id(envelope.id)
    problem = _problem(envelope)
    if problem is not None:
        return Fault(envelope.id if has_id else None, RpcError(Code.INVALID_REQUEST, f"not JSON-RPC: {problem}"))
    if envelope.method is UNSET:
        return Answer(envelope.id if has_id else None, envelope.result, envelope.error)
    return Request(envelope.id, envelope.method, envelope.params)


def _problem(envelope: _Envelope) -> str | None:
    """Why this is no message; None where it is one."""
    if envelope.jsonrpc != "2.0":
        return 'it must say "jsonrpc": "2.0"'
    if envelope.id is not UNSET and not _can_be_id(envelope.id):
        return "an id is a string, a number or null"
    if envelope.method is UNSET:
        answers = envelope.result is not UNSET or envelope.error is not UNSET
        return None if answers else "it has neither a method nor a result"
    return None if isinstance(envelope.method, str) else "the method must be a string"


def _can_be_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def value_of(part: Any) -> Any:
    """A result or an error as plain data; a `ValueError` where it holds none."""
    if not isinstance(part, Raw):
        return part
    try:
        return msgspec.json.decode(part)
    except RecursionError:
        raise ValueError("nested too deeply") from None


class _Result(Struct, frozen=True):
    jsonrpc: str
    id: Id
    result: Any


class _Call(Struct, frozen=True):
    jsonrpc: str
    id: Id
    method: str
    params: Any


class _Notification(Struct, frozen=True):
    jsonrpc: str
    method: str
    params: Any


class _ErrorBody(Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Any = None


class _Error(Struct, frozen=True):
    jsonrpc: str
    id: Id
    error: _ErrorBody


_ENCODER = msgspec.json.Encoder()


def _encode(value: Any) -> bytes:
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return encode_json(value)


def encode_result(request_id: Id, result: Any) -> bytes:
    """The answer to a request that was met."""
    return _encode(_Result("2.0", request_id, result))


def encode_error(request_id: Id, error: RpcError) -> bytes:
    """The answer to a request that was not."""
    return _encode(_Error("2.0", request_id, _ErrorBody(int(error.code), str(error), error.data)))


def encode_request(request_id: Id, method: str, params: Any) -> bytes:
    """Something to ask the client."""
    return _encode(_Call("2.0", request_id, method, params))


def encode_notification(method: str, params: Any) -> bytes:
    """Something to tell the client."""
    return _encode(_Notification("2.0", method, params))


def encode_batch(answers: Sequence[bytes]) -> bytes:
    """The answers to a batch, in one frame."""
    return b"[" + b",".join(answers) + b"]"
