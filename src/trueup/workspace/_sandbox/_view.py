"""What a sandboxed command may see: a list of what is allowed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

Step = dict[str, Any]

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu", "sys")

# Below HOME, as the installers put them; only programs, no caches, which belong to what `setup` prepared.
TOOLCHAINS = (
    ".pyenv .rustup .cargo/bin .nvm .volta .fnm .asdf .mise .sdkman .rbenv .goenv .gvm .jenv .deno .bun .dotnet .ghcup "
    ".local/bin .local/lib .local/pipx .local/share/uv .local/share/mise .local/share/fnm .local/share/pnpm "
    ".local/share/pipx .local/share/rtx go/bin bin miniconda3 anaconda3 miniforge3"
).split()

TOOLCHAIN_VARIABLES = (
    "PYENV_ROOT PYENV_VERSION RUSTUP_HOME RUSTUP_TOOLCHAIN NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR ASDF_DIR "
    "ASDF_DATA_DIR MISE_DATA_DIR SDKMAN_DIR JAVA_HOME GOROOT GOTOOLCHAIN RBENV_ROOT GEM_HOME DENO_INSTALL "
    "BUN_INSTALL DOTNET_ROOT CONDA_PREFIX ANDROID_HOME"
).split()
PLAIN_VARIABLES = "LANG LC_ALL LC_CTYPE TZ USER LOGNAME".split()

# Set in a hook, for one: with these git looks at another repository than the one that it is called in.
GIT_PLACES = frozenset(
    "GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY "
    "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE GIT_SHALLOW_FILE GIT_GRAFT_FILE GIT_QUARANTINE_PATH".split()
)

# Readable for root, and nobody's business.
SECRETS = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/krb5.keytab",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssl/private",
    "/etc/docker",
    "/etc/wireguard",
)
TOOLCHAIN_SECRETS = (".sdkman/etc/token",)


class Profile(Struct, frozen=True, kw_only=True):
    """What a stack allows beyond the common view: a network; files and folders to read, and to write.

    Both go from where they are to where they are seen, which is anywhere but in the repository.
    """

    network: bool = False
    readable: dict[str, str] = {}
    writable: dict[str, str] = {}


def sandbox_environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """The variables that a sandboxed command starts with: nothing that names a secret or a way out."""
    kept = {name: environ[name] for name in (*PLAIN_VARIABLES, *TOOLCHAIN_VARIABLES) if name in environ}
    return {
        "LANG": "C.UTF-8",
        **kept,
        "PATH": os.pathsep.join(_search_path(environ)),
        "HOME": str(home),
        "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        # What one check leaves in HOME or as byte code must not decide the next.
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def user_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a command without a sandbox starts with: the user's, less trueup's own and git's places."""
    own = _own_prefix()
    kept = {
        name: value
        for name, value in environ.items()
        if name not in GIT_PLACES and not (name == "VIRTUAL_ENV" and own and Path(value) == own)
    }
    return {**kept, "PATH": os.pathsep.join(_search_path(environ))}


def view_steps(
    environ: Mapping[str, str], home: Path, scratch: Path, profile: Profile, home_layer: Path | None
) -> Iterator[Step]:
    """The steps that build the common view; the repository is laid over it afterwards."""
    for name in SYSTEM:
        if (folder := Path("/", name)).exists():
            yield {"kind": "bind", "source": str(folder), "target": str(folder), "keep_link": True}
    # Writable, for mapping users; a command gets a /proc of its own that shows only itself.
    yield {"kind": "bind", "source": "/proc", "target": "/proc", "writable": True}
    yield {"kind": "devices"}
    for target in ("/tmp", "/var/tmp"):  # noqa: S108
        yield {"kind": "bind", "source": str(scratch / "tmp"), "target": target, "writable": True}
    yield _home_step(home, scratch, home_layer)
    for folder in _toolchain_folders(environ, home):
        yield {"kind": "bind", "source": str(folder), "target": str(folder)}
    for source, target in profile.readable.items():
        yield {"kind": "bind", "source": source, "target": target}
    for source, target in profile.writable.items():
        yield {"kind": "bind", "source": source, "target": target, "writable": True}
    yield from _hide_secrets(home)
    yield from _name_resolution()


def _home_step(home: Path, scratch: Path, layer: Path | None) -> Step:
    """HOME is empty, or holds what `setup` left there: package managers keep what they fetched in it."""
    if layer is None:
        return {"kind": "bind", "source": str(scratch / "home"), "target": str(home), "writable": True}
    return {
        "kind": "overlay",
        "lower": [str(layer)],
        "upper": str(scratch / "home"),
        "work": str(scratch / "home-work"),
        "target": str(home),
    }


def _toolchain_folders(environ: Mapping[str, str], home: Path) -> list[Path]:
    """The toolchains below HOME and the folders of PATH that the system's do not include, outermost first."""
    found = {home / name for name in TOOLCHAINS if _is_folder(home / name)}
    found |= {
        Path(environ[name])
        for name in TOOLCHAIN_VARIABLES
        if name.endswith(("HOME", "ROOT", "DIR")) and name in environ
    }
    found |= {_with_its_libraries(Path(entry), home) for entry in _search_path(environ)}
    wanted = [
        folder
        for folder in sorted(found)
        if folder.is_absolute() and _is_folder(folder) and not _shows_too_much(folder, home)
    ]
    return [
        folder for folder in wanted if not any(other != folder and folder.is_relative_to(other) for other in wanted)
    ]


def _with_its_libraries(programs: Path, home: Path) -> Path:
    """The prefix of an installation, whose programs are nothing without the `lib` beside their `bin`."""
    prefix = programs.parent
    is_prefix = programs.name == "bin" and _is_folder(prefix / "lib") and not _shows_too_much(prefix, home)
    return prefix if is_prefix else programs


def _shows_too_much(folder: Path, home: Path) -> bool:
    """Whether mounting a folder would open HOME, or repeat the system."""
    system = any(folder.is_relative_to(Path("/", name)) for name in SYSTEM)
    return system or home.is_relative_to(folder) or folder in (Path("/tmp"), Path("/var/tmp"))  # noqa: S108


def _search_path(environ: Mapping[str, str]) -> list[str]:
    """The user's PATH without trueup's own environment: its Python and packages are not the project's."""
    entries = environ.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(os.pathsep)
    own = _own_prefix()
    return [entry for entry in entries if entry and not (own and Path(entry).is_relative_to(own))]


def _own_prefix() -> Path | None:
    """The virtual environment that trueup runs in."""
    return Path(sys.prefix) if sys.prefix != sys.base_prefix else None


def _hide_secrets(home: Path) -> Iterator[Step]:
    for secret in (*map(Path, SECRETS), *(home / name for name in TOOLCHAIN_SECRETS)):
        if secret.is_dir() and os.access(secret, os.R_OK):
            yield {"kind": "tmpfs", "target": str(secret)}
        elif secret.is_file() and os.access(secret, os.R_OK):
            yield {"kind": "bind", "source": "/dev/null", "target": str(secret)}


def _name_resolution() -> Iterator[Step]:
    """`/etc/resolv.conf` is often a link into /run, of which nothing else is shown."""
    target = Path("/etc/resolv.conf").resolve()
    if target.is_file() and not target.is_relative_to("/etc"):
        yield {"kind": "bind", "source": str(target), "target": str(target)}


def _is_folder(path: Path) -> bool:
    """Whether there is a folder that can be looked at; another user's cannot."""
    try:
        return path.is_dir()
    except OSError:
        return False
