"""The examples of a document, taken out of it and run as they stand."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from types import CodeType
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"


def examples(document: str) -> dict[str, str]:
    """The Python of a document, by the heading that it stands under."""
    found = {}
    for section in re.split(r"^#+ ", (DOCS / document).read_text(), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        code = re.findall(r"^```python\n(.*?)^```", body, flags=re.MULTILINE | re.DOTALL)
        assert len(code) < 2, f"{document}, {title}: one example under each heading"
        if code:
            found[title] = code[0]
    return found


async def run_example(document: str, title: str, **names: Any) -> None:
    """Run an example: a whole program in a thread, with a loop of its own; else as `python -m asyncio` does."""
    source = examples(document)[title]
    flags = 0 if "asyncio.run(" in source else ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(source, f"{document}: {title}", "exec", flags=flags, dont_inherit=True)
    scope = {"__name__": "__main__", **names}
    if code.co_flags & inspect.CO_COROUTINE:
        await eval(code, scope)
    else:
        await asyncio.to_thread(_execute, code, scope)


def _execute(code: CodeType, scope: dict[str, Any]) -> None:
    exec(code, scope)
