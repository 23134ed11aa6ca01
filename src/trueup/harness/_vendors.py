"""The vendors whose APIs agents call: where they are, and by which variables a key is found."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Vendor(Struct, frozen=True, kw_only=True):
    """A vendor. `login_hosts` are asked when a subscription's login is renewed or used."""

    name: str
    key_variable: str
    base_url_variable: str
    default_base_url: str
    login_hosts: tuple[str, ...]

    def key(self, environ: Mapping[str, str]) -> str | None:
        return environ.get(self.key_variable) or None

    def base_url(self, environ: Mapping[str, str]) -> str:
        return environ.get(self.base_url_variable) or self.default_base_url

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What a program needs to be told that calls the vendor by itself."""
        names = (self.key_variable, self.base_url_variable)
        return {name: environ[name] for name in names if environ.get(name)}


ANTHROPIC = Vendor(
    name="anthropic",
    key_variable="ANTHROPIC_API_KEY",
    base_url_variable="ANTHROPIC_BASE_URL",
    default_base_url="https://api.anthropic.com",
    login_hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"),
)
OPENAI = Vendor(
    name="openai",
    key_variable="OPENAI_API_KEY",
    base_url_variable="OPENAI_BASE_URL",
    default_base_url="https://api.openai.com/v1",
    login_hosts=("api.openai.com", "auth.openai.com", "chatgpt.com"),
)
