"""Ten questions of a materials scientist, asked like a user asks them.

``python -m agents.acceptance model.name=NAME model.base_url=URL``: what is shown for each, and in
how many calls and tokens. The files are made in memory; what a right answer holds follows from what
they are made from. It is a check that a set-up works from end to end, no benchmark.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agents import acceptance_files as made
from agents.assistant.answers import Answer
from agents.assistant.config import AssistantConfig, read_config
from agents.assistant.conversation import Terminal
from agents.assistant.session import Session, open_assistant
from agents.assistant.show import safe
from agents.composition import help_text
from retrieval.base import RetrievalError
from sandbox.command import HELP, guarded

SECONDS = 600.0  # for one question
_ABOUT = """\
usage: python -m agents.acceptance [GROUP=CHOICE ...] [KEY=VALUE ...]

Asks ten questions with files, shows the answers, then a table of calls and tokens. The options are
those of `matsmith ask`. Exit code 0: every answer was of a kind that is right for its question."""


@dataclass(frozen=True)
class Case:
    """A question, and what may come of it.

    Attributes
    ----------
    kinds
        Kinds of answer that are right.
    value
        A number or text that is among the values of a right answer, numbers within 1 %.
    file
        Ending of a file that a right answer comes with.
    follows
        Whether it is asked in the conversation of the question before.
    warned
        Whether an answer with values must say that the model assumed something.
    """

    name: str
    question: str
    kinds: tuple[str, ...] = ("answered",)
    value: float | str | None = None
    file: str = ""
    follows: bool = False
    warned: bool = False


def cases(folder: Path) -> list[Case]:
    """The questions; their files lie in ``folder``."""
    poscar, run, table = (f"@{folder / name}" for name in ("POSCAR", "vasprun.xml", "volumes.csv"))
    return [
        Case(
            "structure",
            f"What are the space group and the density (g/cm3) of the cell in {poscar}?",
            value=made.density(),
        ),
        Case(
            "follow-up",
            "And what would the density be with the edges 2 % longer?",
            value=made.density(1.02 * made.CELL),
            follows=True,
        ),
        Case(
            "VASP run",
            f"What is the final energy per atom in {run}, and is the run converged?",
            value=made.ENERGY / 2,
        ),
        Case(
            "table",
            f"Fit a third-order Birch-Murnaghan equation of state to {table}: bulk modulus in GPa?",
            value=made.B0,
        ),
        Case(
            "several CIFs",
            f"Which of the structures in @{folder / 'oxides'} has the longest metal-oxygen bond, "
            "and how long is it in angstrom?",
            value=max(made.EDGES.values()) / 2,
        ),
        Case(
            "plot",
            f"Plot the powder diffraction pattern (Cu K-alpha) of {poscar} as a PNG file, and give "
            "the angle 2-theta of the strongest peak.",
            file=".png",
        ),
        Case(
            "new structure",
            f"Make a 2x2x2 supercell of {poscar}, remove one Na, and write it as a CIF file. How "
            "many sites are left?",
            value=15.0,
            file=".cif",
        ),
        Case("no input", "How far above the hull is my new compound?", kinds=("needs_input",)),
        Case(
            "ambiguous", "What is the density of TiO2?", kinds=("needs_input", "answered"),
            warned=True,
        ),
        Case(
            "beyond the libraries",
            f"Run a self-consistent HSE06 calculation of {poscar} and give me its band gap in eV.",
            kinds=("needs_input", "no_code", "failed", "answered"),
            warned=True,
        ),
    ]  # fmt: skip


def faults(case: Case, answer: Answer) -> list[str]:
    """What is wrong with an answer; empty where it is acceptable."""
    if answer.kind not in case.kinds:
        return [f"{answer.kind} instead of {' or '.join(case.kinds)}"]
    if not answer.works:
        return []
    found = []
    if case.value is not None and not any(_holds(v.value, case.value) for v in answer.values):
        shown = f"{case.value:.5g}" if isinstance(case.value, float) else case.value
        found.append(f"no value is {shown}")
    if case.file and not any(file.name.endswith(case.file) for file in answer.files):
        found.append(f"no {case.file} file")
    worked_out = any(value.value is not None for value in answer.values)
    if case.warned and worked_out and not answer.notes:
        found.append("values without a warning")
    return found


def _holds(value: Any, wanted: float | str) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return any(_holds(item, wanted) for item in inner)
    if isinstance(wanted, str) or isinstance(value, str | bool) or value is None:
        return bool(value == wanted)
    return math.isclose(value, wanted, rel_tol=0.01)


async def accept(config: AssistantConfig) -> int:
    """Ask all, show all; returns the exit code."""
    output, progress = Console(soft_wrap=True, highlight=False), Console(stderr=True)
    terminal = Terminal(output, progress, timeout=SECONDS)
    rows: list[tuple[Case, Answer, list[str]]] = []
    with tempfile.TemporaryDirectory(prefix="matsmith-acceptance-") as name:
        folder = Path(name)
        for path, text in made.files().items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        async with open_assistant(config, say=progress.print) as assistant:
            session: Session = assistant.session()
            for case in cases(folder):
                if not case.follows:
                    session = assistant.session()
                output.rule(safe(case.name))
                output.print(f"[bold]{safe(case.question)}[/bold]\n")
                answer = await terminal.ask(session, case.question)
                rows.append((case, answer, faults(case, answer)))
    output.rule("all")
    output.print(_table(rows))
    right = sum(not wrong for *_, wrong in rows)
    output.print(f"{right} of {len(rows)} acceptable; model {safe(rows[0][1].model)}")
    return 0 if right == len(rows) else 1


def _table(rows: Sequence[tuple[Case, Answer, list[str]]]) -> Table:
    table = Table("question", "answer", "calls", "tokens", "seconds", "files", "wrong")
    for case, answer, wrong in rows:
        usage = answer.usage
        table.add_row(
            case.name, answer.kind, str(usage.calls + usage.cached_calls), str(usage.tokens),
            f"{answer.seconds:.0f}", str(len(answer.files)), safe("; ".join(wrong)),
        )  # fmt: skip
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if HELP & set(given):
        print(help_text(AssistantConfig, [_ABOUT], root="assistant"))
        return 0
    return guarded(lambda: accept(read_config(given)), (RetrievalError,))


if __name__ == "__main__":
    sys.exit(main())
