"""An agent CLI that does what a script says: `python -m trueup.testing.agent`, or this file by its path.

It needs nothing but the standard library, so that it starts quickly, also with `-I -S`. The script comes from
`--script FILE`, else from the variable TRUEUP_AGENT_SCRIPT, else from the prompt: an argument, the file that
TRUEUP_PROMPT_FILE names, or stdin. `--speak` has it tell of itself as trueup's `command:` protocol wants it
(the default), as Claude Code does, or as Codex does; arguments of those that it does not know are ignored.
"""
# Files are handled without pathlib, which would cost more than the rest of the start.
# ruff: noqa: PTH100, PTH103, PTH120, PTH123

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator

FENCE = re.compile(r"^[ \t>]*```+[ \t]*script[ \t]*\n(.*?)^[ \t>]*```+[ \t]*$", re.DOTALL | re.MULTILINE)
MARKED = re.compile(r"^[ \t>*-]*SCRIPT:[ \t]?(.*)$", re.MULTILINE)
VALUE = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
VERSIONS = {"trueup": "scripted-agent 1.0.0", "claude": "2.1.325 (Claude Code)", "codex": "codex-cli 0.163.0"}
TOKENS = {"input": 1000, "output": 50, "cache_read": 200, "cache_write": 0}
GARBAGE = b'\xff\xfe not JSON {"type": \x00\n'


class Line:
    """One line of a script. `joined` by a `+` to the answer of the line before."""

    def __init__(self, word: str, rest: str, joined: bool) -> None:
        self.word = word
        self.rest = rest
        self.joined = joined


def find_script(text: str) -> str | None:
    """The script in a prompt: what is fenced as ```script, else the lines that begin with `SCRIPT:`."""
    fenced = FENCE.findall(text)
    if fenced:
        return "\n".join(fenced)
    marked = MARKED.findall(text)
    return "\n".join(marked) if marked else None


def lines_of(script: str) -> Iterator[Line]:
    """The lines of a script, without blank ones and `#` comments."""
    for line in script.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        joined = stripped.startswith("+")
        word, _, rest = stripped.removeprefix("+").strip().partition(" ")
        yield Line(word, rest.strip(), joined)


def quoted(text: str) -> str:
    """A text as it stands, or, in double quotes, as JSON reads it."""
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        return str(json.loads(text))
    return text


def named_values(text: str) -> dict[str, str]:
    """The `name=value` pairs of a line; a value with blanks is in double quotes."""
    return {name: quoted(value) for name, value in VALUE.findall(text)}


class Finish(Exception):  # noqa: N818 - it is an end, not an error
    """The script says that the program ends here."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def tell(record: dict[str, object]) -> None:
    """Write one line of JSON."""
    write((json.dumps(record) + "\n").encode())


def write(data: bytes, file: int = 1) -> None:
    """Write all of it, to stdout or stderr, now."""
    while data:
        data = data[os.write(file, data) :]


class Spent:
    """What the run used so far: as the script tells, else something plausible for each turn."""

    def __init__(self) -> None:
        self.turns = 0
        self.is_scripted = False
        self._told: dict[str, float] = {}

    def add(self, amounts: dict[str, float]) -> None:
        for name, amount in amounts.items():
            self._told[name] = self._told.get(name, 0) + amount

    def of(self, name: str) -> int:
        return int(self._told.get(name, 0) if self.is_scripted else self.turns * TOKENS[name])

    @property
    def cost_usd(self) -> float:
        return self._told.get("cost", round(self.of("input") * 3e-6 + self.of("output") * 15e-6, 9))


class Voice:
    """How the agent tells what it does, by trueup's `command:` protocol; the others override it."""

    name = "trueup"

    def __init__(self, arguments: list[str]) -> None:
        self.arguments = arguments
        self.spent = Spent()
        self.text = ""
        self.session = self._session() or os.urandom(16).hex()
        self.session = re.sub(r"^(.{8})(.{4})(.{4})(.{4})(.{12})$", r"\1-\2-\3-\4-\5", self.session)

    def _session(self) -> str | None:
        return None

    def prompt_from_stdin(self) -> str:
        return sys.stdin.buffer.read().decode(errors="replace")

    def start(self) -> None:
        """Say who is here."""

    def say(self, text: str) -> None:
        self.text = text
        write(f"{text}\n".encode())

    def think(self, text: str) -> None:
        """Thoughts have no place in this protocol."""

    def plan(self, text: str) -> None:
        tell({"trueup": "plan", "text": text})

    def may(self, call: str, name: str, arguments: dict[str, object]) -> bool:
        """Whether the tool may be used; who is not asked agrees."""
        return True

    def call(self, call: str, name: str, arguments: dict[str, object]) -> None:
        tell({"trueup": "tool_call", "id": call, "name": name, "arguments": arguments})

    def result(self, call: str, output: str, code: int) -> None:
        tell({"trueup": "tool_result", "id": call, "output": output, "failed": code != 0})

    def usage(self, amounts: dict[str, float]) -> None:
        self.spent.add(amounts)
        names = {"cost": "cost_usd", **{name: f"{name}_tokens" for name in TOKENS}}
        whole = {name: amount if name == "cost" else int(amount) for name, amount in amounts.items()}
        tell({"trueup": "usage", **{names.get(name, name): amount for name, amount in whole.items()}})

    def error(self, kind: str, message: str) -> None:
        tell({"trueup": "error", "kind": kind, "message": message})

    def end(self) -> None:
        """Say that it went well."""


class Agent:
    """Does what the lines of a script say, one after another."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._calls = 0
        self._words: dict[str, Callable[[str], None]] = {
            "say": lambda rest: voice.say(quoted(rest)),
            "think": lambda rest: voice.think(quoted(rest)),
            "plan": lambda rest: voice.plan(quoted(rest)),
            "shell": lambda rest: self._use("shell", {"command": rest}, lambda: run(rest)),
            "read": lambda rest: self._use("read", {"path": rest}, lambda: read_file(rest)),
            "write": self._write,
            "edit": self._edit,
            "tool": self._tool,
            "usage": lambda rest: voice.usage({name: float(value) for name, value in named_values(rest).items()}),
            "error": self._error,
            "print": lambda rest: write(f"{quoted(rest)}\n".encode()),
            "garbage": lambda _: write(GARBAGE),
            "stderr": lambda rest: write(f"{quoted(rest)}\n".encode(), 2),
            "sleep": lambda rest: time.sleep(float(rest)),
            "hang": lambda _: hang(),
            "ignore-term": lambda _: ignore_term(),
            "daemon": leave_daemon,
            "kill": lambda rest: os.kill(os.getpid(), signal.Signals[f"SIG{rest.removeprefix('SIG')}"]),
            "exit": self._exit,
        }

    def follow(self, script: str) -> None:
        for line in lines_of(script):
            if line.word not in self._words:
                raise ValueError(f"unknown word {line.word!r}; a line begins with one of {', '.join(self._words)}")
            if not line.joined and line.word in {"say", "think", "shell", "read", "write", "edit", "tool"}:
                self._voice.spent.turns += 1
            self._words[line.word](line.rest)

    def _use(self, name: str, arguments: dict[str, object], tool: Callable[[], tuple[int, str]]) -> None:
        self._calls += 1
        call = f"call_{self._calls}"
        self._voice.call(call, name, arguments)
        allowed = self._voice.may(call, name, arguments)
        try:
            code, output = tool() if allowed else (1, "permission denied")
        except OSError as error:
            code, output = 1, str(error)
        self._voice.result(call, output, code)

    def _write(self, rest: str) -> None:
        path, _, content = rest.partition(" ")
        told: dict[str, object] = {"path": path, "content": quoted(content)}
        self._use("write", told, lambda: write_file(path, quoted(content)))

    def _edit(self, rest: str) -> None:
        path, _, pair = rest.partition(" ")
        old, new = json.loads(f"[{pair}]")
        told: dict[str, object] = {"path": path, "old": old, "new": new}
        self._use("edit", told, lambda: write_file(path, read_file(path)[1].replace(old, new, 1)))

    def _tool(self, rest: str) -> None:
        name, _, arguments = rest.partition(" ")
        self._use(name, json.loads(arguments or "{}"), lambda: (0, ""))

    def _error(self, rest: str) -> None:
        kind, _, message = rest.partition(" ")
        self._voice.error(kind, quoted(message))
        raise Finish(1)

    def _exit(self, rest: str) -> None:
        raise Finish(int(rest or 0))


def run(command: str) -> tuple[int, str]:
    """Run a command, and give what it printed when it ends, also if something it left behind could still print."""
    heard = os.memfd_create("output")
    # Its stdin is not ours: what is said there is for the agent.
    nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    files = [nothing, (os.POSIX_SPAWN_DUP2, heard, 1), (os.POSIX_SPAWN_DUP2, heard, 2)]
    child = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ, file_actions=files)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.lseek(heard, 0, os.SEEK_SET)
    with os.fdopen(heard, "rb") as output:
        return code, output.read().decode(errors="replace")


def read_file(path: str) -> tuple[int, str]:
    with open(path, encoding="utf-8") as file:
        return 0, file.read()


def write_file(path: str, content: str) -> tuple[int, str]:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return 0, f"written: {path}"


def hang() -> None:
    while True:
        time.sleep(3600)


def ignore_term() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def leave_daemon(command: str) -> None:
    """Start a command in a session of its own, nobody's child, with our stdout still in its hands."""
    if child := os.fork():
        os.waitpid(child, 0)
        return
    os.setsid()
    os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ)
    os._exit(0)


def option(arguments: list[str], name: str) -> str | None:
    """The value of an option, as `--name value` or `--name=value`."""
    for number, word in enumerate(arguments):
        if word == name and number + 1 < len(arguments):
            return arguments[number + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def voice_for(name: str) -> type[Voice]:
    """The voice of that name; those of real agents are in a file beside this one, which may be started by its path."""
    if name == "trueup":
        return Voice
    sys.modules.setdefault("trueup.testing.agent", sys.modules[__name__])
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        found = __import__("_agent_voices").VOICES.get(name)
    finally:
        del sys.path[0]
    if found is None:
        raise ValueError(f"unknown --speak {name!r}: trueup, claude or codex")
    return found  # type: ignore[no-any-return]


def script_for(voice: Voice) -> str:
    """The script, from the first place that has one. A prompt without one has the agent only say something."""
    file = option(voice.arguments, "--script")
    if file:
        return read_file(file)[1]
    if "TRUEUP_AGENT_SCRIPT" in os.environ:
        return os.environ["TRUEUP_AGENT_SCRIPT"]
    for argument in voice.arguments:
        if found := find_script(argument):
            return found
    named = os.environ.get("TRUEUP_PROMPT_FILE")
    prompt = read_file(named)[1] if named else voice.prompt_from_stdin()
    return find_script(prompt) or "say Nothing was scripted."


def main(arguments: list[str]) -> int:
    """Follow the script, and end as it says."""
    name = option(arguments, "--speak") or "trueup"
    if "--version" in arguments:
        write(f"{VERSIONS[name]}\n".encode())
        return 0
    try:
        voice = voice_for(name)(arguments)
        script = script_for(voice)
        voice.spent.is_scripted = any(line.word == "usage" for line in lines_of(script))
        voice.start()
        Agent(voice).follow(script)
        voice.end()
    except Finish as finish:
        return finish.code
    except (ValueError, KeyError, OSError, ImportError) as error:
        sys.stderr.write(f"scripted agent: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
