"""Where a real agent works in tests: an empty folder and a home, a scripted model for a vendor, and all that it told."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct, structs

from trueup.core.process import Command, Process
from trueup.core.protocols import Action, Decision
from trueup.harness import Capabilities, HarnessRequest, HarnessResult, capabilities_of, find_harness
from trueup.testing import EventLog


class Wire(Struct, frozen=True):
    """By which variables an agent finds a vendor, and a model of the vendor's."""

    url: str
    key: str
    model: str
    suffix: str = ""

    def variables(self, url: str) -> dict[str, str]:
        return {self.url: f"{url}{self.suffix}", self.key: "sk-scripted"}


ANTHROPIC = Wire("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "claude-sonnet-4-5")
OPENAI = Wire("OPENAI_BASE_URL", "OPENAI_API_KEY", "gpt-5", "/v1")
GEMINI = Wire("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "gemini-2.5-pro")
WIRES = {
    "opencode": OPENAI,
    "gemini": GEMINI,
    "goose": ANTHROPIC,
    "pi": OPENAI,
    "claude-code": ANTHROPIC,
    "codex": OPENAI,
}


class Denies:
    """A gate that refuses what names a word, and remembers what it was asked."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[Action] = []

    async def decide(self, action: Action) -> Decision:
        self.asked.append(action)
        refused = self.word in str(action.params)
        return Decision(allowed=not refused, reason="not in this house" if refused else "")


class Overheard(Process):
    """A process that keeps what is written to it."""

    def __init__(self, command: Command, heard: bytearray) -> None:
        super().__init__(command)
        self._heard = heard

    async def write(self, data: bytes) -> None:
        self._heard += data
        await super().write(data)


class Desk:
    """A `Launcher`, an agent that is started by it, and everything that was said on both sides."""

    def __init__(self, name: str, programs: Path, root: Path) -> None:
        self.name = name
        self.wire = WIRES[name.removeprefix("acp:")]
        self.home = root / "home"
        self.folder = root / "work"
        scratch = root / "scratch"
        for made in (self.home, self.folder, scratch):
            made.mkdir(parents=True)
        self.environ = {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(scratch),
        }
        self.log = EventLog()
        self.heard = bytearray()

    @property
    def speaks_acp(self) -> bool:
        return self.name.startswith("acp:")

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of(self.name, self.environ, self.folder)

    @asynccontextmanager
    async def launch(self, command: Command):
        env = {**self.environ, **(command.env or {})}
        async with Overheard(structs.replace(command, env=env), self.heard) as process:
            yield process

    async def run(self, url: str, prompt: str = "do it", gate: Denies | None = None, **more) -> HarnessResult:
        usual = {"cwd": str(self.folder), "model": self.wire.model, "timeout_secs": 120}
        request = HarnessRequest(prompt=prompt, env=self.wire.variables(url), **{**usual, **more})
        harness = find_harness(self.name, self.environ, self.folder)
        return await harness.run(request, self, self.log, gate)

    def told(self, kind):
        return [event for event in self.log.events if isinstance(event, kind)]

    def processes(self) -> list[str]:
        """Whatever still runs with the home of this desk."""
        return [entry.parent.name for entry in Path("/proc").glob("[0-9]*/environ") if self._is_home_in(entry)]

    def _is_home_in(self, environ: Path) -> bool:
        try:
            return f"HOME={self.home}".encode() in environ.read_bytes().split(b"\0")
        except OSError:
            return False
