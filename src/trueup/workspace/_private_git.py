"""Git folders of trueup's own, written file by file: no template, no hook, and no setting that we did not choose."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from ._git import quoted_path
from ._repository import Repository

POINTER = "version https://git-lfs.github.com/spec/v1"

# A file under Git LFS is compared by its pointer. The pointer is computed by these lines and not by what a
# configuration names, and a pointer becomes a file only where the user already has the object.
LFS_CLEAN = (
    't=$(mktemp) && trap "rm -f \\"$t\\"" EXIT && cat >"$t" && [ -s "$t" ] || exit 0; size=$(($(wc -c <"$t")));'
    f' if [ $size -lt 1024 ] && [ "$(head -n 1 "$t" | tr -d "\\0")" = "{POINTER}" ]; then cat "$t";'
    f' else printf "{POINTER}\\noid sha256:%s\\nsize %s\\n" "$(sha256sum <"$t" | cut -c 1-64)" "$size"; fi'
)
LFS_SMUDGE = (
    't=$(mktemp) && trap "rm -f \\"$t\\"" EXIT && cat >"$t" &&'
    ' oid=$(head -c 1024 "$t" | tr -d "\\0" | sed -n "s/^oid sha256:\\([0-9a-f]\\{{64\\}}\\)\\$/\\1/p" | head -n 1);'
    ' near=$(printf %s "$oid" | cut -c 1-2)/$(printf %s "$oid" | cut -c 3-4)/$oid;'
    ' if [ -n "$oid" ] && [ -f {store}/"$near" ]; then cat {store}/"$near"; else cat "$t"; fi'
)

Settings = Mapping[str, str]


def user_settings(repository: Repository) -> dict[str, str]:
    """What the user's configuration says about how files look on disk; nothing in it can name a program."""
    allowed = {
        "core.autocrlf": "true|false|input|yes|no|on|off|0|1",
        "core.eol": "lf|crlf|native",
        "core.filemode": "true|false|yes|no|on|off|0|1",
    }
    config = {name: repository.config.get(name, "").lower() for name in allowed}
    settings = {name: value for name, value in config.items() if re.fullmatch(allowed[name], value)}
    return {**settings, "core.safecrlf": "false", **_format_settings(repository)}


def lfs_settings(store: Path | None = None) -> dict[str, str]:
    """How files under Git LFS are read, and written from a store of objects where one is given."""
    if store is None:
        return {"filter.lfs.clean": LFS_CLEAN}
    return {"filter.lfs.clean": LFS_CLEAN, "filter.lfs.smudge": LFS_SMUDGE.format(store=shlex.quote(str(store)))}


def write_git_dir(
    folder: Path,
    settings: Settings,
    *,
    head: str = "refs/heads/trueup",
    attributes: bytes = b"",
    exclude: bytes = b"",
    objects: Iterable[Path] = (),
    shallow: bytes = b"",
) -> Path:
    """Write a git folder, or write it again; what it borrows its objects from is in `objects`."""
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    _put(folder / "HEAD", f"ref: {head}\n".encode())
    _put(folder / "config", _config(settings).encode("utf-8", "surrogateescape"))
    _put(folder / "info" / "attributes", attributes)
    _put(folder / "info" / "exclude", exclude)
    _put(folder / "objects" / "info" / "alternates", "".join(f"{quoted_path(path)}\n" for path in objects).encode())
    _put(folder / "shallow", shallow)
    return folder


def _put(path: Path, content: bytes) -> None:
    """Give a file a content in one step, and only if it has another: git may be reading it for somebody else."""
    if not content:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_bytes() != content:
        scratch = path.with_name(f"{path.name}.{os.getpid()}")
        scratch.write_bytes(content)
        scratch.replace(path)


def _format_settings(repository: Repository) -> dict[str, str]:
    if repository.hash_name == "sha1":
        return {"core.repositoryformatversion": "0"}
    return {"core.repositoryformatversion": "1", "extensions.objectformat": repository.hash_name}


def _config(settings: Settings) -> str:
    lines = []
    for name, value in settings.items():
        section, key = name.rsplit(".", 1)
        kind, _, part = section.partition(".")
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'[{kind} "{part}"]' if part else f"[{kind}]")
        lines.append(f'\t{key} = "{escaped}"')
    return "\n".join(lines) + "\n"
