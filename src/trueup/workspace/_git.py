"""Git on the host: one way to call it, in which nothing that a repository says can run a program."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from trueup.core.errors import InfrastructureError, InputError, SpawnError
from trueup.core.process import Command, Finished, run

# Far more than git has reason to say; what is longer is refused and never cut.
OUTPUT_LIMIT = 4 << 30

# A repository can name programs in many places; these are the ones that the commands we use would look at.
INERT_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "submodule.recurse=false"),
    *("-c", "safe.directory=*"),
)

# What git may know of the person who runs us: nothing.
INERT_ENVIRONMENT = {
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}


class GitError(InfrastructureError):
    """Git refused or failed where it should not have; the message ends with its own words."""


class Git:
    """Calls git on one git folder. The user's own configuration has a say only where `as_user` is true."""

    def __init__(
        self,
        git_dir: Path | None,
        *,
        work_tree: Path | None = None,
        index: Path | None = None,
        objects: Path | None = None,
        also_objects: Iterable[Path] = (),
        settings: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        as_user: bool = False,
        cwd: Path | None = None,
    ) -> None:
        places = {
            "GIT_DIR": git_dir,
            "GIT_WORK_TREE": work_tree,
            "GIT_INDEX_FILE": index,
            "GIT_OBJECT_DIRECTORY": objects,
        }
        self._env = {**_environment(as_user), **{name: str(place) for name, place in places.items() if place}}
        if borrowed := [quoted_path(path) for path in also_objects]:
            self._env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(borrowed)
        self._env |= {**_settings_in_environment(settings or {}), **(variables or {})}
        self._cwd = work_tree or cwd or git_dir or Path("/")

    async def output(self, *args: str, stdin: bytes = b"") -> bytes:
        """All that git printed; a `GitError` where it failed."""
        finished = await self.attempt(*args, stdin=stdin)
        if finished.exit_code != 0:
            raise GitError(f"git {args[0]} failed: {last_words(finished)}")
        return finished.stdout.data

    async def text(self, *args: str, stdin: bytes = b"") -> str:
        """What git printed as text, without the end of its last line; any byte of it survives."""
        return as_text((await self.output(*args, stdin=stdin)).removesuffix(b"\n"))

    async def ok(self, *args: str) -> bool:
        """Whether git says yes."""
        return (await self.attempt(*args)).exit_code == 0

    async def attempt(self, *args: str, stdin: bytes = b"") -> Finished:
        """Run git to its end, whatever that is, with the whole of its output."""
        finished = await start(
            Command(
                argv=("git", *INERT_OPTIONS, *args),
                cwd=self._cwd,
                env=self._env,
                stdin=stdin,
                output_limit=OUTPUT_LIMIT,
            )
        )
        if not finished.stdout.whole:
            raise GitError(f"git {args[0]} printed more than {OUTPUT_LIMIT >> 30} GiB, which is more than can be right")
        return finished


async def start(command: Command) -> Finished:
    """Run a command that needs git, and say so in plain words where there is none."""
    try:
        return await run(command)
    except SpawnError as error:
        if "no such program" in str(error):
            raise InputError("git is not on PATH: install it (2.38 or newer) and try again") from None
        raise


def as_text(name: bytes) -> str:
    """A path or name of git's; bytes that are no UTF-8 survive as surrogates."""
    return name.decode("utf-8", "surrogateescape")


def as_bytes(name: str) -> bytes:
    """The bytes that `as_text` was given."""
    return name.encode("utf-8", "surrogateescape")


def split_nul(output: bytes) -> list[bytes]:
    """The items of what git printed with `-z`."""
    return output.split(b"\0")[:-1]


def join_nul(items: Iterable[bytes]) -> bytes:
    """Items as git reads them with `-z`."""
    return b"".join(item + b"\0" for item in items)


def quoted(name: bytes) -> bytes:
    """A name in the double quotes that git understands, with everything unusual in octal."""
    plain = b"".join(bytes([byte]) if 0x20 <= byte < 0x7F and byte not in b'"\\' else b"\\%03o" % byte for byte in name)
    return b'"' + plain + b'"'


def quoted_path(path: Path) -> str:
    """A path for a list of object folders, where a plain one could be cut at a colon or a newline."""
    return quoted(os.fsencode(path)).decode()


def last_words(finished: Finished) -> str:
    """Why git failed, in its own words."""
    said = finished.stderr.tail(2000).strip()
    if said:
        return said
    if finished.signal is not None:
        return f"ended by signal {finished.signal}"
    return f"exit {finished.exit_code}, and it said nothing"


def _settings_in_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings for one call. Unlike `-c`, this takes a name with an equals sign in it."""
    if not settings:
        return {}
    numbered = list(enumerate(settings.items()))
    return {
        "GIT_CONFIG_COUNT": str(len(numbered)),
        **{f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in numbered},
        **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered},
    }


def _environment(as_user: bool) -> dict[str, str]:
    if not as_user:
        return {"PATH": os.environ.get("PATH", os.defpath), **INERT_ENVIRONMENT}
    # The caller's own GIT_DIR and the like, as set inside a hook, would lead us elsewhere.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(("GIT_CONFIG", "GIT_AUTHOR_", "GIT_COMMITTER_"))
    }
    kept = ("LC_ALL", "GIT_NO_REPLACE_OBJECTS", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS")
    return {**inherited, **{name: INERT_ENVIRONMENT[name] for name in kept}}
