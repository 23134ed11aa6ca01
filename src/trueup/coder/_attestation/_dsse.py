"""DSSE, the envelope: what was signed, as what, and by whom (https://github.com/secure-systems-lab/dsse, version 1)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from trueup.core.errors import Kind, TrueupError

from ._keys import PublicKey, SigningKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"


class DoesNotHoldError(TrueupError):
    """An attestation that shows nothing, and why."""

    kind = Kind.REFUSED


class Signature(Struct, frozen=True):
    """A signature, and a hint at the key, which nothing vouches for."""

    sig: str
    keyid: str | None = None


class Envelope(Struct, frozen=True, rename="camel"):
    """The envelope as it is written."""

    payload: str
    payload_type: str
    signatures: list[Signature]


class Opened(Struct, frozen=True):
    """What a known key really signed, and which."""

    payload: bytes
    key_id: str


def sign(statement: dict[str, Any], key: SigningKey) -> bytes:
    """A statement in an envelope, as one line of JSON."""
    return seal(PAYLOAD_TYPE, msgspec.json.encode(statement, order="deterministic"), key)


def seal(payload_type: str, payload: bytes, key: SigningKey) -> bytes:
    """Any content in an envelope."""
    signature = Signature(_encoded(key.sign(pae(payload_type, payload))), key.public.id)
    return msgspec.json.encode(Envelope(_encoded(payload), payload_type, [signature]))


def pae(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed: the type with the content, so that one cannot be taken for another."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def parse_envelope(line: bytes) -> Envelope | None:
    """The envelope that a line holds, if it holds one."""
    try:
        return msgspec.json.decode(line, type=Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def open_envelope(envelope: Envelope, keys: Sequence[PublicKey]) -> Opened:
    """The content, if a known key signed it and no signature in the name of one is false.

    By DSSE one good signature would do. Nobody honest writes a bad one beside it, so that is a sign of tampering.
    """
    payload = _decoded(envelope.payload)
    message = pae(envelope.payload_type, payload)
    if not envelope.signatures:
        raise DoesNotHoldError("it bears no signature, so it shows nothing")
    signers = [_signer(signature, message, keys) for signature in envelope.signatures]
    known = next((signer for signer in signers if signer is not None), None)
    if known is None:
        raise DoesNotHoldError(f"signed by an unknown key {_named(envelope.signatures)}, so it shows nothing")
    if envelope.payload_type != PAYLOAD_TYPE:
        raise DoesNotHoldError(f"what is signed is {envelope.payload_type!r} and not {PAYLOAD_TYPE!r}")
    return Opened(payload, known.id)


def read_payload(envelope: Envelope) -> bytes:
    """The content, whoever signed it or did not."""
    return _decoded(envelope.payload)


def _signer(signature: Signature, message: bytes, keys: Sequence[PublicKey]) -> PublicKey | None:
    """The known key that made a signature, or None where it is in the name of an unknown one."""
    raw = _decoded(signature.sig)
    for key in keys:
        if key.signed(message, raw):
            return key
    if not signature.keyid:
        raise DoesNotHoldError("a signature names no key, and no key that is known made it, so it shows nothing")
    if any(key.id == signature.keyid for key in keys):
        raise DoesNotHoldError(f"the signature by key {signature.keyid} is not valid: something was altered")
    return None


def _named(signatures: list[Signature]) -> str:
    return ", ".join(str(signature.keyid) for signature in signatures)


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise DoesNotHoldError("it was altered: its content or a signature is no base64") from None
