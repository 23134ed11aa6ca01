"""Where work happens and where it is judged: sandboxes and shells.

A `Stack` mounts a repository's layers at its own path, in namespaces of its own, and runs commands there; a
`FolderShell` runs them on a plain folder, confined by nothing but a `Gate`. What a command is for, and what its
result means, is not known here.
"""

from ._folder_shell import FolderShell
from ._sandbox import Backend, Escape, Profile, SandboxError, Scratch, Stack, StackPlan, abandoned, find_backend, prove

__all__ = [
    "Backend",
    "Escape",
    "FolderShell",
    "Profile",
    "SandboxError",
    "Scratch",
    "Stack",
    "StackPlan",
    "abandoned",
    "find_backend",
    "prove",
]
