"""Where commands run so that nothing they do reaches anything else.

A *stack* is one file system, built once per evaluation and held open by a small process (`_holder.py`): the system
and the user's toolchains read-only, an empty HOME and /tmp, a network of its own, and the repository's layers mounted
at the repository's own path. Entering it for a command costs a few milliseconds. What may be seen is a list of what
is allowed (`_view.py`), never of what is forbidden.
"""

from ._backend import NO_SANDBOX, Backend, SandboxError, find_backend, installed_backends
from ._probe import Escape, prove
from ._scratch import Scratch, abandoned, inhabitants
from ._stack import Stack, StackPlan
from ._view import Profile, sandbox_environment, user_environment
from ._watch import Fingerprint

__all__ = [
    "NO_SANDBOX",
    "Backend",
    "Escape",
    "Fingerprint",
    "Profile",
    "SandboxError",
    "Scratch",
    "Stack",
    "StackPlan",
    "abandoned",
    "find_backend",
    "inhabitants",
    "installed_backends",
    "prove",
    "sandbox_environment",
    "user_environment",
]
