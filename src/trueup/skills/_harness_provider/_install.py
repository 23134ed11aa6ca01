"""A skill in the folder in which the agent works, at the place where the agent looks for skills."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from trueup.core.errors import InputError

from .._model import SkillRef


def install(skill: SkillRef, place: Path) -> Path:
    """Copy the skill below a place; what stood there by its name gives way."""
    source, target = Path(skill.path).resolve(), place / skill.name
    try:
        if target.is_symlink() or target.is_file():
            target.unlink()
        elif target.exists():
            shutil.rmtree(target)
        place.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target, symlinks=True)
        _mend_links(source, target)
    except (OSError, shutil.Error) as error:
        raise InputError(f"skill {skill.name} cannot be copied from {source} to {target}: {_reason(error)}") from None
    return target


def refuse_others(folder: Path, place: str, home: str | None) -> None:
    """An `InputError` where an agent would find skills above the folder too: agents look upwards, to a repository's root.

    In the user's home they do not, or are kept from it.
    """
    for above in folder.parents:
        if (above / ".git").exists() or (folder / ".git").exists() or str(above) == home:
            return
        if (above / place).is_dir():
            raise InputError(
                f"a cell in {folder} would also see the skills in {above / place}: set TMPDIR to a folder elsewhere"
            )


def _mend_links(source: Path, target: Path) -> None:
    """Links that lead out of the skill lead to the same place as before; those inside of it are as they were."""
    for folder, folders, files in os.walk(target):
        for link in (Path(folder, name) for name in (*folders, *files)):
            if not link.is_symlink():
                continue
            original = source / link.relative_to(target)
            leads_to = Path(os.path.normpath(original.parent / link.readlink()))
            if not leads_to.is_relative_to(source):
                link.unlink()
                link.symlink_to(leads_to)


def _reason(error: OSError | shutil.Error) -> str:
    told = error.args[0] if isinstance(error, shutil.Error) and error.args else None
    if isinstance(told, list) and told:
        return "; ".join(str(each[-1]) for each in told[:3])
    return str(error)
