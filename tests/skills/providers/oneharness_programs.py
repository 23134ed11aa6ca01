"""Programs that stand in for `oneharness`, and for the `claude` that the real one starts."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

# As the program was when its first users built upon it, and as it is now.
EARLY = "--harness --compact --timeout --prompt-file --model --system --resume"
LATE = f"{EARLY} --system-file --events --mock-rules --spy-file --config"

FAKE = """\
import json, os, sys
said = json.load(open({script!r}))
words = sys.argv[1:]
stdin = sys.stdin.read()
def after(flag):
    return words[words.index(flag) + 1] if flag in words else None
files = {{flag: open(after(flag)).read() for flag in ("--system-file", "--mock-rules") if flag in words}}
with open({log!r}, "a") as log:
    log.write(json.dumps({{"argv": words, "stdin": stdin, "cwd": os.getcwd(), "files": files,
                           "around": sorted(os.listdir())}}) + "\\n")
if words == ["--version"]:
    print("oneharness", said["version"])
elif words == ["run", "--help"]:
    print(said["help"])
elif words[0] in ("list", "detect"):
    print(json.dumps(said[words[0]]))
else:
    if said["hangs"]:
        import time
        time.sleep(60)
    if said["spy"] is not None and after("--spy-file"):
        open(after("--spy-file"), "w").write(said["spy"])
    sys.stdout.write(said["run"])
    sys.stderr.write(said["stderr"])
    sys.exit(said["exit"])
"""

# It does what a scripted agent cannot: it has its hooks decide about the one command that it would run.
HOOKED_CLAUDE = """\
import json, subprocess, sys
words = sys.argv[1:]
settings = json.load(open(words[words.index("--settings") + 1]))
call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push"}, "session_id": "s"}
(hook,) = settings["hooks"]["PreToolUse"][0]["hooks"]
decided = subprocess.run(hook["command"], shell=True, input=json.dumps(call), capture_output=True, text=True).stdout
answer = json.loads(decided)["hookSpecificOutput"] if decided.strip() else {}
use = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "git push"}}
print(json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [use]}}))
print(json.dumps({"type": "result", "is_error": False, "result": answer.get("permissionDecisionReason", "pushed")}))
"""


class FakeOneharness:
    """A program that answers as `oneharness` does, with what it was told to say."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "oneharness"
        self._script = folder / "said.json"
        self._log = folder / "asked.jsonl"
        body = FAKE.format(script=str(self._script), log=str(self._log))
        (folder / "oneharness.py").write_text(body)
        words = shlex.join([sys.executable, "-I", "-S", str(folder / "oneharness.py")])
        self.path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        self.path.chmod(0o755)
        self.says({"text": "hi"})

    def says(self, result: dict[str, Any] | None, **changes: Any) -> None:
        """Give this result of a run, with `status` ok unless it says otherwise."""
        results = [] if result is None else [{"status": "ok", **result}]
        usual = {
            "version": "0.26.1",
            "help": LATE,
            "list": {
                "harnesses": [{"id": name, "supports_resume": True} for name in ("claude-code", "codex", "goose")]
            },
            "detect": {"detected": [{"id": "claude-code", "version": "2.1"}]},
            "run": json.dumps({"results": results}),
            "stderr": "",
            "spy": None,
            "exit": 0,
            "hangs": False,
        }
        self._script.write_text(json.dumps({**usual, **changes}))

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The runs that were asked for, without the questions about the program itself."""
        calls = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [call for call in calls if call["argv"][0] == "run" and "--help" not in call["argv"]]

    @property
    def argv(self) -> list[str]:
        return self.runs[-1]["argv"]


def install_claude(path: Path, program: str) -> Path:
    """Make a program of Python the `claude` of a PATH, which writes down its arguments beside itself."""
    source = path.with_suffix(".py")
    source.write_text(program)
    words = shlex.join([sys.executable, "-I", "-S", str(source)])
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {shlex.quote(str(path))}.argv\nexec {words} "$@"\n')
    path.chmod(0o755)
    return path
