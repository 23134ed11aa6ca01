"""Where work happens: shells on a folder.

Here so far: a shell that runs commands in a folder of this machine, confined by nothing but a `Gate`. What a command
is for, and what its result means, is not known here.
"""

from ._folder_shell import FolderShell

__all__ = ["FolderShell"]
