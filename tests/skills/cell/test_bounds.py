"""How much of a cell is kept."""

from __future__ import annotations

import gc
import tracemalloc

import msgspec

from scripted_provider import ScriptedProvider, cell_of, tool_call
from trueup.skills._case import Boolean, Contains, Numeric, ToolCalled
from trueup.skills._cell import run_cell
from trueup.skills._model import AssistantTurn, MockCall, RespondRequest, ToolEvent

CELLS = 100


async def test_of_a_long_output_evals_and_judges_get_both_ends():
    events = (
        ToolEvent(kind="tool_call", name="Bash", input={"command": "x" * 100_000 + "THE END"}),
        ToolEvent(kind="tool_result", output="BEGIN" + "y" * 1_000_000 + "END"),
    )
    provider = ScriptedProvider(AssistantTurn(message="Done.", events=events))
    report = await run_cell(cell_of(Boolean(criterion="it ran")), provider)
    call, result = provider.judged[0][2][-1].events
    assert call.input["command"].endswith("THE END")
    assert "96,007 characters left out" in call.input["command"]
    assert result.output is not None
    assert result.output.startswith("BEGIN")
    assert result.output.endswith("END")
    assert len(result.output) < 4100
    assert report.transcript.messages[-1].events == (call, result)


async def test_the_outputs_of_a_whole_cell_share_what_a_report_keeps():
    events = tuple(ToolEvent(kind="tool_result", output="y" * 4000) for _ in range(100))
    report = await run_cell(
        cell_of(Contains(text="Done")), ScriptedProvider(AssistantTurn(message="Done.", events=events))
    )
    kept = [event.output or "" for event in report.transcript.messages[-1].events]
    assert len(kept) == 100
    assert sum(map(len, kept)) < 30_000
    assert report.notes == ["outputs of tools are shortened in this report"]


async def test_what_tools_told_can_always_be_written_down():
    deep: object = "x"
    for _ in range(500):
        deep = [deep]
    events = (tool_call("Bash", command="\udcff", deep=deep),)
    calls = (MockCall(tool="Bash", input={"command": "\ud800" * 9}),)
    reply = AssistantTurn(message="\ud800 Done.", events=events, mock_calls=calls)
    report = await run_cell(cell_of(ToolCalled(tool="Bash"), spy=True), ScriptedProvider(reply))
    assert report.passed
    assert b"Done." in msgspec.json.encode(report)


async def test_a_finished_cell_is_small():
    async def work(request: RespondRequest) -> AssistantTurn:
        events = []
        for number in range(10):
            events.append(tool_call("Bash", "shell", command=f"make part-{number}"))
            events.append(ToolEvent(kind="tool_result", output=f"{number}" * 50_000))
        return AssistantTurn(message="It is done. " * 100, events=tuple(events))

    evals = [Boolean(criterion=f"criterion {number}") for number in range(4)]
    spec = cell_of(*evals, Numeric(criterion="warmth", threshold=5), judges=("a", "b", "c"))
    provider = ScriptedProvider(work, verdicts={"warmth": [7], "": [True]})
    await run_cell(spec, provider)
    provider.requests.clear()
    provider.judged.clear()
    tracemalloc.start()
    try:
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        cells = []
        for _ in range(CELLS):
            cells.append(await run_cell(spec, provider))
            provider.requests.clear()
            provider.judged.clear()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(cell.passed for cell in cells)
    assert (after - before) / CELLS < 50_000
