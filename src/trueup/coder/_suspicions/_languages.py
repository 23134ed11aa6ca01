"""Just enough of each language to tell code from comments and quotations."""

from __future__ import annotations

import re

from msgspec import Struct

# Every alternative takes what it began with to its end, also where that end is missing, and never goes back.
_BLOCK = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+"
_SLASHES = r"//[^\n]*+"
_HASH = r"(?<![\w$\\&({])\#(?!\{)[^\n]*+"
_DOUBLE = r'"(?:[^"\\\n]++|\\.)*+"?+'
_SINGLE = r"'(?:[^'\\\n]++|\\.)*+'?+"
_CHARACTER = r"'(?:\\[^\n]|[^'\\\n])'"
_TEMPLATE = r"`(?:[^`\\]++|\\.)*+`?+"

_NOT_NEWLINE = re.compile(r"[^\n]")


class Language(Struct, frozen=True):
    """A family of languages by how they write comments and quotations."""

    name: str
    tokens: re.Pattern[str]

    def without_comments(self, text: str) -> str:
        """Blank the comments."""
        return self.tokens.sub(lambda token: token[0] if token["quoted"] is not None else _blank(token[0]), text)

    def without_quotes(self, text: str) -> str:
        """Blank the comments, and what is between quotes."""
        return self.tokens.sub(_blank_token, text)


def _blank(text: str) -> str:
    return _NOT_NEWLINE.sub(" ", text) if "\n" in text else " " * len(text)


def _blank_token(token: re.Match[str]) -> str:
    quoted = token["quoted"]
    if quoted is None:
        return _blank(token[0])
    return quoted if len(quoted) < 2 else quoted[0] + _blank(quoted[1:-1]) + quoted[-1]


def _language(name: str, comments: tuple[str, ...], quotes: tuple[str, ...]) -> Language:
    return Language(name, re.compile(f"(?P<quoted>{'|'.join(quotes)})|{'|'.join(comments)}", re.DOTALL))


_C_COMMENTS = (_BLOCK, _SLASHES)
JAVASCRIPT = _language("javascript", _C_COMMENTS, (_DOUBLE, _SINGLE, _TEMPLATE))
GO = _language("go", _C_COMMENTS, (_DOUBLE, _CHARACTER, _TEMPLATE))
PHP = _language("php", (*_C_COMMENTS, _HASH), (_DOUBLE, _SINGLE))
RUST, JVM, C, CSHARP, SWIFT, DART = (
    _language(name, _C_COMMENTS, (_DOUBLE, _CHARACTER)) for name in "rust jvm c csharp swift dart".split()
)
PYTHON, RUBY, ELIXIR, SHELL, MAKE, CONFIG = (
    _language(name, (_HASH,), (_DOUBLE, _SINGLE)) for name in "python ruby elixir shell make config".split()
)

_BY_ENDING = {
    **dict.fromkeys("js jsx ts tsx mjs cjs mts cts vue svelte".split(), JAVASCRIPT),
    **dict.fromkeys("java kt kts groovy scala".split(), JVM),
    **dict.fromkeys("c h cc cpp cxx hpp hh hxx m mm".split(), C),
    **dict.fromkeys("py pyw".split(), PYTHON),
    **dict.fromkeys("ex exs".split(), ELIXIR),
    **dict.fromkeys("sh bash zsh ksh bats env envrc".split(), SHELL),
    **dict.fromkeys("yml yaml toml cfg ini conf properties".split(), CONFIG),
    "go": GO,
    "rs": RUST,
    "cs": CSHARP,
    "swift": SWIFT,
    "dart": DART,
    "php": PHP,
    "rb": RUBY,
    "rake": RUBY,
    "mk": MAKE,
}
_BY_NAME = {
    **dict.fromkeys("makefile gnumakefile justfile .justfile".split(), MAKE),
    **dict.fromkeys("rakefile gemfile".split(), RUBY),
    **dict.fromkeys(".npmrc .gitattributes .gitignore .gitmodules .gitconfig .cargo/config dockerfile".split(), CONFIG),
}


def language_of(path: str) -> Language | None:
    """The language of a file, by its name."""
    name = path.rpartition("/")[2].lower()
    return _BY_NAME.get(name) or _BY_ENDING.get(name.rpartition(".")[2] if "." in name else "")
