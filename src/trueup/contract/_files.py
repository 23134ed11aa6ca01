"""Contracts in files: JSON or YAML, alone or as the `contract` of a `trueup.yaml`."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from trueup.core.documents import Document
from trueup.core.errors import InputError

from ._model import Contract


def load_contract(path: Path) -> Contract:
    """Read a contract that a person wrote. Unknown keys and wrong types are refused with their place."""
    return _decode(Document.read(path))


def parse_contract(raw: bytes, source: str) -> Contract:
    """As `load_contract`, from bytes of unknown format."""
    return _decode(Document.parse(raw, source=source, is_json=raw.lstrip().startswith(b"{")))


def dump_contract(contract: Contract, *, as_json: bool) -> str:
    """A contract as the text of a file."""
    data = contract.as_data()
    if as_json:
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def _decode(document: Document) -> Contract:
    inner = document.part("contract") or document
    if not isinstance(inner.data, dict):
        raise InputError(f"{inner.locate(())}: a contract is a mapping with 'description' and 'checks'")
    return inner.decode(Contract)
