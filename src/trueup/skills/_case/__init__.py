"""Cases and configuration: what a person writes, typed, with the place of every mistake."""

from ._config import (
    ApiJudge,
    CommandProviderConfig,
    Config,
    HarnessProviderConfig,
    OneharnessProviderConfig,
    Vendor,
)
from ._config_file import config_folder, load_config, notes, override_config
from ._evals import (
    Activated,
    Boolean,
    Called,
    CommandEval,
    Comparator,
    Contains,
    CostBelow,
    Eval,
    FileEval,
    JsonEval,
    Matches,
    NotActivated,
    NotCalled,
    Numeric,
    ToolCalled,
    ToolOrder,
    TurnsBelow,
)
from ._load import Loaded, load_case, load_cases
from ._mistakes import mistakes
from ._mocks import Match, Mock, Predicate, Predicates, Stub
from ._model import Case, User, Workspace
from ._schema import case_schema, config_schema

__all__ = [
    "Activated",
    "ApiJudge",
    "Boolean",
    "Called",
    "Case",
    "CommandEval",
    "CommandProviderConfig",
    "Comparator",
    "Config",
    "Contains",
    "CostBelow",
    "Eval",
    "FileEval",
    "HarnessProviderConfig",
    "JsonEval",
    "Loaded",
    "Match",
    "Matches",
    "Mock",
    "NotActivated",
    "NotCalled",
    "Numeric",
    "OneharnessProviderConfig",
    "Predicate",
    "Predicates",
    "Stub",
    "ToolCalled",
    "ToolOrder",
    "TurnsBelow",
    "User",
    "Vendor",
    "Workspace",
    "case_schema",
    "config_folder",
    "config_schema",
    "load_case",
    "load_cases",
    "load_config",
    "mistakes",
    "notes",
    "override_config",
]
