"""How a request is put to a described agent: what goes into its words, its variables, files, and stdin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from trueup.core.errors import InputError, Kind

from ._described_model import Described
from ._described_template import File, Filled, Part, Word, fill_env, fill_words, names_of_env, names_of_words
from ._protocol import HarnessRequest, Mode

MOST_ON_ARGV = 64 * 1024

# A file without a name: nothing is left of it whatever becomes of the agent, whose descendants can read it meanwhile.
_LAY_OUT = """set -e
all=$(mktemp) prompt=$(mktemp) system=$(mktemp)
trap 'rm -f "$all" "$prompt" "$system"' EXIT
cat >"$all"
head -c "$1" "$all" >"$prompt"
tail -c "+$(($1 + 1))" "$all" >"$system"
exec 8<"$prompt" 9<"$system"
rm -f "$all" "$prompt" "$system"
trap - EXIT
"""


class Put(Struct, frozen=True, kw_only=True):
    """A request as the operating system takes it."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    stdin: bytes


def put(description: Described, program: str, request: HarnessRequest, new_session: str | None) -> Put:
    """Put a request into the places that a description has for it; an `InputError` where it has none."""
    words = _template(description, request)
    names = names_of_words(words) | names_of_env(description.env)
    _refuse_what_has_no_place(request, names)
    told = _Texts(request, names)
    on_stdin = description.stdin == "prompt" or (description.stdin is None and not told.holds_prompt)
    if not on_stdin and not told.holds_prompt:
        raise InputError(
            f"the prompt is larger than {MOST_ON_ARGV >> 10} KiB, which is too much for a word: "
            "put {prompt_file} into the agent's words, or let it read stdin",
            kind=Kind.INPUT_TOO_LARGE,
        )
    values = {**_values(request, new_session), **told.values}
    argv = [(program,), *fill_words(words[1:], values, _mode_words(description, request.mode))]
    env = fill_env(description.env, values)
    if any(isinstance(part, File) for filled in (*argv, *env.values()) for part in filled):
        return _with_files(argv, env, told, on_stdin=on_stdin)
    return Put(
        argv=tuple(_plain(filled) for filled in argv),
        env={name: _plain(filled) for name, filled in env.items()},
        stdin=told.prompt if on_stdin else b"",
    )


def _template(description: Described, request: HarnessRequest) -> Sequence[Word]:
    if request.resume is None or description.resume is None:
        return description.argv
    return description.resume


def _refuse_what_has_no_place(request: HarnessRequest, names: set[str]) -> None:
    """What an agent is never told it cannot heed, and who asked for it would believe otherwise."""
    asked = {
        "session": request.resume,
        "model": request.model,
        "turns": request.turns,
        "budget_usd": request.budget_usd,
    }
    missing = [name for name, value in asked.items() if value is not None and name not in names]
    if missing:
        places = ", ".join(f"{{{name}}}" for name in missing)
        raise InputError(f"the agent cannot be told what is asked of it: its description has no place for {places}")


def _mode_words(description: Described, mode: Mode) -> Sequence[str]:
    if not description.modes and mode is Mode.FULL:
        return ()
    if mode not in description.modes:
        known = ", ".join(description.modes) or Mode.FULL
        raise InputError(
            f"nothing would keep the agent to mode {mode.value!r}: its description has only {known}; "
            f"choose that, or describe `modes.{mode.value}`"
        )
    return description.modes[mode]


class _Texts:
    """The prompt and the system prompt, each in the first place that can hold it."""

    def __init__(self, request: HarnessRequest, names: set[str]) -> None:
        self.values: dict[str, Part] = {}
        self.system = _bytes(request.system or "")
        self.prompt = _bytes(request.prompt)
        if self.system and not self._placed("system", self.system, File.SYSTEM, names):
            # Where an agent knows no such thing, it is told first.
            self.prompt = self.system + b"\n\n" + self.prompt
        self.holds_prompt = self._placed("prompt", self.prompt, File.PROMPT, names)

    def _placed(self, name: str, text: bytes, file: File, names: set[str]) -> bool:
        if name in names and len(text) <= MOST_ON_ARGV and b"\0" not in text:
            self.values[name] = text.decode()
            return True
        if f"{name}_file" in names:
            self.values[f"{name}_file"] = file
            return True
        return False


def _values(request: HarnessRequest, new_session: str | None) -> dict[str, Part]:
    told = {
        "model": request.model,
        "session": request.resume,
        "new_session": new_session,
        "turns": request.turns,
        "budget_usd": request.budget_usd,
    }
    return {name: str(value) for name, value in told.items() if value is not None}


def _with_files(argv: Sequence[Filled], env: Mapping[str, Filled], told: _Texts, *, on_stdin: bool) -> Put:
    """The same by way of a shell, which has the texts in files and becomes the agent."""
    # No word is written into the script: it only says which of its arguments go where.
    arguments = [str(len(told.prompt))]

    def refer(filled: Filled) -> str:
        referred = ""
        for part in filled:
            if isinstance(part, File):
                referred += f"/proc/$$/fd/{part.value}"
            else:
                arguments.append(part)
                referred += f"${{{len(arguments)}}}"
        return f'"{referred}"'

    exports = "".join(f"export {name}={refer(filled)}\n" for name, filled in env.items())
    words = " ".join(refer(filled) for filled in argv)
    script = f"{_LAY_OUT}{exports}exec {words} <{'&8' if on_stdin else '/dev/null'}\n"
    return Put(argv=("/bin/sh", "-c", script, "sh", *arguments), env={}, stdin=told.prompt + told.system)


def _plain(filled: Filled) -> str:
    return "".join(str(part) for part in filled)


def _bytes(text: str) -> bytes:
    # Half a character is none that a program could be given.
    return text.encode(errors="replace")
