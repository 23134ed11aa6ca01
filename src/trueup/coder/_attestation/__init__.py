"""Attestations: what was verified of a merged commit, signed, as a note beside it that others can check.

An in-toto Statement (`_statement`) in a DSSE envelope (`_dsse`) by an ed25519 key of the user's (`_keys`), one line of
the note on the commit. Where notes are kept, and that nobody's are lost, is the workspace's business.
"""

from ._attest import Attestation, attest_merge
from ._dsse import DoesNotHoldError, sign
from ._keys import PublicKey, SigningKey, find_own_key, key_file, own_key, read_public_key
from ._statement import ApprovedBy, EngineUsed, statement
from ._verify import Checked, Examined, verify_attestation

__all__ = [
    "ApprovedBy",
    "Attestation",
    "Checked",
    "DoesNotHoldError",
    "EngineUsed",
    "Examined",
    "PublicKey",
    "SigningKey",
    "attest_merge",
    "find_own_key",
    "key_file",
    "own_key",
    "read_public_key",
    "sign",
    "statement",
    "verify_attestation",
]
