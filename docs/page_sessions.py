"""The pages of sessions for pictures: a small repository, and engines that are really run on it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from trueup.coder import Absent, Accept, CodeRequest, Leave, Limits, Person, Proposal, Sessions, Told
from trueup.core.process import Command, run
from trueup.daemon import Daemon

FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return add(a, a)\n",
    "tests/__init__.py": "",
    "tests/test_calc.py": (
        "import unittest\n\nfrom calc import add\n\n\nclass AddTest(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
    ),
}
CHECKS = [
    {"name": "suite", "command": "python3 -m unittest discover -s tests -t . -q"},
    {"name": "compiles", "command": "python3 -m py_compile calc.py"},
]
# The test is made to fit first; told what is wrong with that, the mistake is mended.
AGENT = """
used() { echo '{"trueup": "usage", "input_tokens": '"$1"', "output_tokens": 120, "cost_usd": '"$2"'}'; }
if grep -q ', -1)' tests/test_calc.py; then
  sed -i 's/, -1)/, 5)/' tests/test_calc.py
  sed -i 's/return a - b/# The sign was wrong.\\n    return a + b/' calc.py
  used 2300 0.0081; echo "add() adds now."
else
  sed -i 's/, 5)/, -1)/' tests/test_calc.py
  used 1900 0.0067; echo "All tests pass."
fi
"""


class _Silence:
    async def hear(self, told: Told) -> None:
        pass


class _Undecided(Absent):
    """A person who leaves the contract for later."""

    async def confirm(self, proposal: Proposal) -> Accept | Leave:
        return Leave("the contract waits for somebody to agree to it")


async def sessions(daemon: Daemon) -> str:
    """Sessions in several states."""
    await _session(daemon, "Say which version this is", Absent(), engine="command:true")
    await _session(daemon, "add() adds its arguments, negative ones too", Absent())
    await _session(daemon, "Make add() correct", Absent(yes=True))
    await _session(daemon, "double() takes any number", _Undecided())
    return "/sessions"


async def session(daemon: Daemon) -> str:
    """A session whose engine cheated first, and whose change waits for approval."""
    return f"/sessions/{await _session(daemon, 'Make add() correct', Absent())}"


async def session_approval(daemon: Daemon) -> str:
    """What somebody sees who is about to approve."""
    return f"{await session(daemon)}/approve"


async def _session(daemon: Daemon, intent: str, person: Person, engine: str | None = None) -> str:
    folder = Path(os.environ["XDG_DATA_HOME"])
    repository = await _repository(folder / "calculator")
    contract, agent = folder / "contract.json", folder / "agent.sh"
    contract.write_text(json.dumps({"description": "add() adds", "checks": CHECKS}))
    agent.write_text(AGENT)
    request = CodeRequest(
        intent=intent,
        folder=str(repository),
        engine=engine or f"command:bash {shlex.quote(str(agent))}",
        contract_file=str(contract),
        limits=Limits(iterations=3),
    )
    return (await Sessions(daemon.store).start(request, person, _Silence())).id


async def _repository(folder: Path) -> Path:
    if (folder / ".git").exists():
        await _bash(folder, "git checkout -q -- . && sed -i 's/a + b/a - b/' calc.py && git commit -qam again || true")
        return folder
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    await _bash(
        folder,
        "git init -q -b main && git config user.name Ada && git config user.email ada@example.org"
        " && printf '__pycache__/\\n' > .gitignore && git add -A && git commit -qm first",
    )
    return folder


async def _bash(folder: Path, script: str) -> None:
    finished = await run(Command(argv=("bash", "-euc", script), cwd=folder, env=os.environ, merge_stderr=True))
    if finished.exit_code != 0:
        raise RuntimeError(finished.stdout.text)
