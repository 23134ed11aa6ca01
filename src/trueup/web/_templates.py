"""The templates of the pages, and the words that they share."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from trueup.core.text import visible, written

# What a page shows of one text; the whole of it can be asked for.
MOST_CHARACTERS = 16_000


def said(text: Any) -> str:
    """What somebody wrote, so that it can be looked at: control characters visible."""
    return visible(written(str(text)))


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """The beginning of a text, as much as a page shows at once."""
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("trueup.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(said=said, cut=cut)
    return environment


def template(name: str) -> Template:
    """A template by the name of its file."""
    return _environment().get_template(name)
