"""What CAR's own published client does against a daemon, as a program of its own: it prints what it got, as JSON."""

from __future__ import annotations

import json

import car_runtime

car = car_runtime.CarRuntime()
got: dict[str, object] = {}
asked: list[dict[str, object]] = []


def tool(call: str) -> str:
    asked.append(json.loads(call))
    return json.dumps({"exit_code": 0, "output_tail": "1 passed"})


car.register_tool("search")
schema = {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}
car.register_tool_schema(json.dumps({"name": "drive_cli", "description": "drives", "parameters": schema}))
got["tools"] = json.loads(car.list_tools())
car.register_policy("no-destructive", "deny_tool_param", "drive_cli", "prompt", "rm -rf")
got["policies"] = json.loads(car.list_policies())
car.state_set("k", "[1]")
got["state"] = [
    car.state_get("k"),
    car.state_exists("k"),
    car.state_exists("l"),
    car.state_keys(),
    car.state_snapshot(),
]

run = json.loads(car.runs_start(json.dumps({"intent": "do it", "agent_name": "ann"})))
actions = [
    {"id": "a1", "type": "tool_call", "tool": "drive_cli", "parameters": {"prompt": "mend it"}},
    {
        "id": "a2",
        "type": "tool_call",
        "tool": "drive_cli",
        "parameters": {"prompt": "rm -rf /"},
        "failure_behavior": "skip",
    },
]
proposal = json.dumps({"id": "p1", "source": "test", "actions": actions})
got["verified"] = json.loads(car.verify_proposal(proposal))
got["executed"] = json.loads(car.execute_proposal(proposal, tool))
car_runtime.register_tool_handler(tool)
again = {"id": "p2", "source": "test", "actions": actions[:1]}
got["submitted"] = json.loads(car.submit_proposal(json.dumps(again)))
got["asked"] = asked
model_turn = {
    "run_id": run["run_id"],
    "turn_index": 1,
    "assistant_text": "done",
    "requested_tool_calls": [],
    "model_id": "m",
    "token_usage": None,
    "duration_ms": 3,
}
got["model_turn"] = json.loads(car.runs_record_model_turn(json.dumps(model_turn)))
outcome = {"status": "success", "summary": "did it", "evidence": [], "metrics": {}, "timestamp": "2026-01-01T00:00:00Z"}
got["completed"] = json.loads(car.runs_complete(json.dumps({"run_id": run["run_id"], "outcome": outcome})))
got["trace"] = json.loads(car.runs_get_trace(json.dumps({"run_id": run["run_id"]})))
got["runs"] = json.loads(car.runs_list("{}"))
got["removed"] = [car.unregister_tool("search"), car.unregister_policy("no-destructive"), car.unregister_tool("search")]
try:
    car.daemon_call("frob", "{}")
except car_runtime.DaemonRpcError as error:
    got["refused"] = [error.code, error.message]
print(json.dumps(got))
