"""Skill tests: a SKILL.md, proven across harnesses and models.

A `Skill` is a folder that the validator has read. A `Case` says what is asked of it and which evals must hold. A
`Provider` is the boundary to everything that answers: it runs the skill (`respond`), plays the user and judges.
A cell is one case × platform × model × repeat × arm; the conversation of a cell and its evals are `run_cell`, and an
`Executor` runs many. What the cells came to is a `Report`, which is counted, compared and written.

Every provider call of a cell is a turn of a run. Which harnesses there are is the harness room's business; who may
merge something because of a report, nobody's here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._case import (
        Case,
        Config,
        Loaded,
        case_schema,
        config_folder,
        config_schema,
        load_case,
        load_cases,
        load_config,
        override_config,
    )
    from ._cell import CellSkill, CellSpec, regrade_cell, run_cell
    from ._matrix import (
        CellCache,
        Executor,
        Limits,
        LocalExecutor,
        Matrix,
        MatrixRequest,
        Plan,
        StoredBaseline,
        Watcher,
        cells_of,
        clean_cells,
        list_cells,
        matching,
        regrade,
        run_matrix,
    )
    from ._model import (
        AssistantTurn,
        Delivery,
        Judgement,
        Message,
        MockCall,
        Needs,
        Provider,
        ProviderError,
        Query,
        QueryKind,
        RespondRequest,
        Role,
        SkillRef,
        ToolEvent,
        UserTurn,
    )
    from ._providers import provider_for
    from ._report import (
        About,
        Arm,
        Calibration,
        CellReport,
        CellStatus,
        Delta,
        Form,
        GroupComparison,
        Labels,
        Report,
        ReportComparison,
        ReportHead,
        blank_labels,
        build_report,
        calibrate,
        cell_line,
        compare_reports,
        comparison_line,
        form_of,
        heat_maps,
        keep_report,
        kept_cell,
        kept_head,
        kept_outline,
        kept_report,
        kept_reports,
        rate_bars,
        read_labels,
        read_report,
        render,
        report_words,
        result_line,
    )
    from ._run_skill import run_skill
    from ._skill import RULES, Finding, Severity, Skill, find_skills, load_skill, validate, write_project
    from ._stats import BooleanAgreement, Comparison, Conclusion, GroupRate, NumericAgreement

# Loaded when they are wanted: who validates a skill needs no harness, and who reads a report no provider.
_HOMES = {
    "_case": (
        "Case Config Loaded case_schema config_folder config_schema load_case load_cases load_config override_config"
    ),
    "_cell": "CellSkill CellSpec regrade_cell run_cell",
    "_matrix": (
        "CellCache Executor Limits LocalExecutor Matrix MatrixRequest Plan StoredBaseline Watcher cells_of clean_cells list_cells "
        "matching regrade run_matrix"
    ),
    "_model": (
        "AssistantTurn Delivery Judgement Message MockCall Needs Provider ProviderError Query QueryKind RespondRequest "
        "Role SkillRef ToolEvent UserTurn"
    ),
    "_providers": "provider_for",
    "_report": (
        "About Arm Calibration CellReport CellStatus Delta Form GroupComparison Labels Report ReportComparison ReportHead blank_labels build_report "
        "calibrate cell_line compare_reports comparison_line form_of heat_maps keep_report kept_cell kept_head kept_outline "
        "kept_report kept_reports rate_bars read_labels read_report render report_words result_line"
    ),
    "_run_skill": "run_skill",
    "_skill": "RULES Finding Severity Skill find_skills load_skill validate write_project",
    "_stats": "BooleanAgreement Comparison Conclusion GroupRate NumericAgreement",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "RULES",
    "About",
    "Arm",
    "AssistantTurn",
    "BooleanAgreement",
    "Calibration",
    "Case",
    "CellCache",
    "CellReport",
    "CellSkill",
    "CellSpec",
    "CellStatus",
    "Comparison",
    "Conclusion",
    "Config",
    "Delivery",
    "Delta",
    "Executor",
    "Finding",
    "Form",
    "GroupComparison",
    "GroupRate",
    "Judgement",
    "Labels",
    "Limits",
    "Loaded",
    "LocalExecutor",
    "Matrix",
    "MatrixRequest",
    "Message",
    "MockCall",
    "Needs",
    "NumericAgreement",
    "Plan",
    "Provider",
    "ProviderError",
    "Query",
    "QueryKind",
    "Report",
    "ReportComparison",
    "ReportHead",
    "RespondRequest",
    "Role",
    "Severity",
    "Skill",
    "SkillRef",
    "StoredBaseline",
    "ToolEvent",
    "UserTurn",
    "Watcher",
    "blank_labels",
    "build_report",
    "calibrate",
    "case_schema",
    "cell_line",
    "cells_of",
    "clean_cells",
    "compare_reports",
    "comparison_line",
    "config_folder",
    "config_schema",
    "find_skills",
    "form_of",
    "heat_maps",
    "keep_report",
    "kept_cell",
    "kept_head",
    "kept_outline",
    "kept_report",
    "kept_reports",
    "list_cells",
    "load_case",
    "load_cases",
    "load_config",
    "load_skill",
    "matching",
    "override_config",
    "provider_for",
    "rate_bars",
    "read_labels",
    "read_report",
    "regrade",
    "regrade_cell",
    "render",
    "report_words",
    "result_line",
    "run_cell",
    "run_matrix",
    "run_skill",
    "validate",
    "write_project",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
