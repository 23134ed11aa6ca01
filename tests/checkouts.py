"""Real repositories, built by real git, for tests of any room."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2024-05-01T12:00:00Z",
    "GIT_COMMITTER_DATE": "2024-05-01T12:00:00Z",
}


class Checkout:
    """A folder under git, and the ways in which tests change it."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        if options or not (root / ".git").exists():
            root.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "-b", "main", *options)

    def git(self, *args: str | bytes, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *args],
            cwd=self.root,
            env={**os.environ, **ENVIRONMENT},
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="surrogateescape").rstrip("\n")

    def write(self, path: str | bytes, content: str | bytes = "") -> Path:
        file = self.root / os.fsdecode(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, message: str = "a commit", **files: str) -> str:
        for path, content in files.items():
            self.write(path.replace("__", "/"), content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    @property
    def branch(self) -> str:
        return self.git("rev-parse", "--abbrev-ref", "HEAD")

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def status(self) -> str:
        return self.git("status", "--porcelain")
