"""JSON that stands somewhere in a text, as models give it: in fences, between sentences, inside of other objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

# More than any answer needs; one that rambles on must not cost quadratic time.
MOST_CHARACTERS = 1 << 18
MOST_CANDIDATES = 1000

_OBJECT_START = re.compile(r'\{(?=[ \t\r\n]*["}])')


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in a text, outermost first, whatever stands around it."""
    decoder = json.JSONDecoder()
    text = text[:MOST_CHARACTERS]
    # Also inside what was found: what is looked for may be wrapped in another object.
    for start in islice(_OBJECT_START.finditer(text), MOST_CANDIDATES):
        try:
            value, _ = decoder.raw_decode(text, start.start())
            yield value
        except (ValueError, RecursionError):
            pass
