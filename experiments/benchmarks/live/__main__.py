"""Prove the questions of ``live`` and their golds."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.benchmarks.question_check import ABOUT, Checker, CheckOptions, check_all
from experiments.benchmarks.question_format import ENVIRONMENT, QUESTIONS
from matsmith.core.command import Command, run_one_of

#: Distributions that decide a value; their versions stand next to the golds.
RECORDED = (
    "pymatgen", "pymatgen-core", "pymatgen-analysis-defects", "pymatgen-analysis-diffusion",
    "pymatgen-analysis-alloys", "matminer", "robocrys", "phonopy", "numpy", "scipy", "spglib",
)  # fmt: skip


async def _check(options: CheckOptions) -> int:
    async with Checker(options.backend, env=ENVIRONMENT, recorded=RECORDED) as checker:
        return await check_all(checker, QUESTIONS, options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `matsmith.core.command`)."""
    program = "matsmith live"
    check = Command(
        f"{program} check", ABOUT.format("the questions of `live`"), CheckOptions, _check
    )
    return run_one_of(program, str(__doc__), {"check": check}, arguments)


if __name__ == "__main__":
    sys.exit(main())
