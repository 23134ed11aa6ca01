"""A session driven by CAR's own published client, as a program of its own: it prints what it got, as JSON."""

from __future__ import annotations

import json
import sys
import time

import car_runtime

repo, engine, contract = sys.argv[1:]
car = car_runtime.CarRuntime()
got: dict[str, object] = {}


def human(method: str, **params: object) -> dict[str, object]:
    return json.loads(car.daemon_call_host_management(method, json.dumps(params)))


got["started"] = started = json.loads(
    car.coder_start(repo, "Make slugs join by dashes", contract_json=contract, engine=engine, max_iterations=3)
)
session_id = started["session_id"]
try:
    car.coder_confirm_contract(session_id)
except RuntimeError as error:
    got["refused"] = str(error)
human("coder.confirm_contract", session_id=session_id)
while (state := json.loads(car.coder_get(session_id))["state"]) not in ("needs_approval", "failed", "abandoned"):
    time.sleep(0.1)
got["verified"] = json.loads(car.coder_get(session_id))
got["approved"] = human("coder.approve_merge", session_id=session_id, approve=True)
while (state := json.loads(car.coder_get(session_id))["state"]) == "needs_approval":
    time.sleep(0.1)
got["listed"] = json.loads(car.coder_list())
got["cancelled"] = json.loads(car.coder_cancel(session_id))
print(json.dumps(got))
