"""The person at the terminal: shown what is to be decided, and asked."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import click

from trueup.coder import Accept, Approve, Discard, Edit, Leave, Proposal, Revise, SendBack, Story, Verdict
from trueup.contract import Contract, dump_contract, parse_contract
from trueup.core.errors import InputError
from trueup.core.text import visible
from trueup.workspace import Identity

from ._code_report import approval_text, proposal_text
from ._main import tell
from ._shared import terminal_width

LONGEST_LINE_BYTES = 65536


class Terminal:
    """A `Person` who sits at a terminal.

    `paused` keeps others from writing there meanwhile, `diff` gives the change of a session as a patch.
    """

    def __init__(
        self,
        by: Identity,
        paused: Callable[[], AbstractAsyncContextManager[None]],
        diff: Callable[[str], Awaitable[bytes]],
        *,
        may_revise: bool,
    ) -> None:
        self._by = by
        self._paused = paused
        self._diff = diff
        self._may_revise = may_revise

    async def confirm(self, proposal: Proposal) -> Accept | Edit | Revise | Discard | Leave:
        async with self._paused():
            await say(proposal_text(proposal))
            while True:
                answer = await self._answer_to(proposal)
                if answer is not None:
                    return answer

    async def approve(self, story: Story, verdict: Verdict) -> Approve | SendBack | Discard | Leave:
        async with self._paused():
            await say(approval_text(story, verdict, terminal_width()))
            while True:
                match await choose("[a]pprove", "[d]iff", "[s]end back", "dis[c]ard", "[l]eave"):
                    case "approve":
                        return Approve(self._by)
                    case "diff":
                        await page(await self._diff(story.id))
                    case "send back":
                        words = await ask("What is missing? ")
                        if words:
                            return SendBack(words)
                    case "discard":
                        return Discard()
                    case "leave":
                        return Leave("verified, and waits for approval")

    async def _answer_to(self, proposal: Proposal) -> Accept | Edit | Revise | Discard | Leave | None:
        accept = () if proposal.problems else ("[a]ccept",)
        revise = ("[r]evise",) if self._may_revise else ()
        match await choose(*accept, "[e]dit", *revise, "dis[c]ard", "[l]eave"):
            case "accept":
                return Accept(str(self._by))
            case "edit":
                contract = await edit(proposal.contract)
                return None if contract is None else Edit(contract)
            case "revise":
                words = await ask("What should be different? ")
                return Revise(words) if words else None
            case "discard":
                return Discard()
            case _:
                return Leave("the contract waits for somebody to agree to it")


async def edit(contract: Contract) -> Contract | None:
    """Have a contract edited until it can be used, or the edit is given up. What was typed is never lost on the way."""
    text = dump_contract(contract, as_json=False)
    while True:
        edited = await _in_editor(text)
        if edited is None:
            await say("nothing was changed")
            return None
        text = edited
        try:
            return _usable(text)
        except InputError as error:
            await say(f"error: {error}")
        if await choose("[e]dit again", "[g]ive up") == "give up":
            return None


async def choose(*options: str) -> str:
    """One of these, by its letter in brackets or by the word; the last one where nobody is there any more."""
    words = [option.replace("[", "").replace("]", "") for option in options]
    letters = [option[option.index("[") + 1] for option in options]
    while True:
        typed = await ask(f"{'  '.join(options)}: ")
        if typed is None:
            return words[-1]
        for letter, word in zip(letters, words, strict=True):
            if typed.lower() in (letter, word):
                return word
        await say(f"type one of: {', '.join(letters)}")


async def ask(question: str) -> str | None:
    """A line that somebody types; None at the end of input."""
    await asyncio.to_thread(click.echo, visible(question), err=True, nl=False)
    try:
        await _until_readable(sys.stdin.fileno())
    except asyncio.CancelledError:
        click.echo(err=True)
        raise
    typed = os.read(sys.stdin.fileno(), LONGEST_LINE_BYTES)
    return typed.decode(errors="replace").strip() if typed else None


async def say(text: str) -> None:
    """Show something. A terminal that was stopped takes it when it goes on, and nobody else waits for that."""
    await asyncio.to_thread(tell, text)


async def page(patch: bytes) -> None:
    """Show a patch so that it can be read in peace."""
    await asyncio.to_thread(click.echo_via_pager, visible(patch.decode(errors="replace")))


async def _until_readable(descriptor: int) -> None:
    """Wait for a key, on the loop: a thread that reads could not be interrupted."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)


async def _in_editor(text: str) -> str | None:
    """What somebody made of a text; None where they did not save. An editor needs the terminal, so click starts it."""
    try:
        return await asyncio.to_thread(click.edit, text, extension=".yaml")
    except click.ClickException as error:
        await say(f"error: {error.format_message()}; set EDITOR to a program that works here")
        return None


def _usable(text: str) -> Contract:
    contract = parse_contract(text.encode(), "your edit")
    problems = contract.validate()
    if problems:
        raise InputError("the contract cannot be used:\n" + "\n".join(f"- {problem}" for problem in problems))
    return contract
