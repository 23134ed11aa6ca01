"""Where work happens and where it is judged: repositories, layers, sandboxes, shells.

A `Repository` is the user's; a `Mirror` is trueup's own copy of what it needs of it, which no agent can write to.
`Layers` puts a tree together from the base, its dependencies and a private top, in a sandbox, at the repository's own
path. What a command is for, and what its result means, is not known here.
"""

from ._diagnosis import Diagnosis, diagnose
from ._folder_shell import FolderShell
from ._layers import Dependencies, Layers, Setup
from ._mirror import Mirror
from ._plain_checkout import Checkout, PlainCheckout
from ._repository import Repository
from ._sandbox import (
    NO_SANDBOX,
    Backend,
    Escape,
    Fingerprint,
    Profile,
    SandboxError,
    Scratch,
    Stack,
    StackPlan,
    find_backend,
    prove,
)
from ._store import Kept, cache_folder, clean_cache, list_cache, store_of
from ._trees import FileChange

__all__ = [
    "NO_SANDBOX",
    "Backend",
    "Checkout",
    "Dependencies",
    "Diagnosis",
    "Escape",
    "FileChange",
    "Fingerprint",
    "FolderShell",
    "Kept",
    "Layers",
    "Mirror",
    "PlainCheckout",
    "Profile",
    "Repository",
    "SandboxError",
    "Scratch",
    "Setup",
    "Stack",
    "StackPlan",
    "cache_folder",
    "clean_cache",
    "diagnose",
    "find_backend",
    "list_cache",
    "prove",
    "store_of",
]
