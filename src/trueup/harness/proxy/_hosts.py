"""Which hosts may be reached through the proxy, and at which addresses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Self

from msgspec import Struct

from trueup.core.errors import InputError

from ._refusal import Refusal

Address = IPv4Address | IPv6Address

# Where clouds hand out credentials to whoever asks from inside.
METADATA = frozenset(map(ip_address, ("169.254.169.254", "100.100.100.200", "fd00:ec2::254")))
NAT64 = IPv6Network("64:ff9b::/96")


class Allowed(Struct, frozen=True):
    """A host that may be reached. `*.example.org` is every host below it, and not that one itself.

    Only with `private` may it be an address of this machine or of its own network.
    """

    host: str
    ports: tuple[int, ...] = (443, 80)
    private: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `HOST` or `HOST:PORT`, as people write it."""
        host, _, port = text.strip().lower().partition(":")
        if not host.strip("*.") or "/" in text or (port and not port.isdecimal()):
            raise InputError(f"{text!r} names no host: write it as `pypi.org`, `*.pypi.org` or `pypi.org:8443`")
        return cls(host, (int(port),)) if port else cls(host)

    def covers(self, host: str, port: int) -> bool:
        mine = self.host.lower()
        named = host.endswith(mine[1:]) if mine.startswith("*.") else host == mine
        return named and port in self.ports

    def permits(self, address: Address) -> bool:
        """Whether the host may turn out to be at this address."""
        inner = _innermost(address)
        if inner in METADATA or inner.is_link_local or inner.is_multicast or inner.is_unspecified:
            return False
        return self.private or inner.is_global


async def addresses_of(host: str, port: int, allowed: Sequence[Allowed]) -> list[str]:
    """Where to connect for a host. The addresses themselves were checked: whoever answers names gets no say in it."""
    host = host.lower().rstrip(".")
    rule = next((each for each in allowed if each.covers(host, port)), None)
    if rule is None:
        open_to = ", ".join(sorted({each.host for each in allowed})) or "no host"
        raise Refusal(403, "host_not_allowed", f"{host}:{port} is not on the list of allowed hosts ({open_to})")
    found = await _resolve(host, port)
    good = [str(each) for each in found if rule.permits(each)]
    if not good:
        raise Refusal(
            403,
            "address_not_allowed",
            f"{host} is at {', '.join(map(str, found))}, an address of this machine or its own network",
        )
    return good


async def _resolve(host: str, port: int) -> list[Address]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        raise Refusal(502, "host_not_found", f"{host} could not be looked up: {error}", final=False) from None
    return list(dict.fromkeys(ip_address(str(place[0]).partition("%")[0]) for *_, place in found))


def _innermost(address: Address) -> Address:
    """The address that packets end up at: IPv6 has several ways to write an IPv4 one."""
    if isinstance(address, IPv4Address):
        return address
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)
