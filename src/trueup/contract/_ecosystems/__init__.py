"""What repositories say about their own checks, one module per family of tools.

An ecosystem reads the files of one package and proposes commands with the reason for each. Nothing here runs a
command, and nothing here knows of contracts: putting the finds together is the caller's part.
"""

from .ci import CI
from .compiled import CMAKE, GO, GRADLE, MAVEN, RUST
from .discovery import package_folders
from .found import Ecosystem, Found, Purpose, Setup
from .node import NODE
from .package import CiCommand, Package, Repository, is_encodable, show
from .python import PYTHON
from .targets import JUST, MAKE

# Make, just and CI mostly start what the others know better, so they come last and only add.
ECOSYSTEMS = (PYTHON, NODE, RUST, GO, MAVEN, GRADLE, CMAKE, MAKE, JUST, CI)

__all__ = [
    "ECOSYSTEMS",
    "CiCommand",
    "Ecosystem",
    "Found",
    "Package",
    "Purpose",
    "Repository",
    "Setup",
    "is_encodable",
    "package_folders",
    "show",
]
