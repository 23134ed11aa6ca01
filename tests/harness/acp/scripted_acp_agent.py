"""An ACP agent by a script: `python scripted_acp_agent.py STEPS LOG`.

STEPS is a JSON file: a list of steps, each a list of a word and what belongs to it. LOG gets every line that was heard.
It needs nothing but Python, so that it starts as quickly as a program can.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Agent:
    def __init__(self, log: Path) -> None:
        self._log = log.open("a", buffering=1)
        self._ids = {}
        self._waiting = []

    def play(self, steps: list) -> None:
        for word, *rest in steps:
            getattr(self, f"do_{word}")(*rest)

    def do_hear(self, method: str) -> None:
        """Wait for a request, or a notice, of the client's; others are none that the script knows."""
        while True:
            message = self._next(lambda message: "method" in message)
            if message["method"] == method:
                self._ids[method] = message.get("id")
                return
            if "id" in message:
                error = {"code": -32601, "message": f"the script expects {method}"}
                self._send({"id": message["id"], "error": error})

    def do_answer(self, method: str, result: object) -> None:
        self._send({"id": self._ids[method], "result": result})

    def do_fail(self, method: str, error: object) -> None:
        self._send({"id": self._ids[method], "error": error})

    def do_send(self, message: dict) -> None:
        self._send(message)

    def do_print(self, text: str) -> None:
        print(text, flush=True)

    def do_flood(self, count: int, message: dict) -> None:
        line = json.dumps(message) + "\n"
        for _ in range(count // 100):
            sys.stdout.write(line * 100)
        sys.stdout.flush()

    def do_ask(self, request_id: object, params: dict) -> None:
        self._send({"id": request_id, "method": "session/request_permission", "params": params})

    def do_hear_answer(self, request_id: object, file: str | None = None, allowing: str | None = None) -> None:
        """Wait for an answer; with a file, write it where the option was chosen that allows."""
        message = self._next(lambda message: message.get("id") == request_id and "method" not in message)
        outcome = message.get("result", {}).get("outcome", {})
        if file is not None and outcome.get("optionId") == allowing:
            Path(file).write_text("allowed")

    def do_tell_folder(self) -> None:
        """Tell the folder that the session was opened in, and the one that the program is in."""
        opened = next(
            json.loads(line) for line in Path(self._log.name).read_text().splitlines() if "session/new" in line
        )
        text = json.dumps([opened["params"]["cwd"], os.getcwd()])
        self._send(update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))

    def do_start(self, pid_file: str) -> None:
        """Start a tool in a session of its own, which outlives its agent."""
        tool = subprocess.Popen(["sleep", "600"], start_new_session=True)
        Path(pid_file).write_text(str(tool.pid))

    def do_write(self, file: str) -> None:
        Path(file).write_text("written")

    def do_stderr(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def do_sleep(self, secs: float) -> None:
        time.sleep(secs)

    def do_exit(self, code: int) -> None:
        sys.stdout.flush()
        os._exit(code)

    def do_ignore_sigterm(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def do_stay(self) -> None:
        """Stay, whatever is said."""
        while True:
            time.sleep(60)

    def _send(self, message: dict) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def _next(self, is_wanted) -> dict:
        """The next message that is wanted; others wait until they are."""
        for number, message in enumerate(self._waiting):
            if is_wanted(message):
                return self._waiting.pop(number)
        while line := sys.stdin.readline():
            self._log.write(line)
            message = json.loads(line)
            if is_wanted(message):
                return message
            self._waiting.append(message)
        # An agent ends with its input.
        os._exit(0)


def update(told: dict) -> dict:
    return {"method": "session/update", "params": {"sessionId": "session-1", "update": told}}


if __name__ == "__main__":
    agent = Agent(Path(sys.argv[2]))
    agent.play(json.loads(Path(sys.argv[1]).read_text()))
    agent.do_hear("the end")
