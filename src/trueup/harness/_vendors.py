"""The vendors whose APIs agents call: where they are, and by which variables a key is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct


class Vendor(Struct, frozen=True, kw_only=True):
    """A vendor. Of variables with several names the first that is set counts.

    `login_hosts` are asked when a subscription's login is renewed. None of them answers calls of models, since those
    could not be metered there. `login_base_url` is where a subscription's calls go.
    """

    name: str
    key_variables: tuple[str, ...]
    base_url_variables: tuple[str, ...]
    default_base_url: str
    login_base_url: str
    login_hosts: tuple[str, ...]

    def key_variable(self, environ: Mapping[str, str]) -> str | None:
        """The variable in which there is a key."""
        return next((name for name in self.key_variables if environ.get(name)), None)

    def key(self, environ: Mapping[str, str]) -> str | None:
        found = self.key_variable(environ)
        return environ[found] if found else None

    def base_url(self, environ: Mapping[str, str], *, by_key: bool) -> str:
        """Where calls go, by a key or by a subscription."""
        named = next((environ[name] for name in self.base_url_variables if environ.get(name)), None)
        return named or (self.default_base_url if by_key else self.login_base_url)

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What a program needs to be told that calls the vendor by itself."""
        names = (*self.key_variables, *self.base_url_variables)
        return {name: environ[name] for name in names if environ.get(name)}


def lacking_key(vendors: Sequence[Vendor], environ: Mapping[str, str]) -> str | None:
    """What an agent needs whose own login is not carried to where it works."""
    if not vendors or any(vendor.key(environ) for vendor in vendors):
        return None
    keys = " or ".join(vendor.key_variables[0] for vendor in vendors)
    return f"its own login is not seen in the sandbox: set {keys}"


ANTHROPIC = Vendor(
    name="anthropic",
    key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    base_url_variables=("ANTHROPIC_BASE_URL",),
    default_base_url="https://api.anthropic.com",
    login_base_url="https://api.anthropic.com",
    login_hosts=("platform.claude.com", "console.anthropic.com"),
)
OPENAI = Vendor(
    name="openai",
    key_variables=("CODEX_API_KEY", "OPENAI_API_KEY"),
    base_url_variables=("CODEX_BASE_URL", "OPENAI_BASE_URL"),
    default_base_url="https://api.openai.com/v1",
    # By a subscription the model is not called at the API, which would not accept its login.
    login_base_url="https://chatgpt.com/backend-api/codex",
    login_hosts=("auth.openai.com",),
)
