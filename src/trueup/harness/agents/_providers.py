"""Which vendor and which model an agent is to call, where a request says so."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from trueup.core.errors import InputError

from .._protocol import HarnessRequest
from .._vendors import Vendor
from ._base import reach_of


class Provider(Struct, frozen=True, kw_only=True):
    """A vendor that is called at an address, with a key, for a model. `at` is the address if it is not the usual one."""

    vendor: Vendor
    model: str
    key: str | None
    at: str | None

    @property
    def base_url(self) -> str:
        return self.at or self.vendor.default_base_url


def provider_of(harness: str, request: HarnessRequest, vendors: Sequence[Vendor]) -> Provider | None:
    """Whom a request leads an agent to; None where that is left to what the person has set the agent up for."""
    reach = reach_of(request.env, vendors)
    # A key alone, without a model for it, may be there for something else.
    if reach is None or (reach.base_url is None and request.model is None):
        return None
    if request.model is None:
        raise InputError(f"{harness} does not know which model there is at {reach.base_url}: name one with `--model`")
    return Provider(vendor=reach.vendor, model=request.model, key=reach.key, at=reach.base_url)
