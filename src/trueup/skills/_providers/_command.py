"""A program of the author's as the provider: one process per call, one JSON object in, one out."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueup import __version__
from trueup.core.errors import InputError, Kind, TrueupError
from trueup.core.process import Command, Finished, run
from trueup.core.text import visible, writable

from .._case import CommandProviderConfig
from .._model import (
    AssistantTurn,
    Judgement,
    Message,
    MockCall,
    Needs,
    ProviderError,
    Query,
    RespondRequest,
    SkillRef,
    UserTurn,
)
from ._mock_rules import read_calls, rules_of
from ._replies import read_events, read_json, read_usage
from ._verdict import quoted, verdict_of

WORKSPACE_VARIABLE = "TRUEUP_WORKSPACE"

MOST_BYTES = 8 << 20
_STDERR_TAIL = 2000
_OURSELVES = ("-P", "-c", "from trueup.cli import main; main()")
_NO_SKILL = SkillRef(name="", path="", instructions="")


class CommandProvider:
    """Speaks the protocol of skilltest. The program runs in the folder of the configuration.

    The folder in which the cell works is in TRUEUP_WORKSPACE, beside the protocol: programs that refuse keys which they
    do not know go on working.
    """

    def __init__(self, config: CommandProviderConfig, environ: Mapping[str, str], folder: Path) -> None:
        if not config.command or not config.command[0].strip():
            raise InputError("`provider.command` is empty; give the program that answers and its arguments")
        self._name = config.command[0]
        self._environ = environ
        self._argv = _argv(config.command, environ)
        self._folder = folder
        self._timeout_secs = config.timeout_secs

    def __repr__(self) -> str:
        return f"CommandProvider({self._name!r})"

    async def prepare(self, platforms: Sequence[str], needs: Needs) -> Mapping[str, str | None]:
        """The same version for every platform: the digest of the files that the command names."""
        if needs.activation:
            raise InputError(
                "whether a skill was activated is only known where a harness discovers it: use `provider.kind: harness` "
                "with `delivery: install` instead of `command`"
            )
        version = await to_thread(self._digest)
        return dict.fromkeys(platforms, version)

    async def respond(self, request: RespondRequest) -> AssistantTurn:
        skill = request.skill or _NO_SKILL
        asked: dict[str, Any] = {
            "op": "respond",
            "platform": request.platform,
            "model": request.model,
            "skill": msgspec.to_builtins(skill),
            "messages": _messages(request.messages),
        }
        if request.session is not None:
            asked["session"] = request.session
        if request.mocks is not None:
            asked["mocks"] = {"rules": rules_of(request.mocks)}
        said = await self._ask("respond", asked, {WORKSPACE_VARIABLE: str(request.folder)})
        return AssistantTurn(
            message=_text(said, "message", "respond"),
            done=_flag(said, "done", "respond"),
            usage=read_usage(said.get("usage")),
            session_id=_session(said),
            events=read_events(said.get("events")),
            events_told=isinstance(said.get("events"), list),
            mock_calls=_mock_calls(said, request),
        )

    async def simulate_user(self, model: str, persona: str, messages: Sequence[Message]) -> UserTurn:
        asked = {"op": "user", "model": model, "persona": persona, "messages": _messages(messages)}
        said = await self._ask("user", asked)
        return UserTurn(
            message=_text(said, "message", "user"),
            stop=_flag(said, "stop", "user"),
            usage=read_usage(said.get("usage")),
        )

    async def judge(self, model: str, query: Query, messages: Sequence[Message]) -> Judgement:
        scale = {name: _number(bound) for name, bound in (("min", query.min), ("max", query.max)) if bound is not None}
        asked = {"op": "judge", "model": model, "kind": str(query.kind), "criterion": query.criterion}
        said = await self._ask("judge", {**asked, **scale, "messages": _messages(messages)})
        usage = read_usage(said.get("usage"))
        try:
            return msgspec.structs.replace(verdict_of(said, query, "judge"), usage=usage)
        except ProviderError as error:
            error.usage = usage
            raise

    def supports_resume(self, platform: str) -> bool:
        """Always: a session is only sent back to a program that named one."""
        del platform
        return True

    async def _ask(self, op: str, asked: dict[str, Any], env: Mapping[str, str] | None = None) -> dict[str, Any]:
        command = Command(
            argv=self._argv,
            cwd=self._folder,
            env={**self._environ, **(env or {})},
            stdin=msgspec.json.encode(writable(asked)) + b"\n",
            timeout_secs=self._timeout_secs,
            output_limit=MOST_BYTES,
        )
        try:
            finished = await run(command)
        except TrueupError as error:
            raise ProviderError(op, f"the provider could not be run: {error}", kind=error.kind) from error
        return self._answer(op, finished)

    def _answer(self, op: str, finished: Finished) -> dict[str, Any]:
        if finished.timed_out:
            told = f"gave no answer to `{op}` within {self._timeout_secs:g} s; allow more with `provider.timeout_secs`"
            raise self._error(op, told, Kind.TIMEOUT)
        if finished.exit_code != 0:
            ended = f"exit {finished.exit_code}" if finished.signal is None else f"signal {finished.signal}"
            told = visible(finished.stderr.tail(_STDERR_TAIL).strip()) or "it wrote nothing to stderr"
            raise self._error(op, f"failed ({ended}): {told}")
        if not finished.stdout.whole:
            told = f"printed {finished.stdout.seen} bytes, and an answer has at most {MOST_BYTES >> 20} MiB"
            raise self._error(op, told, Kind.PROTOCOL)
        return self._object(op, finished.stdout.data)

    def _object(self, op: str, printed: bytes) -> dict[str, Any]:
        try:
            text = printed.decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            raise self._error(op, f"printed bytes that are not UTF-8 ({error.reason})", Kind.PROTOCOL) from None
        if not text:
            raise self._error(op, "printed nothing, and one JSON object was expected", Kind.PROTOCOL)
        try:
            said = read_json(text)
        except ValueError as error:
            told = (
                f"must print one JSON object for `{op}` and nothing else ({error}); it printed: {visible(quoted(text))}"
            )
            raise self._error(op, told, Kind.PROTOCOL) from None
        if not isinstance(said, dict):
            told = f"must print a JSON object for `{op}`; it printed: {visible(quoted(text))}"
            raise self._error(op, told, Kind.PROTOCOL)
        return said

    def _error(self, op: str, told: str, kind: Kind | None = None) -> ProviderError:
        return ProviderError(op, f"the provider `{self._name}` {told}", kind=kind)

    def _digest(self) -> str:
        path = self._environ.get("PATH", os.defpath)
        program = self._argv[0]
        found = program if os.sep in program else shutil.which(program, path=path)
        if found is None or not (self._folder / found).is_file():
            told = f"the provider `{self._name}` is not there; install it, or give its path from {self._folder}"
            raise ProviderError("respond", told, kind=Kind.SPAWN)
        # Where the program is trueup, its file stays the same from version to version.
        words = (*self._argv, __version__) if self._name == "trueup" else self._argv
        digest = hashlib.sha256("\0".join(words).encode(errors="surrogateescape"))
        for word in (found, *self._argv[1:]):
            _add_file(digest, self._folder / word)
        return f"sha256:{digest.hexdigest()[:16]}"


def _argv(command: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    program, *arguments = command
    if program == "trueup" and shutil.which(program, path=environ.get("PATH", os.defpath)) is None:
        return (sys.executable, *_OURSELVES, *arguments)
    return (program, *arguments)


def _add_file(digest: Any, path: Path) -> None:
    try:
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    except (OSError, ValueError):
        # A word that no path can be made of, or a file that only the program may read.
        return


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(message) for message in messages]


def _number(bound: float) -> float:
    return int(bound) if float(bound).is_integer() else bound


def _text(said: dict[str, Any], key: str, op: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        told = f"the provider's answer to `{op}` has no text in `{key}`: {_shown(said)}"
        raise ProviderError(op, told, kind=Kind.PROTOCOL, usage=read_usage(said.get("usage")))
    return value


def _flag(said: dict[str, Any], key: str, op: str) -> bool:
    value = said.get(key)
    if value is not None and not isinstance(value, bool):
        told = f"`{key}` in the provider's answer to `{op}` is neither true nor false: {_shown(said)}"
        raise ProviderError(op, told, kind=Kind.PROTOCOL, usage=read_usage(said.get("usage")))
    return bool(value)


def _session(said: dict[str, Any]) -> str | None:
    value = said.get("session_id")
    return value if isinstance(value, str) and value else None


def _mock_calls(said: dict[str, Any], request: RespondRequest) -> tuple[MockCall, ...] | None:
    if request.mocks is None:
        return None
    told = said.get("mock_calls")
    try:
        if told is None:
            raise ValueError("it was sent `mocks`, and its answer has no `mock_calls`")
        return read_calls(told, request.mocks)
    except ValueError as error:
        complaint = f"the provider did not say what its mocks did: {error}"
        raise ProviderError("respond", complaint, kind=Kind.PROTOCOL, usage=read_usage(said.get("usage"))) from None


def _shown(said: dict[str, Any]) -> str:
    return visible(quoted(json.dumps(said, ensure_ascii=False)))
