"""trueup's own tools for interactive agents, over the Model Context Protocol on stdio.

An agent that is not confined can do whatever its user can, so that nothing it asks for here proves anything by itself:
every tool says what its answer is worth. What only a person may decide has no tool.
"""

from ._server import serve

__all__ = ["serve"]
