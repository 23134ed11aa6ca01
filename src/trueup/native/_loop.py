"""The loop: ask the model, do what it asks for, tell it what came of that, until it asks for nothing more."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from trueup.core.errors import Kind, SpawnError
from trueup.core.protocols import Action, Gate, Launcher, Recorder
from trueup.core.usage import Usage
from trueup.model import Access, Answer, Message, ModelError, Request, Retry, ToolOutput, ToolUse, chat

from ._conversation import folded, folded_where_long
from ._hands import Hands, ToolFailedError
from ._stops import Limits, Progress, StoppedError
from ._tools import TOOLS, AnyTool, kind_of, offered, understood
from ._voice import Voice

MAX_TOKENS = 16_384
# Answers that never came, or not readably, may be on the bill.
MAY_BE_PAID = frozenset({Kind.TIMEOUT, Kind.NETWORK, Kind.PROTOCOL})
TOO_LONG = frozenset({Kind.CONTEXT_LENGTH, Kind.INPUT_TOO_LARGE})

SYSTEM = """\
You are a programmer who works alone in a checkout. Working directory: {root}

Do what you are asked by using your tools, and look before you change anything. Each command starts anew in the working
directory, without a terminal. When something fails, read why, and try something else. Run what shows whether your work
is right before you say that it is done. When it is done, answer with a few words and no tool call: that ends the work.
Nobody can answer a question; where something is open, decide, and say so at the end."""

CUT = "Your answer was cut at the most tokens that one may have. Go on in smaller steps."
BLANK = "Your answer was blank. Go on, or say in a few words that you are done."
NOT_RUN = "not run: the answer was cut, and this call may not be whole"
SEEN_BEFORE = "\n[the same call gave the same result before; try something else]"


class Job(Struct, frozen=True, kw_only=True):
    """What is to be done, and by which model.

    `history` is a conversation to go on with (`Outcome.history` of an earlier job), `system` is said after our own
    words, `tools` are the names of those that the model may use, `env` is added to what its programs see.
    """

    prompt: str
    model: str
    system: str | None = None
    history: Sequence[Message] = ()
    tools: Sequence[str] = TOOLS
    limits: Limits = Limits()
    access: Access = Access()
    max_tokens: int = MAX_TOKENS
    env: Mapping[str, str] = {}


class Outcome(Struct, frozen=True, kw_only=True):
    """How a job ended. `ok` where the model said that it is done, which is not the same as that it is.

    `text` is the last that it said, `denied` what the gate refused, `turns` how often it answered.
    """

    ok: bool
    text: str
    usage: Usage
    turns: int
    denied: list[str]
    history: list[Message]
    failure_kind: Kind | None = None
    error: str = ""


async def work(job: Job, launcher: Launcher, recorder: Recorder, voice: Voice, gate: Gate | None = None) -> Outcome:
    """Have a model do a job. What the model or its server does is in the outcome; what the machine does is raised.

    Leaving, also by cancellation, ends the call of the model and everything that a tool has started.
    """
    loop = _Loop(job, await Hands.reach(launcher, job.env), recorder, voice, gate)
    try:
        await loop.until_done()
    except (StoppedError, ModelError) as error:
        return loop.outcome(error)
    return loop.outcome(None)


class _Loop:
    """One conversation while it goes on."""

    def __init__(self, job: Job, hands: Hands, recorder: Recorder, voice: Voice, gate: Gate | None) -> None:
        self._job = job
        self._hands = hands
        self._recorder = recorder
        self._voice = voice
        self._gate = gate
        self._progress = Progress()
        self._messages = [*job.history, Message(text=job.prompt)]
        self._calls: list[Usage] = []
        self._denied: list[str] = []
        self._text = ""

    async def until_done(self) -> None:
        """Go on turn by turn; an error where it has to end otherwise."""
        while True:
            self._progress.check()
            answer = await self._ask()
            cut = self._progress.note_answer(answer)
            self._messages.append(answer.message)
            if cut:
                # What was asked for last may not be whole: half a file must not be written.
                not_run = [ToolOutput(call.id, NOT_RUN, ok=False) for call in answer.tool_calls]
                self._messages.append(Message(tool_results=not_run, text=CUT))
            elif answer.tool_calls:
                results = [await self._answer_call(call) for call in answer.tool_calls]
                if self._progress.note(answer.tool_calls, results):
                    results[-1] = replace(results[-1], text=results[-1].text + SEEN_BEFORE)
                self._messages.append(Message(tool_results=results))
            else:
                return

    def outcome(self, error: StoppedError | ModelError | None) -> Outcome:
        used = Usage.total(self._calls)
        lost = isinstance(error, ModelError) and error.usage is None and error.kind in MAY_BE_PAID
        return Outcome(
            ok=error is None,
            text=self._text,
            usage=replace(used, incomplete=True) if lost else used,
            turns=len(self._calls),
            denied=self._denied,
            history=self._messages,
            failure_kind=None if error is None else error.kind,
            error="" if error is None else str(error),
        )

    async def _ask(self) -> Answer:
        self._messages = folded_where_long(self._messages)
        try:
            answer = await self._ask_once()
        except ModelError as error:
            better = self._asked_better(error)
            if better is None:
                raise
            self._messages = better
            answer = await self._ask_once()
        if answer.text.strip():
            self._text = answer.text
            await self._recorder.record(self._voice.message(answer.text))
        return answer

    def _asked_better(self, error: ModelError) -> list[Message] | None:
        """The conversation as it may be answered after all, or None where asking again would not help."""
        if error.kind in TOO_LONG:
            # The last turn goes too where nothing else is left: the model can call for less of it again.
            folds = (folded(self._messages, kept_turns) for kept_turns in (1, 0))
            return next((shorter for shorter in folds if shorter != self._messages), None)
        # It was paid for and read, so it was blank: some models end like this after a tool's result.
        is_blank = error.kind is Kind.PROTOCOL and error.usage is not None
        return [*self._messages, Message(text=BLANK)] if is_blank else None

    async def _ask_once(self) -> Answer:
        job = self._job
        job.limits.check(self._calls)
        own = SYSTEM.format(root=self._hands.root)
        request = Request(
            model=job.model,
            system=f"{own}\n\n{job.system}" if job.system else own,
            messages=self._messages,
            tools=[offered(name) for name in job.tools],
            max_tokens=job.max_tokens,
        )
        try:
            answer = await chat(request, job.access, self._tell_retry)
        except ModelError as error:
            if error.usage is not None:
                await self._meter(error.usage)
            elif error.kind in MAY_BE_PAID:
                await self._recorder.record(self._voice.usage(Usage(incomplete=True)))
            raise
        await self._meter(answer.usage)
        return answer

    async def _tell_retry(self, retry: Retry) -> None:
        await self._recorder.record(self._voice.retried(retry.attempt, str(retry)))

    async def _meter(self, usage: Usage) -> None:
        self._calls.append(usage)
        await self._recorder.record(self._voice.usage(usage))

    async def _answer_call(self, call: ToolUse) -> ToolOutput:
        await self._recorder.record(self._voice.tool_call(call.name, call.id, kind_of(call.name), call.input))
        started = time.monotonic()
        try:
            text, ok = await self._use(call), True
        except (ToolFailedError, SpawnError) as error:
            text, ok = str(error).strip(), False
        await self._recorder.record(self._voice.tool_result(call.id, ok, text, time.monotonic() - started))
        return ToolOutput(call.id, text, ok)

    async def _use(self, call: ToolUse) -> str:
        if call.error:
            raise ToolFailedError(call.error)
        if call.name not in self._job.tools:
            raise ToolFailedError(f"there is no tool {call.name!r}; there are {', '.join(self._job.tools)}")
        tool = understood(call.name, call.input)
        await self._pass_gate(call, tool)
        return await tool.use(self._hands)

    async def _pass_gate(self, call: ToolUse, tool: AnyTool) -> None:
        if self._gate is None:
            return
        params = tool.params(self._hands)
        decision = await self._gate.decide(Action(call.name, params))
        await self._recorder.record(self._voice.permission(call.id, call.name, decision.allowed, decision.reason))
        if not decision.allowed:
            self._denied.append(str(params["command" if "command" in params else "path"]))
            reason = decision.reason or f"by rule {decision.rule}"
            raise ToolFailedError(f"refused: {reason}; do not try to get around it")
