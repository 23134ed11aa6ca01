"""What the demo plays on: a folder of its own with a repository, a scripted model, and commands shown as they run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
PATIENCE_SECS = 60
# What could lead out of the demo: settings and databases of yours, keys, another repository, a proxy.
LEADS_OUT = ("TRUEUP_", "GIT_", "ANTHROPIC_", "OPENAI_")


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def shown(line: str) -> None:
    print(f"    {line.rstrip()}".rstrip(), flush=True)


class Stage:
    """A folder that nothing else uses, and the commands that are run in it."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.repo = scratch / "slugs"
        self.skills = scratch / "greeter"
        self.environ = _environ(scratch)

    def lay_out(self, files: Mapping[str, str]) -> None:
        """Make the repository, with these files in its first commit."""
        for name, content in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.git("init", "-q", "-b", "main")
        self.commit("A slug with a bug")

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def git(self, *arguments: str) -> str:
        done = self._run("git", *arguments, cwd=self.repo)
        if done.returncode:
            raise SystemExit(f"git {shlex.join(arguments)}: {done.stderr.strip() or f'exit {done.returncode}'}")
        return done.stdout

    def play(self, *command: str, cwd: Path | None = None) -> int:
        """Run a command, and show it and every line it prints as it comes."""
        print(f"  $ {shlex.join(command)}", flush=True)
        with subprocess.Popen(
            self._argv(command),
            cwd=cwd or self.repo,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        ) as process:
            for line in process.stdout or ():
                shown(line)
        shown(f"exit {process.returncode}")
        return process.returncode

    def ask(self, *command: str) -> Any:
        """What a command says in JSON, without showing it; None if it says nothing."""
        done = self._run(*command, "--json", cwd=self.repo if self.repo.exists() else self.scratch)
        return json.loads(done.stdout) if done.stdout else None

    @contextmanager
    def model(self, script: Path) -> Iterator[Model]:
        """A scripted model, in a process of its own that listens on loopback."""
        heard = self.scratch / "model.jsonl"
        words = (sys.executable, "-m", "trueup.testing.model", "--script", str(script), "--until-eof")
        with (
            heard.open("wb") as output,
            subprocess.Popen(words, env=self.environ, stdin=subprocess.PIPE, stdout=output) as process,
        ):
            yield Model(heard, process)

    @contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[str]]:
        """`trueup serve` on a free port, with what the demo left."""
        with subprocess.Popen(
            self._argv(("trueup", "serve", "--port", "0")),
            cwd=self.repo,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        ) as process:
            try:
                yield process
            finally:
                process.terminate()
                # Its last words say where everything is kept, which is about to be removed.
                process.communicate()

    def _argv(self, command: tuple[str, ...]) -> list[str]:
        # The trueup of this environment, also where another one is installed.
        return [str(BIN / command[0]), *command[1:]] if command[0] == "trueup" else list(command)

    def _run(self, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._argv(command), cwd=cwd, env=self.environ, check=False, encoding="utf-8", capture_output=True
        )


class Model:
    """The scripted model while it runs, and what it was asked."""

    def __init__(self, heard: Path, process: subprocess.Popen[bytes]) -> None:
        self._heard = heard
        self._process = process
        self.url = self._address()

    def prompts(self) -> list[str]:
        """The prompt of every request, as it came over HTTP."""
        return [json.loads(line)["prompt"] for line in self._lines()[1:]]

    def _address(self) -> str:
        begun = time.monotonic()
        while not self._lines():
            if self._process.poll() is not None or time.monotonic() - begun > PATIENCE_SECS:
                raise SystemExit("the scripted model does not answer; what it said is above")
            time.sleep(0.02)
        url: str = json.loads(self._lines()[0])["url"]
        return url

    def _lines(self) -> list[str]:
        """Whole lines; the last may still be on its way."""
        return self._heard.read_text(encoding="utf-8").split("\n")[:-1]


def _environ(scratch: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LEADS_OUT)}
    own = {f"XDG_{kind}_HOME": str(scratch / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for part in ("AUTHOR", "COMMITTER"):
        git |= {f"GIT_{part}_NAME": "demo", f"GIT_{part}_EMAIL": "demo@example.invalid"}
    return {**kept, **own, **git, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "PYTHONUTF8": "1"}
