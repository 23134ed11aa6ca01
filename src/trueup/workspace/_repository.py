"""The user's own repository, which is read and hardly ever touched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from msgspec import Struct

from trueup.core.errors import InputError
from trueup.core.files import user_folder

from ._git import Git, as_text, last_words, split_nul

DEEPEN = "fetch the whole history (`git fetch --unshallow`; in GitHub Actions `fetch-depth: 0` of actions/checkout)"


class Head(Struct, frozen=True):
    """Where the user is: a commit, and the branch that is checked out unless HEAD is detached."""

    commit: str
    branch: str | None


class Identity(Struct, frozen=True):
    """Who a commit is by."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.email else self.name


class Repository:
    """A checkout of the user's and the repository behind it."""

    def __init__(self, root: Path, git_dir: Path, common_dir: Path, config: Mapping[str, str], hash_name: str) -> None:
        self.root = root
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.config = config
        self.hash_name = hash_name
        self.git = Git(git_dir)

    @classmethod
    async def open(cls, folder: Path) -> Self:
        """The repository that a folder is in, at any depth."""
        if not await asyncio.to_thread(folder.is_dir):
            raise InputError(f"{folder}: no such folder")
        asked = Git(None, cwd=folder)
        git_dir = await asked.attempt("rev-parse", "--absolute-git-dir")
        if git_dir.exit_code != 0:
            raise InputError(_why_not_open(folder, last_words(git_dir)))
        # One question per call: a path may hold a newline.
        top = await asked.attempt("rev-parse", "--show-toplevel")
        if top.exit_code != 0:
            raise InputError(f"{folder}: this repository is bare, or this is its .git folder; go to a checkout of it")
        own = Path(as_text(git_dir.stdout.data.removesuffix(b"\n")))
        common = Path(await asked.text("rev-parse", "--path-format=absolute", "--git-common-dir"))
        if not await Git(own).ok("rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
            raise InputError(f"{folder}: this repository has no commit yet; commit something to start from")
        root = Path(as_text(top.stdout.data.removesuffix(b"\n")))
        config = await _read_config(own)
        return cls(root, own, common, config, config.get("extensions.objectformat", "sha1"))

    async def resolve(self, rev: str) -> str:
        """The id of the commit that a name means."""
        found = await self.git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        if found.exit_code == 0:
            return found.stdout.data.decode().strip()
        if self.is_shallow:
            raise InputError(f"{rev!r} is not in this clone, which is shallow; {DEEPEN}")
        raise InputError(f"{rev!r} names no commit in {self.root}; `git log --oneline --all` lists what there is")

    async def head(self) -> Head:
        """The commit and the branch that are checked out."""
        branch = await self.git.attempt("symbolic-ref", "--quiet", "HEAD")
        name = as_text(branch.stdout.data).strip().removeprefix("refs/heads/")
        return Head(await self.resolve("HEAD"), name if branch.exit_code == 0 else None)

    async def default_base(self) -> str:
        """Where the work since the default branch began; HEAD where nothing else is known or HEAD is that branch.

        The default branch is the one of `origin` where there is one: commits that were not pushed are work, too.
        """
        head = await self.head()
        default = await self._default_branch()
        if default is None:
            if self.is_shallow and head.branch is None:
                raise InputError(f"the default branch is not in this clone, which is shallow; {DEEPEN}, or name a base")
            return head.commit
        if default == f"refs/heads/{head.branch}":
            return head.commit
        merge_base = await self.git.attempt("merge-base", head.commit, default)
        if merge_base.exit_code == 0:
            return merge_base.stdout.data.decode().strip()
        if self.is_shallow:
            raise InputError(f"where HEAD left {default} is not in this clone, which is shallow; {DEEPEN}")
        raise InputError(f"HEAD and {default} have no commit in common; name the base to compare with")

    async def is_dirty(self) -> bool:
        """Whether the checkout differs from HEAD, untracked files included."""
        git = Git(self.git_dir, work_tree=self.root, settings={**self._line_ends(), **self._no_filters()})
        return bool(await git.output("status", "--porcelain", "-z", "--ignore-submodules=dirty"))

    async def identity(self) -> Identity:
        """Who the user's commits are by."""
        asked = await Git(self.git_dir, as_user=True).attempt(
            "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"
        )
        if asked.exit_code != 0:
            raise InputError(
                "git does not know who you are: set `git config --global user.name` and `user.email`, then try again"
            )
        name, _, rest = as_text(asked.stdout.data).partition(" <")
        return Identity(name, rest.partition(">")[0])

    @property
    def is_shallow(self) -> bool:
        """Whether history was cut off when this was cloned."""
        return (self.common_dir / "shallow").exists()

    @property
    def objects(self) -> Path:
        """Where its objects are."""
        return self.common_dir / "objects"

    def wants(self, name: str) -> bool:
        """A switch of the user's configuration."""
        return self.config.get(name, "false").lower() in {"true", "yes", "on", "1"}

    def exclude_patterns(self) -> bytes:
        """What the user ignores outside of the tree: their own file, then the repository's."""
        own = self.config.get("core.excludesfile") or _user_file("ignore")
        return _read(Path(own).expanduser()) + b"\n" + _read(self.common_dir / "info" / "exclude")

    def attribute_files(self) -> tuple[bytes, bytes]:
        """Attributes that the user set outside of the tree: below its own ones, and above them."""
        own = self.config.get("core.attributesfile") or _user_file("attributes")
        return _read(Path(own).expanduser()), _read(self.common_dir / "info" / "attributes")

    async def _default_branch(self) -> str | None:
        remote = await self.git.attempt("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
        named = [as_text(remote.stdout.data).strip()] if remote.exit_code == 0 else []
        usual = [f"refs/{place}/{name}" for place in ("remotes/origin", "heads") for name in ("main", "master")]
        configured = self.config.get("init.defaultbranch")
        for ref in (*named, *usual, *([f"refs/heads/{configured}"] if configured else [])):
            if await self.git.ok("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"):
                return ref
        return None

    def _line_ends(self) -> dict[str, str]:
        names = ("core.autocrlf", "core.eol", "core.excludesfile")
        return {name: self.config[name] for name in names if name in self.config}

    def _no_filters(self) -> dict[str, str]:
        """Empty settings in place of those by which programs would rewrite files."""
        return dict.fromkeys((name for name in self.config if name.startswith("filter.")), "")


async def _read_config(git_dir: Path) -> dict[str, str]:
    """Every setting that holds for the user here; the last of each name."""
    listed = await Git(git_dir, as_user=True).output("config", "--list", "-z")
    settings = (as_text(item).partition("\n") for item in split_nul(listed))
    # A name alone is git's way to say yes.
    return {name: value if said else "true" for name, said, value in settings}


def _why_not_open(folder: Path, said: str) -> str:
    if "not a git repository" in said:
        return f"{folder}: not in a git repository; go to a checkout, or run `git init` and commit"
    return f"{folder}: git cannot open this repository: {said}"


def _user_file(name: str) -> str:
    return str(user_folder("XDG_CONFIG_HOME", ".config", os.environ) / "git" / name)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
