"""A model on loopback that says what a script has it say."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self, cast

from aiohttp import web
from msgspec import structs

from trueup.core.errors import InputError

from ._aside import aside_answer, is_aside
from ._request import ModelRequest
from ._script import InOrder, PerConversation, parse_script
from ._speaker import Speaker
from ._steps import Answer, Fault, Reply, Script, Step, Text, Tokens, as_answer
from ._wires import WIRES

LARGEST_REQUEST = 256 * 1024 * 1024
OVER = Answer([Text("The script is over.")])
MODELS = ("claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "scripted-model")
ENDPOINTS = (
    ("anthropic", re.compile(r"/messages$")),
    ("chat", re.compile(r"/chat/completions$")),
    ("responses", re.compile(r"/responses$")),
    ("gemini", re.compile(r":(generate|streamGenerate)Content$")),
)
COUNTS = re.compile(r"(/count_tokens|:countTokens|/input_tokens)$")


class ScriptedModel:
    """A model behind HTTP: Anthropic Messages, OpenAI Chat Completions and Responses, Gemini; streaming and not.

        async with ScriptedModel([Tool.shell("make"), Text("Done.")]) as model:
            ...  # a client of any of these, at model.url (with /v1 where its SDK wants that)

    Args:
        script: steps that are taken in order, in Python or in words (`parse_script`); or a function of the request
            that is asked each time; or None, and the script is looked for in the prompt.
        per_conversation: each conversation goes through the steps by itself, told apart by its own history.
        after: what is answered when the script is over.
        is_aside: which calls are beside the work, and get something harmless without using up a step.
        usage: what an answer is said to have used, unless it says so itself.
        piece_chars: texts are streamed in pieces of so many characters.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        per_conversation: bool = False,
        after: Reply = OVER,
        is_aside: Callable[[ModelRequest], bool] = is_aside,
        usage: Tokens | None = None,
        piece_chars: int = 24,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.url = ""
        self._pick = _picker(script, per_conversation, as_answer(after))
        self._is_aside = is_aside
        self._usage = usage or Tokens()
        self._piece = piece_chars
        self._where = (host, port)
        self._closing = asyncio.Event()
        self._came = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=LARGEST_REQUEST)
        app.router.add_route("*", "/{path:.*}", self._serve)
        # A client that leaves ends its call here too, also one that hangs.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, *self._where).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        async with self._came:
            self._came.notify_all()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def asked(self) -> list[ModelRequest]:
        """The calls that the script answered, without those beside the work."""
        return [request for request in self.requests if not request.aside]

    async def wait_for(self, calls: int, timeout_secs: float = 30) -> list[ModelRequest]:
        """Wait until the script was asked so many times.

        Raises:
            TimeoutError: it was not.
        """
        async with asyncio.timeout(timeout_secs), self._came:
            await self._came.wait_for(lambda: len(self.asked) >= calls)
        return self.asked

    async def watch(self) -> AsyncIterator[ModelRequest]:
        """Every call as it comes, from the first one on, until the model is closed."""
        for number in itertools.count():
            async with self._came:
                while len(self.requests) <= number and not self._closing.is_set():
                    await self._came.wait()
            if len(self.requests) <= number:
                return
            yield self.requests[number]

    async def _serve(self, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        api = _api(http.method, http.path)
        if api is None:
            return await self._other(http, raw)
        wire = WIRES[api]
        try:
            request = _request(api, http, raw)
            request = structs.replace(request, aside=self._is_aside(request))
            answer = await self._answer(request)
        except (InputError, ValueError, AttributeError, TypeError) as error:
            told = Fault(400, message=f"not understood: {error}")
            await self._note(_unread(api, http, raw, told))
            return web.json_response(wire.error(told, 400), status=400)
        await self._note(structs.replace(request, answered_by=answer))
        return await Speaker(http, request, wire, self._piece, self._closing).give(answer, self._usage)

    async def _answer(self, request: ModelRequest) -> Answer | Fault:
        if request.aside:
            return aside_answer(request)
        step: Any = self._pick(request)
        if callable(step):
            step = await _called(step, request)
        return as_answer(cast("Reply", step))

    async def _note(self, request: ModelRequest) -> None:
        async with self._came:
            self.requests.append(request)
            self._came.notify_all()

    async def _other(self, http: web.Request, raw: bytes) -> web.Response:
        """What clients ask besides answers: which models there are, how long a prompt is, whether anybody is here."""
        await self._note(_unread("other", http, raw, None))
        if COUNTS.search(http.path):
            tokens = len(raw) // 4
            return web.json_response({"input_tokens": tokens, "totalTokens": tokens})
        if http.path.endswith("/models"):
            return web.json_response(_models())
        if http.path == "/":
            return web.json_response({})
        told = Fault(404, message=f"the scripted model has no {http.method} {http.path}")
        return web.json_response(WIRES["anthropic"].error(told, 404), status=404)


async def _called(step: Callable[[ModelRequest], Any], request: ModelRequest) -> Any:
    try:
        reply = step(request)
        return await reply if inspect.isawaitable(reply) else reply
    # Whatever a function of the user's does is for the user to see, and a status of 500 would only be tried again.
    except Exception as error:
        raise InputError(f"the script's function failed: {error!r}") from error


Pick = Callable[[ModelRequest], Step]


def _picker(script: Script | None, per_conversation: bool, after: Answer | Fault) -> Pick:
    if callable(script):
        responder = script
        return lambda _: responder
    progress = PerConversation(after)
    if script is not None:
        steps = parse_script(script) if isinstance(script, str) else script
        if not per_conversation:
            return InOrder(steps, after).next
        return lambda request: progress.next(steps, request.answers_so_far, request)

    def from_prompt(request: ModelRequest) -> Step:
        found = request.script()
        return after if found is None else progress.next(parse_script(found[0]), found[1], request)

    return from_prompt


def _api(method: str, path: str) -> str | None:
    if method != "POST":
        return None
    return next((api for api, endpoint in ENDPOINTS if endpoint.search(path)), None)


def _request(api: str, http: web.Request, raw: bytes) -> ModelRequest:
    body = json.loads(raw)
    return structs.replace(_unread(api, http, raw, None), body=body, aside=False, **WIRES[api].read(body, http.path))


def _unread(api: str, http: web.Request, raw: bytes, answered_by: Fault | None) -> ModelRequest:
    return ModelRequest(
        api=api,
        method=http.method,
        path=http.path,
        query=dict(http.query),
        headers={name.lower(): value for name, value in http.headers.items()},
        body=None,
        raw=raw,
        aside=api == "other",
        answered_by=answered_by,
    )


def _models() -> dict[str, Any]:
    """The list of models, in the words of all vendors at once."""
    listed = [
        {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "trueup"}
        | {"type": "model", "display_name": name, "created_at": "2024-01-01T00:00:00Z"}
        for name in MODELS
    ]
    return {"object": "list", "data": listed, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
