"""Commands: parse, call one function of a room, show what it returned.

One module per noun, imported only when its command runs. What is shown is a function of data, so that `--json` and
the text for people cannot disagree. Exit codes: 0 yes, 1 no, 2 bad input, 3 the engine failed, 130 interrupted.
"""

from ._main import main

__all__ = ["main"]
