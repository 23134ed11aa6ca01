"""JavaScript and TypeScript: the scripts of package.json, run by the manager whose lock file is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .commands import is_harmful, recognise, simple_commands
from .found import Ecosystem, Finds, Found, Purpose, Setup, matches_any, strings, table
from .package import Package

_PURPOSES = {
    "lint": Purpose.LINT,
    "typecheck": Purpose.TYPES,
    "type-check": Purpose.TYPES,
    "build": Purpose.BUILD,
    "test": Purpose.TESTS,
}
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
_IN_EVERY_MEMBER = {
    "npm": "npm run {} --workspaces --if-present",
    "pnpm": "pnpm -r run {}",
    "yarn": "yarn workspaces run {}",
    "yarn berry": "yarn workspaces foreach -A run {}",
    "bun": "bun run --filter '*' {}",
}
_WATCHES_BY_ITSELF = re.compile(r"\breact-scripts test\b|\bvitest(?! run)\b")


def find_node(package: Package) -> Finds:
    """The scripts that check something, and the install that they need."""
    if not package.exists("package.json"):
        return
    manager = _manager(package)
    checks = [*_own_scripts(package, manager), *_scripts_of_members(package, manager)]
    yield from _setups(package, manager)
    yield from checks


def covers_node(package: Package, member: Package) -> bool:
    """Whether the member belongs to the package's workspaces."""
    return matches_any(package.relative(member.folder), _workspaces(package))


def node_scripts(package: Package) -> dict[str, str]:
    """The scripts of package.json that can be run as a check; npm's placeholder is none."""
    scripts = table(package.json("package.json"), "scripts")
    return {name: body for name, body in scripts.items() if isinstance(body, str) and _can_check(body)}


NODE = Ecosystem(language="JavaScript", manifests=("package.json",), find=find_node, covers=covers_node)


def _can_check(body: str) -> bool:
    return bool(body.strip()) and "no test specified" not in body and not is_harmful(body)


def _manager(package: Package) -> str:
    """The package manager; Yarn since version 2 goes by `yarn berry`, because its commands differ."""
    asked = package.json("package.json").get("packageManager")
    name, _, version = asked.partition("@") if isinstance(asked, str) else ("", "", "")
    if name not in ("npm", "pnpm", "yarn", "bun"):
        name, version = _LOCKS.get(package.first(*_LOCKS), "npm"), ""
    is_berry = package.exists(".yarnrc.yml") or re.match(r"[2-9]", version)
    return "yarn berry" if name == "yarn" and is_berry else name


def _program(manager: str) -> str:
    return manager.split(maxsplit=1)[0]


def _own_scripts(package: Package, manager: str) -> Iterator[Found]:
    scripts = node_scripts(package)
    for name, purpose in _PURPOSES.items():
        if name in scripts:
            reason = f'{package.label("package.json")} has the script "{name}"'
            yield _found(name, purpose, _run(manager, name, scripts[name]), reason, scripts[name])
        elif name in table(package.json("package.json"), "scripts"):
            package.repository.note(
                f'{package.label("package.json")}: the script "{name}" is no check; it was left out'
            )


def _scripts_of_members(package: Package, manager: str) -> Iterator[Found]:
    """What the members of a workspace have and its root has not: one command that runs it in every member."""
    members = [member for member in package.members() if covers_node(package, member)]
    missing = _PURPOSES.keys() - table(package.json("package.json"), "scripts").keys()
    for name in (name for name in _PURPOSES if name in missing):
        having = [member for member in members if name in node_scripts(member)]
        if having:
            reason = f'{having[0].label("package.json")} and its workspace have the script "{name}"'
            body = node_scripts(having[0])[name]
            prefix = "CI=true " if _WATCHES_BY_ITSELF.search(body) else ""
            yield _found(name, _PURPOSES[name], prefix + _IN_EVERY_MEMBER[manager].format(name), reason, body)


def _found(name: str, purpose: Purpose, command: str, reason: str, body: str) -> Found:
    started = (recognise(part) for part in simple_commands(body))
    return Found(
        purpose=purpose,
        tool=command.removeprefix("CI=true ").split()[0],
        command=command,
        reason=reason,
        identity=f"script {name}",
        runs=frozenset(known.identity for known in started if known),
        timeout_secs=300 if purpose is Purpose.LINT else 0,
    )


def _run(manager: str, name: str, body: str) -> str:
    program = _program(manager)
    # `bun test` is bun's own runner and not the script.
    command = f"{program} test" if name == "test" and program != "bun" else f"{program} run {name}"
    if re.search(r"\bng test\b", body):
        return f"{command} -- --watch=false"
    return f"CI=true {command}" if _WATCHES_BY_ITSELF.search(body) else command


def _workspaces(package: Package) -> list[str]:
    declared = package.json("package.json").get("workspaces")
    listed = declared.get("packages") if isinstance(declared, dict) else declared
    return [*strings(listed), *strings(package.yaml("pnpm-workspace.yaml").get("packages"))]


def _setups(package: Package, manager: str) -> Iterator[Setup]:
    manifest = package.json("package.json")
    has_dependencies = any(table(manifest, f"{kind}ependencies") for kind in ("d", "devD", "optionalD"))
    lock = next((lock for lock, owner in _LOCKS.items() if owner == _program(manager) and package.exists(lock)), "")
    if not (has_dependencies or lock or _workspaces(package)):
        return
    inputs = package.existing("package.json", lock or "package.json", ".npmrc", ".yarnrc.yml", "pnpm-workspace.yaml")
    reason = f"{package.label(lock)} is there" if lock else f"{package.label('package.json')} without a lock file"
    yield Setup(
        tool=_program(manager),
        command=_install(manager, locked=bool(lock)),
        reason=reason,
        inputs=tuple(dict.fromkeys(inputs)),
    )


def _install(manager: str, *, locked: bool) -> str:
    program = _program(manager)
    if not locked:
        return f"{program} install"
    if program == "npm":
        return "npm ci"
    return f"{program} install {'--immutable' if manager == 'yarn berry' else '--frozen-lockfile'}"
