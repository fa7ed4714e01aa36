"""Which questions of ``live`` a command is about, and what is written down with their golds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.benchmarks.question_format import QUESTIONS, QuestionError, question_folders

#: Distributions that decide a value; their versions stand next to the golds.
RECORDED = (
    "pymatgen",
    "pymatgen-core",
    "pymatgen-analysis-defects",
    "pymatgen-analysis-diffusion",
    "pymatgen-analysis-alloys",
    "matminer",
    "robocrys",
    "phonopy",
    "numpy",
    "scipy",
    "spglib",
)


def select(ids: Sequence[str] = (), root: Path = QUESTIONS) -> list[Path]:
    """The folders of the questions ``ids`` (all, when none are named).

    Raises
    ------
    QuestionError
        When an id is unknown; names it and what there is.
    """
    folders = {folder.name: folder for folder in question_folders(root)}
    unknown = [name for name in ids if name not in folders]
    if unknown:
        msg = f"no question {', '.join(unknown)}; there are: {', '.join(folders)}"
        raise QuestionError(msg)
    return [folders[name] for name in ids] if ids else list(folders.values())
