"""The policies of a repository, before what an engine does."""

from __future__ import annotations

from trueup.policy import POLICY_FILE, Policies, PolicyGate, load_policies

from .._site import Site


async def gate_of(site: Site, base: str) -> PolicyGate | None:
    """What the base asks of every engine; a change cannot write its own. None where it asks for nothing."""
    entry = (await site.mirror.entries(base)).get(POLICY_FILE)
    if entry is None:
        return None
    policies = load_policies(await site.mirror.read(entry.id), f"{base[:12]}:{POLICY_FILE}")
    return PolicyGate(Policies(policies), root=site.repo.root, home=site.layers.environ.get("HOME", ""))
