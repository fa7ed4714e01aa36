"""The benchmark ``atomworld``: generated questions, or the authors' from a checkout."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.answer_formats import CODE, AnswerFormat, Block, File
from agents.base import Question
from experiments.benchmarks.atomworld.actions import ACTIONS, Target, apply
from experiments.benchmarks.atomworld.crystal import Crystal, CrystalError, read_cif
from experiments.benchmarks.atomworld.family import DATA, POINTS, Asked, Family, ask, read
from experiments.benchmarks.atomworld.generate import Item, generate
from experiments.benchmarks.atomworld.scorer import METRICS, StructureScorer
from experiments.benchmarks.atomworld.wording import FRAME, Wording, parse
from experiments.benchmarks.release import ReleaseError, entries, find
from experiments.samples import Sample, data_of, kept

Source = Literal["generated", "published"]
Arm = Literal["direct", "tool", "tool_inline", "file"]

FILE = "structure.cif"
RESULT = File("result.cif")
TEXTS: Mapping[str, Any] = data_of(__file__)
_PROMPTS = "prompts/*.py"


@dataclass(frozen=True)
class AtomWorldBenchmark:
    """The benchmark ``atomworld``; ``conf/benchmark/atomworld.yaml`` explains its keys."""

    source: Source = "generated"
    path: str | None = None
    arm: Arm = "direct"
    target: Target = "literal"
    seed: int = 1
    items: int = 20
    actions: Sequence[str] = ()
    wording: Wording = "own"
    unambiguous: bool = True
    sizes: Sequence[int] = (8, 16, 32)
    structures: str | None = None
    family: Family | Literal["actions"] = "actions"
    name: str = "atomworld"
    packages: Sequence[str] = ("ase", "pymatgen")

    def __post_init__(self) -> None:
        for action in self.actions:
            if action not in ACTIONS:
                raise ReleaseError(f"actions: no {action}; there are {', '.join(ACTIONS)}")

    @property
    def scorer(self) -> StructureScorer:
        """See :class:`experiments.samples.Benchmark`."""
        more = METRICS["family"] if self.family != "actions" else ()
        return StructureScorer(self.target, (*METRICS["structure"], *more))

    def load(self) -> list[Sample]:
        """All questions, action by action."""
        if self.family != "actions":
            if self.source == "published":
                return [self._asked(one) for one in read(self.family, self.path)]
            return [self._asked(one) for one in ask(self.family, self.seed, self.items)]
        if self.source == "published":
            authors = _authors_prompt(self.path)
            return [
                self._sample(f"{action}-{row['problem_id']}", _published(action, row), "",
                             row["input"], authors)
                for action in self.actions or ACTIONS
                for row in _rows(self.path, action)[: self.items]
            ]  # fmt: skip
        made = generate(
            seed=self.seed, items=self.items, actions=self.actions or tuple(ACTIONS),
            wording=self.wording, unambiguous=self.unambiguous, sizes=self.sizes,
            structures=self.structures,
        )  # fmt: skip
        return [
            self._sample(f"{item.action}-{item.number:03d}", item, FRAME, item.before.to_cif(),
                         TEXTS["direct"])
            for item in made
        ]  # fmt: skip

    def _asked(self, asked: Asked) -> Sample:
        apart, points = self.arm in {"tool", "file"}, asked.form is POINTS
        wanted = DATA[asked.family]["wanted"]
        inline = f"\n\n<cif>\n{asked.file}</cif>" if asked.file and not apart else ""
        beside = f"\n\nThe file `{FILE}` holds it." if asked.file and apart else ""
        how = f"Reply with {wanted}."
        if self.arm == "file" and not points:
            how = f"Write {wanted} to {RESULT.filename}."
        elif self.arm in {"tool", "tool_inline"}:
            how = (
                "Write a function without arguments that returns the dict "
                f'{{"answer": VALUE}}, in which VALUE is {wanted}'
                f"{'' if points else ', as text'}."
            )
        prompt = f"{asked.task}{inline}{beside}\n\n{how}"
        return Sample(
            self._question(asked.name, prompt, asked.task, asked.file, asked.form),
            environment="live", labels=asked.labels,
            target={"rule": asked.rule, "given": asked.given}, reference=asked.right,
        )  # fmt: skip

    def _question(
        self, name: str, prompt: str, search: str, cif: str | None, form: AnswerFormat
    ) -> Question:
        if self.arm == "direct":
            return Question(name, prompt, search=search, answer=form)
        mounts = {FILE: str(kept("atomworld", cif.encode(), ".cif"))} if cif else {}
        if self.arm == "file":
            form = form if form is POINTS else RESULT
            return Question(name, prompt, mounts=mounts, search=search, answer=form)
        kind = "list" if form is POINTS else "str"
        return Question(name, prompt, {"answer": kind}, mounts, search, CODE)

    def _sample(self, name: str, item: Item, frame: str, cif: str, direct: str) -> Sample:
        inline = f"\n<cif>\n{cif}</cif>\n" if self.arm == "tool_inline" else ""
        text = direct if self.arm == "direct" else TEXTS[self.arm.partition("_")[0]]
        prompt = text.format(frame=frame, cif=cif, sentence=item.sentence, inline=inline).strip()
        form = Block("cif", instructed=direct == TEXTS["direct"])
        target = {name: getattr(item, name).plain() for name in ("before", "literal", "published")}
        return Sample(
            self._question(name, prompt, item.sentence, cif, form),
            environment="live", target=target, cluster=item.structure,
            labels=_labels(item) | ({} if frame else {"frame": "not stated"}),
            reference=Crystal.of(target[self.target]).to_cif(),
        )  # fmt: skip


def _published(action: str, row: Mapping[str, Any]) -> Item:
    told = parse(row["action_prompt"])
    try:
        before, after = read_cif(row["input"]), read_cif(row["output"])
        literal = apply(told[0], before, told[1], "literal") if told else after
    except (CrystalError, IndexError) as error:  # of a row that is not there
        raise ReleaseError(f"{TEXTS['files'][action]} {row['problem_id']}: {error}") from error
    structure = str(row.get("mp_id", row["problem_id"]))
    return Item(action, structure, 0, before, {}, row["action_prompt"], literal, after)


def _authors_prompt(path: str | None) -> str:
    """The prompt of the authors' checkout, read and never run, with our names of its places."""
    for file in sorted(Path(path or "").expanduser().rglob(_PROMPTS)) if path else ():
        parts: list[str] = []
        try:
            tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
        except SyntaxError as error:
            raise ReleaseError(f"{file} is no Python ({error})") from error
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append":
                parts += [_template(argument) for argument in node.args[:1]]
        prompt = " ".join(parts).replace("{output_format}", "cif")
        prompt = prompt.replace("{input_cif}", "{cif}").replace("{action_prompt}", "{sentence}")
        if "{cif}" in prompt and "{sentence}" in prompt and "</cif>" in prompt:
            return prompt
    return str(TEXTS["authors"])


def _template(node: ast.expr) -> str:
    """A text or an f-string; what it puts in is left as ``{name}``."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_template, node.values))
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    constant = str(node.value) if isinstance(node, ast.Constant) else ""
    return constant.replace("{", "{{").replace("}", "}}")


def _labels(item: Item) -> dict[str, str]:
    count = len(item.before.species)
    sizes = ((8, "1-8"), (16, "9-16"), (32, "17-32"), (64, "33-64"))
    right = all(abs(angle - 90.0) < 1e-6 for angle in item.before.cell[3:])
    return {
        "action": item.action, "structure": item.structure,
        "atoms": next((name for most, name in sizes if count <= most), "> 64"),
        "cell": "orthogonal" if right else "skewed",
    }  # fmt: skip


def _rows(path: str | None, action: str) -> list[dict[str, Any]]:
    data = find(path, {"data"}, "CHECKOUT of AtomWorldBench, the authors' repository") / "data"
    file = data / "simple" / f"{TEXTS['files'][action]}.json"
    return entries(file, {"problem_id", "action_prompt", "input", "output"})
