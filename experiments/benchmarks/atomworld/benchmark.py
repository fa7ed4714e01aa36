"""The benchmark ``atomworld``: generated questions, or the authors' from a checkout."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.answer_formats import CODE, Block, File
from agents.base import Question
from agents.models.rules.atoms import parse
from experiments.benchmarks.atomworld.actions import ACTIONS, Target, apply
from experiments.benchmarks.atomworld.crystal import Crystal, CrystalError, read_cif
from experiments.benchmarks.atomworld.family import FAMILIES, POINTS, Asked, Family, ask, read
from experiments.benchmarks.atomworld.generate import Item, Symbols, generate
from experiments.benchmarks.atomworld.scorer import Arm, FamilyScorer, StructureScorer, plain
from experiments.benchmarks.atomworld.wording import FRAME, Wording
from experiments.samples import Sample
from sandbox.environments import cache_folder

Source = Literal["generated", "published"]

FILE = "structure.cif"
RESULT = File("result.cif")
_DIRECT = """\
You are given a crystal structure as a CIF file in P1. {frame}

<cif>
{cif}</cif>

Action: {sentence}

Reply with the whole CIF file after the action, in P1 and with all atoms."""
_TOOL = """\
The file `structure.cif` holds a crystal structure as a CIF file in P1. {frame}
{inline}
Action: {sentence}

Write a function without arguments that reads the file and returns the dict {{"answer": TEXT}}, in \
which TEXT is the whole CIF file after the action, in P1 and with all atoms."""
_FILE = """\
The file structure.cif holds a crystal structure as a CIF file in P1. {frame}

Action: {sentence}

Write the whole CIF file after the action, in P1 and with all atoms, to result.cif."""
#: Folders of the authors' repository, one file for each action.
_FILES = {
    "add": "AddAtomAction", "change": "ChangeAtomAction", "remove": "RemoveAtomAction",
    "move": "MoveAtomAction", "move_towards": "MoveTowardsAtomAction",
    "insert_between": "InsertBetweenAtomsAction", "swap": "SwapAtomsAction",
    "delete_below": "DeleteBelowAtomAction", "rotate_around": "RotateAroundAtomAction",
    "super_cell": "SuperCellAction",
}  # fmt: skip


class AtomWorldError(ValueError):
    """The published data are not where or what they should be, or an option is wrong."""


@dataclass(frozen=True)
class AtomWorldBenchmark:
    """The benchmark ``atomworld``.

    Parameters
    ----------
    source
        ``generated`` from ``seed``, or ``published`` from ``path``.
    path
        Checkout of the authors' repository.
    arm
        ``direct``: the reply holds the CIF; ``tool``: a function returns it, the input is a
        mounted file; ``tool_inline``: the input stands in the prompt as well; ``file``: for
        ``system=command``, the input lies in the folder of an outside agent, which leaves a file.
    target
        What the strict rule compares with; the published rule always uses the published target.
    items
        Questions for each action.
    actions
        Which; empty: all.
    family
        ``actions``, or another kind of question around them; see
        :mod:`experiments.benchmarks.atomworld.family`. Their published files are ``path``.
    calculator
        Of ``structprop``: ``emt``, or a program of your own that prints the property of the CIF
        file it is given; it runs on this machine.
    unambiguous, sizes, symbols, wording, chain
        Of generated questions; see :func:`~experiments.benchmarks.atomworld.generate.generate`.
    """

    source: Source = "generated"
    path: str | None = None
    arm: Arm = "direct"
    target: Target = "literal"
    seed: int = 1
    items: int = 20
    actions: Sequence[str] = ()
    wording: Wording = "own"
    unambiguous: bool = False
    symbols: Symbols = "common"
    sizes: Sequence[int] = ()
    chain: int = 1
    family: Family | Literal["actions"] = "actions"
    calculator: str = "emt"
    name: str = "atomworld"
    packages: Sequence[str] = ("ase", "pymatgen")

    def __post_init__(self) -> None:
        for key, value, known in (
            ("source", self.source, ("generated", "published")),
            ("arm", self.arm, ("direct", "tool", "tool_inline", "file")),
            ("target", self.target, ("literal", "published")),
            ("family", self.family, ("actions", *FAMILIES)),
            ("wording", self.wording, ("own", "published", "paraphrase")),
        ):
            if value not in known:
                raise AtomWorldError(f"{key}={value}: choose one of {', '.join(known)}")
        for action in self.actions:
            if action not in ACTIONS:
                raise AtomWorldError(f"actions: no {action}; there are {', '.join(ACTIONS)}")

    @property
    def scorer(self) -> StructureScorer:
        """See :class:`experiments.samples.Benchmark`."""
        if self.family == "actions":
            return StructureScorer(self.target)
        return FamilyScorer(
            self.target, command="" if self.calculator == "emt" else self.calculator
        )

    def load(self) -> list[Sample]:
        """All questions, action by action.

        Raises
        ------
        AtomWorldError
            When published data are missing or unreadable.
        """
        if self.family != "actions":
            return [self._asked(one) for one in self._family(self.family)]
        if self.source == "published":
            return [
                self._sample(f"{action}-{row['problem_id']}", *_published(action, row))
                for action in self.actions or ACTIONS
                for row in _rows(self.path, action)[: self.items]
            ]
        made = generate(
            seed=self.seed, items=self.items, actions=self.actions or tuple(ACTIONS),
            wording=self.wording, unambiguous=self.unambiguous, symbols=self.symbols,
            sizes=self.sizes, chain=self.chain,
        )  # fmt: skip
        return [
            self._sample(f"{item.action}-{item.structure:03d}", *_generated(item)) for item in made
        ]

    def _family(self, family: Family) -> list[Asked]:
        if self.source == "generated":
            return ask(family, self.seed, self.items, self.calculator)
        if self.path is None:
            raise AtomWorldError("source=published needs path=FILE of the questions")
        return read(family, Path(self.path).expanduser())

    def _asked(self, asked: Asked) -> Sample:
        apart = self.arm in {"tool", "file"}
        inline = f"\n\n<cif>\n{asked.file}</cif>" if asked.file and not apart else ""
        beside = f"\n\nThe file `{FILE}` holds it." if asked.file and apart else ""
        task = f"{asked.task}{inline}{beside}"
        form, formats = asked.form, {}
        mounts = {FILE: str(_kept(asked.file))} if asked.file and self.arm != "direct" else {}
        if self.arm == "direct" or (self.arm == "file" and asked.form is POINTS):
            prompt = f"{task}\n\nReply with {asked.wanted}."
        elif self.arm == "file":
            form, prompt = RESULT, f"{task}\n\nWrite {asked.wanted} to {RESULT.filename}."
        else:
            form, formats = CODE, {"answer": "list" if asked.form is POINTS else "str"}
            prompt = (
                f"{task}\n\nWrite a function without arguments that returns the dict "
                f'{{"answer": VALUE}}, in which VALUE is {asked.wanted}'
                f"{'' if asked.form is POINTS else ', as text'}."
            )
        return Sample(
            Question(asked.name, prompt, formats, mounts, asked.task, form),
            environment="live",
            labels=asked.labels,
            target={"rule": asked.rule, "given": asked.given},
        )

    def _sample(  # noqa: PLR0917 -- a question's parts
        self, name: str, cif: str, sentence: str, frame: str, target: Mapping[str, Any],
        labels: Mapping[str, str],
    ) -> Sample:  # fmt: skip
        if self.arm == "direct":
            prompt = _DIRECT.format(frame=frame, cif=cif, sentence=sentence)
            question = Question(name, prompt.strip(), search=sentence, answer=Block("cif"))
        elif self.arm == "file":
            prompt, mounts = _FILE.format(frame=frame, sentence=sentence), {FILE: str(_kept(cif))}
            question = Question(name, prompt, mounts=mounts, search=sentence, answer=RESULT)
        else:
            inline = f"\n<cif>\n{cif}</cif>\n" if self.arm == "tool_inline" else ""
            question = Question(
                name,
                _TOOL.format(frame=frame, inline=inline, sentence=sentence),
                formats={"answer": "str"},
                mounts={FILE: str(_kept(cif))},
                search=sentence,
                answer=CODE,
            )
        return Sample(
            question, environment="live", labels=labels, target=target, cluster=labels["structure"]
        )


def _generated(item: Item) -> tuple[str, str, str, dict[str, Any], dict[str, str]]:
    target = {name: plain(getattr(item, name)) for name in ("before", "literal", "published")}
    labels = _labels(item.action, f"s{item.structure}", item.before)
    return item.before.to_cif(), item.sentence, FRAME, target, labels


def _published(
    action: str, row: Mapping[str, Any]
) -> tuple[str, str, str, dict[str, Any], dict[str, str]]:
    read = parse(row["action_prompt"])
    try:
        before, after = read_cif(row["input"]), read_cif(row["output"])
        literal = apply(read[0], before, read[1], "literal") if read else after
    except (CrystalError, IndexError) as error:  # of a row that is not there
        raise AtomWorldError(f"{_FILES[action]} {row['problem_id']}: {error}") from error
    target = {"before": plain(before), "literal": plain(literal), "published": plain(after)}
    labels = _labels(action, str(row.get("mp_id", row["problem_id"])), before)
    return row["input"], row["action_prompt"], "", target, labels | {"frame": "not stated"}


def _labels(action: str, structure: str, before: Crystal) -> dict[str, str]:
    count = len(before.species)
    sizes = ((8, "1-8"), (16, "9-16"), (32, "17-32"), (64, "33-64"))
    size = next((name for most, name in sizes if count <= most), "> 64")
    right = all(abs(angle - 90.0) < 1e-6 for angle in before.cell[3:])
    return {
        "action": action, "structure": structure, "atoms": size,
        "cell": "orthogonal" if right else "skewed",
    }  # fmt: skip


def _rows(path: str | None, action: str) -> list[dict[str, Any]]:
    if path is None:
        raise AtomWorldError("source=published needs path=CHECKOUT of the authors' repository")
    file = Path(path).expanduser() / "data" / "simple" / f"{_FILES[action]}.json"
    if not file.is_file():
        raise AtomWorldError(f"{file} is not there; path= must name a checkout of AtomWorldBench")
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise AtomWorldError(f"{file} is not JSON ({error})") from error
    wanted = {"problem_id", "action_prompt", "input", "output"}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not wanted <= row.keys():
            raise AtomWorldError(f"{file}: entry {number} lacks {', '.join(sorted(wanted))}")
    return list(rows)


def _kept(cif: str) -> Path:
    """The input file on the host, under its content."""
    digest = hashlib.sha256(cif.encode()).hexdigest()[:16]
    path = cache_folder() / "questions" / "atomworld" / f"{digest}.cif"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(cif, encoding="utf-8")
    return path
