"""The `oneharness` program: what this version of it can do, and one run of it."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from trueup.core.errors import Kind, TrueupError
from trueup.core.process import Command, Finished, run
from trueup.core.text import visible, written
from trueup.core.usage import Usage

from .._case import OneharnessProviderConfig
from .._model import ProviderError
from ._replies import read_json, read_usage

CONTEXT = "oneharness"

# With those every version can go on, also one that does not tell.
ALWAYS_RESUMED = frozenset({"claude-code", "opencode", "cursor"})

MOST_BYTES = 64 << 20
MOST_ON_ARGV = 64 << 10
# It ends its harness by itself when the time is up; this is for telling so.
GRACE_SECS = 15
_STDERR_TAIL = 2000
_FLAG = re.compile(r"--[a-z][a-z-]*")
_PROJECT_FILES = ("oneharness.toml", ".oneharness.toml")

_KINDS = {"server_overloaded": Kind.OVERLOADED, "app_server_lost": Kind.OVERLOADED}
_STATUS_KINDS = {"timeout": Kind.TIMEOUT, "skipped": Kind.SPAWN, "spawn-error": Kind.SPAWN}


class Abilities(Struct, frozen=True):
    """What an installed `oneharness` says of itself: its version, the flags of `run`, and its harnesses."""

    version: str | None
    flags: frozenset[str]
    harnesses: dict[str, dict[str, Any]]

    def knows(self, harness: str) -> bool:
        """Whether it can run a harness; where it does not list any, that cannot be told."""
        return not self.harnesses or base_of(harness) in self.harnesses

    def mocks(self, harness: str, action: str) -> bool:
        """Whether it can do that about a tool call of a harness; what it does not tell, it may be able to."""
        told = self.harnesses.get(base_of(harness), {})
        if action == "deny":
            return told.get("supports_mock_deny") is not False
        return "mock_rewrite" not in told or told["mock_rewrite"] is not None

    def resumes(self, harness: str) -> bool:
        """Whether it can go on with a session of a harness."""
        told = self.harnesses.get(base_of(harness), {}).get("supports_resume")
        return told if isinstance(told, bool) else base_of(harness) in ALWAYS_RESUMED


def base_of(harness: str) -> str:
    """The harness itself, where a variant of it is named as `claude-code:work`."""
    return harness.partition(":")[0]


class Run(Struct, frozen=True, kw_only=True):
    """One `oneharness run`: `folder` is where the harness works, `extra` are flags that only some versions know."""

    harness: str
    model: str
    prompt: str
    folder: Path
    system: str | None = None
    resume: str | None = None
    extra: tuple[str, ...] = ()


class Ran(Struct, frozen=True, kw_only=True):
    """What came of a run: its reply, and the whole of the result that it was read from."""

    text: str
    result: dict[str, Any]
    usage: Usage | None


class OneharnessProgram:
    """Starts `oneharness` and reads what it prints. Its exit status says nothing that the result does not say better."""

    def __init__(
        self, config: OneharnessProviderConfig, environ: Mapping[str, str], folder: Path, grace_secs: float
    ) -> None:
        self._config = config
        self._grace_secs = grace_secs
        self._environ = environ
        self._folder = folder

    @property
    def _whole_secs(self) -> int:
        return math.ceil(self._config.timeout_secs)

    async def abilities(self) -> Abilities:
        """Ask the program what it can do; a `ProviderError` where it is not there."""
        version = (await self._call("--version")).stdout.text.split()
        help_text = (await self._call("run", "--help")).stdout.text
        listed = _json((await self._call("list", "--compact")).stdout.text)
        harnesses = listed.get("harnesses") if isinstance(listed, dict) else None
        found = [each for each in harnesses or () if isinstance(each, dict) and isinstance(each.get("id"), str)]
        return Abilities(
            version=version[-1] if version else None,
            flags=frozenset(_FLAG.findall(help_text)),
            harnesses={each["id"]: each for each in found},
        )

    async def versions(self, harnesses: Sequence[str]) -> dict[str, str]:
        """The versions of harnesses that are installed, as far as the program finds them out."""
        words = [word for harness in harnesses for word in ("--harness", harness)]
        told = _json((await self._call("detect", *words, "--compact")).stdout.text)
        found = told.get("detected") if isinstance(told, dict) else None
        return {
            str(each.get("id")): each["version"]
            for each in found or ()
            if isinstance(each, dict) and isinstance(each.get("version"), str)
        }

    async def run(self, asked: Run, flags: frozenset[str]) -> Ran:
        """Run a prompt to its reply."""
        with _system_words(asked.system, flags) as system:
            words = [*self._words(asked, flags), *system, *asked.extra]
            finished = await self._start(words, asked)
        result = self._result(finished, asked)
        usage = read_usage(result.get("usage"))
        if result.get("status") != "ok":
            raise _failed(result, asked, usage)
        text = _reply(result)
        if text is None:
            told = f"{asked.harness} gave neither a text nor any output"
            raise ProviderError(_context(asked), told, kind=Kind.PROTOCOL, usage=usage)
        return Ran(text=text.strip(), result=result, usage=usage)

    def _words(self, asked: Run, flags: frozenset[str]) -> list[str]:
        # No --output-format: each harness has one from which its reply can be read best.
        words = ["run", "--harness", asked.harness, "--compact"]
        words += ["--timeout", str(self._whole_secs), "--prompt-file", "-"]
        if asked.model:
            words += ["--model", asked.model]
        if asked.resume is not None:
            words += ["--resume", asked.resume]
        if "--config" in flags:
            words += [word for file in self._settings() for word in ("--config", str(file))]
        return words

    def _settings(self) -> Iterator[Path]:
        """The program's own settings for this project. It would look for them where the cell works, which is elsewhere."""
        above = (self._folder.absolute(), *self._folder.absolute().parents)
        project = next((file for folder in above for name in _PROJECT_FILES if (file := folder / name).is_file()), None)
        if project is None:
            return
        home = self._environ.get("XDG_CONFIG_HOME") or f"{self._environ.get('HOME', '')}/.config"
        user = Path(self._environ.get("ONEHARNESS_CONFIG") or f"{home}/oneharness/config.toml")
        if user.is_file():
            yield user
        yield project

    async def _start(self, words: list[str], asked: Run) -> Finished:
        return await self._call(
            *words,
            stdin=written(asked.prompt).encode(),
            cwd=asked.folder,
            context=_context(asked),
        )

    async def _call(
        self,
        *words: str,
        stdin: bytes = b"",
        cwd: Path | None = None,
        context: str = CONTEXT,
    ) -> Finished:
        program = self._config.bin
        timeout_secs = self._whole_secs + self._grace_secs
        command = Command(
            # Its path is one from the configuration's folder, wherever it is started.
            argv=(str(self._folder.absolute() / program) if "/" in program else program, *words),
            cwd=cwd or self._folder,
            env=self._environ,
            stdin=stdin,
            timeout_secs=timeout_secs,
            output_limit=MOST_BYTES,
        )
        try:
            finished = await run(command)
        except TrueupError as error:
            told = f"{error}. Is oneharness installed (`pip install oneharness-cli`) and on PATH?"
            raise ProviderError(CONTEXT, told, kind=error.kind) from error
        if finished.timed_out:
            told = f"`oneharness {words[0]}` gave no answer within {timeout_secs:g} s; allow more with `provider.timeout_secs`"
            raise ProviderError(context, told, kind=Kind.TIMEOUT)
        return finished

    def _result(self, finished: Finished, asked: Run) -> dict[str, Any]:
        printed = _json(finished.stdout.text)
        results = printed.get("results") if isinstance(printed, dict) else None
        if not isinstance(results, list):
            stderr = visible(finished.stderr.tail(_STDERR_TAIL).strip()) or "nothing"
            told = f"what oneharness printed for {asked.harness} cannot be read; on stderr it said: {stderr}"
            raise ProviderError(CONTEXT, told, kind=Kind.PROTOCOL)
        if not results or not isinstance(results[0], dict):
            raise ProviderError(CONTEXT, "oneharness gave no results", kind=Kind.PROTOCOL)
        return results[0]


@contextmanager
def _system_words(system: str | None, flags: frozenset[str]) -> Iterator[list[str]]:
    """The words for a system prompt; a long one is in a file as long as this is open."""
    if system is None:
        yield []
        return
    data = written(system).encode()
    if len(data) <= MOST_ON_ARGV or "--system-file" not in flags:
        yield ["--system", written(system)]
        return
    with tempfile.NamedTemporaryFile(prefix="trueup-skill-", suffix=".md") as file:
        file.write(data)
        file.flush()
        yield ["--system-file", file.name]


def _reply(result: dict[str, Any]) -> str | None:
    spoken = (result.get("text"), result.get("stdout"))
    return next((text for text in spoken if isinstance(text, str) and text.strip()), None)


def _failed(result: dict[str, Any], asked: Run, usage: Usage | None) -> ProviderError:
    status = result.get("status")
    said = (result.get("error"), result.get("stderr"))
    detail = next((text for text in said if isinstance(text, str) and text.strip()), f"status `{status}`")
    failure = result.get("failure_kind")
    kind = _kind(failure, status)
    unknown = f" ({failure})" if failure and kind is None else ""
    told = f"{asked.harness} did not finish{unknown}: {visible(detail.strip()[-_STDERR_TAIL:])}"
    return ProviderError(_context(asked), told, kind=kind, usage=usage)


def _kind(failure: Any, status: Any) -> Kind | None:
    if isinstance(failure, str) and failure:
        return _KINDS.get(failure) or (Kind(failure) if failure in list(Kind) else None)
    return _STATUS_KINDS.get(status) if isinstance(status, str) else None


def _context(asked: Run) -> str:
    return f"{CONTEXT}:{asked.harness}"


def _json(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return None
