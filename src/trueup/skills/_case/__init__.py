"""Cases and configuration: what a person writes, typed, with the place of every mistake."""

from ._config import (
    ApiJudge,
    CommandProviderConfig,
    Config,
    HarnessProviderConfig,
    OneharnessProviderConfig,
    ProviderConfig,
    Vendor,
)
from ._config_file import CONFIG_FILE, config_folder, load_config, notes, override_config
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
from ._mocks import Deny, Match, Mock, Predicate, Stub
from ._model import Case, User, Workspace
from ._patterns import compile_pattern
from ._schema import case_schema, config_schema

__all__ = [
    "CONFIG_FILE",
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
    "Deny",
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
    "ProviderConfig",
    "Stub",
    "ToolCalled",
    "ToolOrder",
    "TurnsBelow",
    "User",
    "Vendor",
    "Workspace",
    "case_schema",
    "compile_pattern",
    "config_folder",
    "config_schema",
    "load_case",
    "load_cases",
    "load_config",
    "mistakes",
    "notes",
    "override_config",
]
