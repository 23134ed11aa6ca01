"""Where work happens and where it is judged: repositories, layers, sandboxes, shells.

A `Repository` is the user's; a `Mirror` is trueup's own copy of what it needs of it, which no agent can write to.
`Layers` puts a tree together from the base, its dependencies and a private top, in a sandbox, at the repository's own
path. What a command is for, and what its result means, is not known here.
"""

from ._diagnosis import Diagnosis, diagnose
from ._diff import DiffStat, FileStat
from ._folder_shell import FolderShell
from ._kept_workspaces import KeptWorkspace, clean_workspaces, list_workspaces
from ._layers import Dependencies, Layers, Setup
from ._merge import (
    BranchMovedError,
    DirtyFilesError,
    MergeConflictError,
    PreparedMerge,
    complete_merge,
    prepare_merge,
    resume_merge,
)
from ._mirror import Mirror
from ._notes import OUTCOMES, Note, append_to_note, read_note, read_notes, tree_of
from ._plain_checkout import Checkout, PlainCheckout
from ._repository import Identity, Repository
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
from ._snapshot import Change, ChangeFinding, inspect_change
from ._store import Kept, cache_folder, clean_cache, list_cache, store_of
from ._trees import FileChange
from ._workspace import Workspace
from ._workspace_shell import DenyList, WorkspaceShell

__all__ = [
    "NO_SANDBOX",
    "OUTCOMES",
    "Backend",
    "BranchMovedError",
    "Change",
    "ChangeFinding",
    "Checkout",
    "DenyList",
    "Dependencies",
    "Diagnosis",
    "DiffStat",
    "DirtyFilesError",
    "Escape",
    "FileChange",
    "FileStat",
    "Fingerprint",
    "FolderShell",
    "Identity",
    "Kept",
    "KeptWorkspace",
    "Layers",
    "MergeConflictError",
    "Mirror",
    "Note",
    "PlainCheckout",
    "PreparedMerge",
    "Profile",
    "Repository",
    "SandboxError",
    "Scratch",
    "Setup",
    "Stack",
    "StackPlan",
    "Workspace",
    "WorkspaceShell",
    "append_to_note",
    "cache_folder",
    "clean_cache",
    "clean_workspaces",
    "complete_merge",
    "diagnose",
    "find_backend",
    "inspect_change",
    "list_cache",
    "list_workspaces",
    "prepare_merge",
    "prove",
    "read_note",
    "read_notes",
    "resume_merge",
    "store_of",
    "tree_of",
]
