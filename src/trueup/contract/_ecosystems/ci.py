"""Commands of CI files that no other ecosystem speaks for."""

from __future__ import annotations

from .commands import Recognised, recognise
from .found import Ecosystem, Finds, Found, Purpose
from .node import node_scripts
from .package import Package
from .targets import just_targets, make_targets

_MANIFESTS = {"node": ("package.json",), "cargo": ("Cargo.toml",), "go": ("go.mod", "go.work")}


def find_in_ci(package: Package) -> Finds:
    """What CI runs in this folder, as it is written there, if it can be run here."""
    for command in package.ci:
        known = recognise(command.line)
        if known is not None and _can_run(package, known):
            yield Found(
                purpose=known.purpose,
                tool=known.tool,
                command=command.line,
                reason=f"{command.file} runs it",
                identity=known.identity,
                timeout_secs=300 if known.purpose is Purpose.LINT else 0,
            )


def _can_run(package: Package, known: Recognised) -> bool:
    kind, _, name = known.identity.partition(" ")
    match known.family:
        case "python" | "cmake":
            # Their own ecosystems read the CI commands: these need an environment or a build folder.
            return False
        case "node" if kind == "script":
            return name in node_scripts(package)
        case "node" | "cargo" | "go" as family:
            return bool(package.first(*_MANIFESTS[family]))
        case "make":
            return name in make_targets(package)
        case "just":
            return name in just_targets(package)
        case _:
            return True


CI = Ecosystem(language="", manifests=(), find=find_in_ci, starts_others=True)
