"""What a shell text runs, read by a real grammar and never run.

Everything that bash would start is found as far as the text itself tells: in lists, pipelines, subshells, functions,
substitutions, behind `sudo` or `xargs`, in the text given to `bash -c`. What the text does not tell is never guessed: a
word that is only known when it runs stays unknown, and a piece that cannot be read is named.
"""

from ._git import VALUED_OPTIONS as GIT_VALUED_OPTIONS
from ._reader import Reading, SimpleCommand, read_shell, read_words
from ._words import UNKNOWN, Word, folder_before_unknown

__all__ = [
    "GIT_VALUED_OPTIONS",
    "UNKNOWN",
    "Reading",
    "SimpleCommand",
    "Word",
    "folder_before_unknown",
    "read_shell",
    "read_words",
]
