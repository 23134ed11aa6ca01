"""Frames of every kind: bytes, text, JSON, and what nearly or really is JSON-RPC."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from trueup.daemon import all_methods

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = st.sampled_from([*(each.name for each in all_methods() if not each.name.startswith("coder.")), "frob"])
PARAMS = JSON | st.dictionaries(
    st.sampled_from("run_id intent turns key value name rule target proposal actions cursor token outcome".split()),
    JSON,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers(0, 3) | JSON,
        "method": METHODS | JSON,
        "params": PARAMS,
        "result": JSON,
        "error": JSON,
    },
)
REQUESTS = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": st.integers(), "method": METHODS, "params": PARAMS})
FRAMES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100),
    st.one_of(MESSAGES, REQUESTS, st.lists(MESSAGES | REQUESTS | JSON, max_size=4), JSON).map(json.dumps),
)
