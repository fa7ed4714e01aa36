"""MatTools, real-world tool usage (arXiv 2505.10852), and what is known to be wrong with it.

Two layouts are read. The authors publish a folder per question,
``question_segments/pymatgen_analysis_defects/<id>/``, with ``question.txt``, ``properties.json``
and ``new_unit_test.py``; the input files are those of the library's own tests, below
``tool_source_code/``. In a ``tasks.jsonl`` each line is a JSON object (`TaskLine`), whose input
files lie in ``test_files/`` next to it. In both, a unit test judges; that of a ``tasks.jsonl`` is
made of its table of properties.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from glob import glob
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ValidationError

from agents.answer import CodeAnswer
from agents.base import Question
from docgen.calls import CodeResolver
from docgen.sources import read_sources
from experiments.benchmarks.mattools.published import (
    MatToolsScorer,
    PrintedScorer,
    table_test,
)
from experiments.benchmarks.question_gold import public_symbols
from experiments.samples import Property, Sample, json_entries
from experiments.scorers.properties import PropertyScorer
from foundation.configuration import data_of
from foundation.errors import UsageError
from foundation.targets import describe
from sandbox import environments

RECORDED = "recorded_round1.jsonl"

#: What the expected values of a ``tasks.jsonl`` are written with, as `unit_tests.by_table` has it.
_REFERENCE = """\
def reference():
    import numpy as np
    from numpy import array, inf, nan
    from pymatgen.core import Element

"""
#: What an expression may name there.
_KNOWN_NAMES = {"np", "array", "inf", "nan", "Element", "set", "dict", "list", "tuple"}
UNIT_TEST = "new_unit_test.py"
QUESTION = "question.txt"
PROPERTIES = "properties.json"
SEGMENTS = "question_segments"
#: Where the questions expect their files, relative to the working directory.
FILES_INSIDE = PurePosixPath(
    "tool_source_code/pymatgen-analysis-defects/tests/test_files"
)

_NAMED = re.compile(rf"(?<![\w./]){FILES_INSIDE}/+([\w./=+*-]*\w)")
_PACKED = ("", ".gz", ".bz2")


class MatToolsError(UsageError, ValueError):
    """The data are missing or wrong; names the file and line."""


def _expression(text: str) -> str:
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r:.80} is not a Python expression") from error
    return text


def _below_files(text: str) -> str:
    path = PurePosixPath(text)
    if not path.is_relative_to(FILES_INSIDE) or ".." in path.parts:
        raise ValueError(f"{text!r} is not below {FILES_INSIDE}")
    return text


class PropertyLine(BaseModel, extra="forbid"):
    """One property of a line of ``tasks.jsonl``."""

    name: str
    description: str
    format: str
    #: A Python expression; evaluated inside the verification sandbox only.
    expected: Annotated[str, AfterValidator(_expression)]
    compare: Literal["equal", "allclose"]
    rtol: float = 1e-5
    atol: float = 1e-8
    accepts: list[str] = []  # names of the types that ``allclose`` permits


class TaskLine(BaseModel, extra="forbid"):
    """One line of ``tasks.jsonl``; files are named as the question names them."""

    id: str
    question: str
    properties: list[PropertyLine]
    data_files: list[Annotated[str, AfterValidator(_below_files)]]


@dataclass(frozen=True)
class MatToolsBenchmark:
    """The benchmark ``mattools``; ``conf/benchmark/mattools.yaml`` explains its keys."""

    path: str | None = None
    subset: Literal["published", "verified"] = "published"
    environment: str = "mattools-2024"
    rules: Literal["typed", "published"] = "typed"
    name: str = "mattools"
    packages: Sequence[str] = ("pymatgen",)

    @property
    def scorer(self) -> MatToolsScorer:
        """By the rules that are asked for."""
        scorer = PrintedScorer() if self.rules == "published" else MatToolsScorer()
        sound = self.subset == "verified"  # the authors' rule is about all properties
        return replace(scorer, metrics=PropertyScorer.metrics) if sound else scorer

    def load(self) -> list[Sample]:
        """All samples: in the order of ``tasks.jsonl``, or sorted by id."""
        root = self._root()
        file = root / "tasks.jsonl"
        if file.is_file():
            samples = read_lines(file, self.environment)
        else:
            folders = question_folders(root)
            samples = [
                read_question(folder, root, self.environment) for folder in folders
            ]
        sound = self.subset == "verified"
        marked = [annotate(sample, sound=sound) for sample in samples]
        return [sample for sample in marked if sample.properties or not sound]

    def gold(self, recorded: Path | None = None) -> MatToolsGold:
        """What retrieval is measured against.

        ``recorded`` are answers with their outcomes, else ``recorded_round1.jsonl`` beside the
        questions.
        """
        if self.path is None and recorded is None:
            raise MatToolsError("path=FOLDER with the questions must be given")
        answers = recorded or self._root() / RECORDED
        return MatToolsGold(answers, self.load(), self.packages, self.environment)

    def _root(self) -> Path:
        what = (
            "benchmark.path must name a checkout of the authors' repository, with its "
            "question_segments, or a folder with tasks.jsonl and test_files/"
        )
        if self.path is None:
            raise MatToolsError(f"the questions are not shipped: {what}")
        root = Path(self.path).expanduser()
        if not root.is_dir():
            raise MatToolsError(f"{root}: no such folder; {what}")
        return root


def read_lines(file: Path, environment: str) -> list[Sample]:
    """The samples of a ``tasks.jsonl``."""
    samples = []
    for where, entry in json_entries(file):
        try:
            line = TaskLine.model_validate(entry)
        except ValidationError as error:
            raise MatToolsError(f"{where}, {describe(error)}") from error
        files = file.with_name("test_files")
        mounts = {
            inside: str(files / Path(inside).relative_to(FILES_INSIDE))
            for inside in line.data_files
        }
        sample = make_sample(
            Question(
                line.id, line.question, formats=formats_of(line.id), mounts=mounts
            ),
            [
                Property(p.name, p.description, p.format, json.dumps(p.expected))
                for p in line.properties
            ],
            [path for path in mounts.values() if not Path(path).is_file()],
            table_test(line.id, [prop.model_dump() for prop in line.properties]),
            environment,
        )
        values = ", ".join(
            f"{prop.name!r}: {prop.expected}" for prop in line.properties
        )
        code = f"{_REFERENCE}    return {{{values}}}\n"
        samples.append(
            replace(sample, reference=CodeAnswer(code, "reference", "strict"))
        )
    return samples


def _properties(plain: Any) -> list[Property]:
    """Those of a ``properties.json``: by name or with it, keys in any case."""
    listed = _plain_keys(plain)["properties"]
    if isinstance(listed, list):
        listed = {entry["name"]: entry for entry in listed}
    return [
        Property(
            name,
            _text_of(entry.get("description")),
            _text_of(entry.get("format")),
            json.dumps(repr(entry.get("value"))),
        )
        for name, entry in (
            (name, _plain_keys(entry)) for name, entry in listed.items()
        )
    ]


def _plain_keys(given: Any) -> dict[str, Any]:
    return {str(key).strip().lower(): value for key, value in given.items()}


def _text_of(given: Any) -> str:
    return " or ".join(map(str, given)) if isinstance(given, list) else str(given or "")


def question_folders(root: Path) -> list[Path]:
    """Folders of questions below ``root``, sorted by id: keyed by name, never by position.

    Those below a folder ``question_segments`` count; without one, all that hold a unit test.
    """
    tests = sorted(root.resolve().rglob(UNIT_TEST))
    segments = [test for test in tests if SEGMENTS in test.parts]
    folders: dict[str, Path] = {}
    for test in segments or tests:
        other = folders.setdefault(test.parent.name, test.parent)
        if (
            other != test.parent
            and (other / UNIT_TEST).read_bytes() != test.read_bytes()
        ):
            raise MatToolsError(
                f"{other} and {test.parent}: two questions with the same name; benchmark.path "
                "must name a folder that contains only one of them"
            )
    if not folders:
        raise MatToolsError(
            f"{root}: contains neither tasks.jsonl nor question folders with {UNIT_TEST}; "
            "benchmark.path must name one of these"
        )
    return [folders[name] for name in sorted(folders)]


def read_question(folder: Path, root: Path, environment: str) -> Sample:
    """The sample of one folder, whose name is its id; input files are looked for in ``root``."""
    prompt, plain, source = (
        _text(folder / name) for name in (QUESTION, PROPERTIES, UNIT_TEST)
    )
    unit_test = _with_name(source, folder)
    try:
        properties = _properties(json.loads(plain))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise MatToolsError(
            f"{folder / PROPERTIES}: {type(error).__name__}: {error}"
        ) from error
    mounts, missing = find_inputs(folder.name, (prompt, unit_test), root)
    # What only the benchmark states is not part of the question.
    formats = formats_of(folder.name)
    question = Question(folder.name, prompt, formats=formats, mounts=mounts)
    sample = make_sample(question, properties, missing, unit_test, environment)
    values = {prop.name: json.loads(prop.expected) for prop in properties}
    values |= {
        entry["property"]: entry["value"]
        for entry in _table("literals")
        if entry["question"] == folder.name and entry["property"] in values
    }
    return replace(sample, reference=published_reference(values, formats))


def published_reference(
    values: Mapping[str, str], formats: Mapping[str, str]
) -> CodeAnswer:
    """Code that returns the published values, whose unit test judges them.

    ``values`` are Python expressions by property. The authors write numbers and containers as
    texts too: such a text is what it says as Python, unless the question asks for a text.
    """
    lines = [
        f"        {name!r}: {_meant(value, formats.get(name, ''))},"
        for name, value in values.items()
    ]
    code = "\n".join([_REFERENCE, "    return {", *lines, "    }", ""])
    return CodeAnswer(code, "reference", "strict")


def _meant(value: str, format_: str) -> str:
    """The Python expression that a published value stands for."""
    try:
        text = ast.literal_eval(value)
        if not isinstance(text, str) or format_ == "str":
            return value
        names = {
            node.id
            for node in ast.walk(ast.parse(text.strip(), mode="eval"))
            if isinstance(node, ast.Name)
        }
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return value
    return text.strip() if names <= _KNOWN_NAMES else value


def make_sample(
    question: Question,
    properties: Sequence[Property],
    missing: Sequence[str],
    unit_test: str,
    environment: str,
) -> Sample:
    """A sample that ``unit_test`` judges; the expected values of ``properties`` are only shown."""
    labels = {"area": "defects", "level": "published"}
    lost = f"input files are missing: {', '.join(missing)}" if missing else None
    return Sample(question, tuple(properties), environment, labels, lost, unit_test)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise MatToolsError(f"{path}: cannot be read ({error})") from error


def _with_name(source: str, folder: Path) -> str:
    """The unit test, with the folder's name for its function where that is another.

    The function of that name counts, else the one whose name differs in case only, else the
    only function that takes an argument.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise MatToolsError(f"{folder / UNIT_TEST}: is not Python ({error})") from error
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if folder.name in names:
        return source
    alike = [name for name in names if name.casefold() == folder.name.casefold()]
    taking = [n.name for n in body if isinstance(n, ast.FunctionDef) and n.args.args]
    for candidates in (alike, taking):
        if len(candidates) == 1:
            return f"{source}\n\nglobals()[{folder.name!r}] = {candidates[0]}\n"
    raise MatToolsError(f"{folder / UNIT_TEST}: defines no function {folder.name}")


@cache
def _table(name: str) -> Any:
    return data_of(__file__, name)


def formats_of(question: str) -> Mapping[str, str]:
    """The types that a published question states."""
    return dict(_table("formats").get(question.casefold(), {}))


def annotate(sample: Sample, *, sound: bool = False) -> Sample:
    """The sample with its faulty properties (``errata.yaml``) marked, with ``sound`` without them.

    A fault is ``impossible`` (no right answer passes), ``contradicting`` (the library of the
    published versions returns something else), ``vacuous`` (an answer without content passes) or
    ``unstated`` (the question leaves open what is compared).
    """
    properties = []
    for prop in sample.properties:
        about = {"question": sample.question.id, "property": prop.name}
        errata = [
            f"{entry['kind']}: {entry['reason']}"
            for entry in _table("errata")
            if all(
                re.fullmatch(entry[key], text, re.IGNORECASE)
                for key, text in about.items()
            )
        ]
        if not (errata and sound):
            properties.append(replace(prop, erratum="; ".join(errata) or None))
    return replace(sample, properties=tuple(properties))


def find_inputs(
    name: str, texts: Sequence[str], root: Path
) -> tuple[dict[str, str], list[str]]:
    """What a question is given, as it names it, and what it reads that is not here.

    ``inputs.yaml`` says it of the published questions; of any other one counts what ``texts`` (of
    the question and its unit test) name in full. ``root`` holds all questions.
    """
    files = _input_files(root.resolve())
    reads = read_by(name)
    if reads is None:
        reads = list(
            dict.fromkeys(path for text in texts for path in _NAMED.findall(text))
        )
    missing = [
        f"{FILES_INSIDE}/{path}"
        for path in reads
        if files is None
        or ".." in path.split("/")
        or not any(
            glob(f"{path}{end}", root_dir=files, recursive=True)  # noqa: PTH207 -- `a**b` too
            for end in _PACKED
        )
    ]
    return ({} if files is None else {str(FILES_INSIDE): str(files)}), missing


def read_by(question: str) -> list[str] | None:
    """The input files of a published question."""
    sets = _table("inputs")["sets"]
    questions = _table("inputs")["questions"]
    names = questions.get(question.casefold())
    return names and [path for name in names for path in sets.get(name, [name])]


@cache
def _input_files(root: Path) -> Path | None:
    """The folder ``test_files``: as such, or of the library's sources near the questions.

    A checkout may have these sources in a branch of its own.
    """
    near = [
        place / name
        for place in (root, root.parent)
        for name in (FILES_INSIDE, "test_files")
    ]
    first, *inner = FILES_INSIDE.parts
    below = (place.joinpath(*inner) for place in sorted(root.rglob(first)))
    return next(filter(Path.is_dir, [*near, *below]), None)


@dataclass(frozen=True)
class MatToolsGold:
    """What retrieval is measured against: what at least half of the recorded right answers use.

    Questions without any right answer are left out: their gold is unknown.
    """

    recorded: (
        Path  # JSONL with answers and their outcomes, as `matsmith replay` writes it
    )
    samples: Sequence[Sample]
    packages: Sequence[str]
    environment: str
    name: str = "mattools"

    def prompts(self) -> Mapping[str, str]:
        """Question -> its whole text."""
        return {sample.question.id: sample.question.prompt for sample in self.samples}

    def gold(self) -> Mapping[str, Mapping[str, str]]:
        """Question -> qualified name -> kind."""
        folder = environments.site_packages(self.environment)
        usage = CodeResolver(read_sources(self.packages, folder))
        used: dict[str, list[dict[str, str]]] = defaultdict(
            list
        )  # by each right answer
        for row in self.right_answers():
            used[row["task"]].append(public_symbols(usage.symbols(row["code"])))
        golds = {}
        for sample, answers in used.items():
            kinds = {name: kind for names in answers for name, kind in names.items()}
            counts = Counter(name for names in answers for name in names)
            golds[sample] = {
                n: kinds[n] for n in sorted(counts) if 2 * counts[n] >= len(answers)
            }
        return {name: golds[name] for name in self.prompts() if golds.get(name)}

    def right_answers(self) -> Iterator[dict[str, Any]]:
        """The recorded ones."""
        if not self.recorded.is_file():
            raise MatToolsError(
                f"{self.recorded}: not found; without recorded answers and their outcomes the gold "
                "is unknown. `matsmith replay` writes them: give its outcomes.jsonl as "
                "recorded=FILE"
            )
        rows = (row for _, row in json_entries(self.recorded))
        yield from (row for row in rows if row["replayed"]["outcome"] == "all_correct")
