"""Keys: the user's own, made at first use and kept from others, and those that other people gave them."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from trueup.core.errors import InfrastructureError, InputError
from trueup.core.trust import data_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_FILE = "attest.key"
MOST_BYTES = 1 << 16
READABLE_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class PublicKey:
    """What a signature is checked with."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = key
        self.pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        self.id = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Whether the holder of the private half signed exactly this."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """What is signed with; whoever can read its file can sign in the user's name."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key())

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


def key_file(folder: Path | None = None) -> Path:
    """Where the user's own key is."""
    return (folder or data_folder()) / KEY_FILE


def own_key(folder: Path | None = None) -> SigningKey:
    """The user's key, made at first use. Processes that make one at the same time all get the same."""
    file = key_file(folder)
    found = find_own_key(folder)
    if found is None:
        _make(file)
        found = find_own_key(folder)
    if found is None:
        raise InputError(f"{file}: leads nowhere; remove it, or put the key where it leads")
    return found


def find_own_key(folder: Path | None = None) -> SigningKey | None:
    """The user's key, if there is one yet."""
    file = key_file(folder)
    try:
        content = _read_private(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    return _parse_private(content, file)


def read_public_key(file: Path) -> PublicKey:
    """A public key that somebody gave the user: PEM, or a line as OpenSSH writes it."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    if b"PRIVATE KEY" in content:
        raise InputError(f"{file}: is a private key, which nobody but its owner should have; give the public one")
    return _parse_public(content, file)


def _make(file: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    content = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _put_once(file, content)
    except OSError as error:
        raise InfrastructureError(f"{file}: the key cannot be made: {error.strerror}") from None


def _put_once(file: Path, content: bytes) -> None:
    """Make the file appear with all of its content, unless one is there."""
    scratch = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            os.fchmod(descriptor, 0o600)
            opened.write(content)
            opened.flush()
            os.fsync(descriptor)
        # Unlike a rename, a link does not take the place of what another process put there meanwhile.
        with suppress(FileExistsError):
            file.hardlink_to(scratch)
    finally:
        scratch.unlink()


def _read_private(file: Path) -> bytes:
    # Without blocking: what stands there may be a pipe.
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{file}: is no regular file; move it away, and a key is made at next use")
        if status.st_uid not in {os.geteuid(), 0}:
            raise InputError(f"{file}: belongs to another user, who can sign in your name; move it away")
        if status.st_mode & READABLE_BY_OTHERS:
            raise InputError(
                f"{file}: others can read this key (mode {stat.S_IMODE(status.st_mode):04o}) and sign in your name; "
                f"run `chmod 600 {file}`, or remove it if somebody may have done so: a new one is made at next use"
            )
        if file.parent.stat().st_mode & WRITABLE_BY_OTHERS:
            raise InputError(f"{file.parent}: others can put a key of theirs here; run `chmod 700 {file.parent}`")
        return opened.read(MOST_BYTES)


def _parse_private(content: bytes, file: Path) -> SigningKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in content else load_pem_private_key
    try:
        key = load(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(
            f"{file}: holds no ed25519 private key without a passphrase; put yours back, or move the file away: "
            "a new key is made at next use"
        )
    return SigningKey(key)


def _parse_public(content: bytes, file: Path) -> PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key

    load = load_ssh_public_key if content.startswith(b"ssh-") else load_pem_public_key
    try:
        key = load(content)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{file}: holds no ed25519 public key; `trueup attest key` prints one")
    return PublicKey(key)
