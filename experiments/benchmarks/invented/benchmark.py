"""The benchmark ``invented``: questions about a package that is made for them, and proved.

Credit is partial: an answer that is not all right runs once more in the sandbox with the package's
functions watched. What they returned is compared with what the calls of the reference return.
What holds by construction (each mistake of a caller shows, no two things are called alike, the
documents hold every fact and no program reads them) is tested in
``tests/experiments/benchmarks/invented``.
"""

# No deferred annotations, for the same reason as in `lexicon`.
import ast
import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from agents.base import Trajectory
from experiments.benchmarks.invented.graph import calls_of, compute, depth_of, differs
from experiments.benchmarks.invented.lexicon import UNITS, Knobs, WorldError
from experiments.benchmarks.invented.world import InventedQuestion, World, generate
from experiments.benchmarks.question_check import Checker
from experiments.benchmarks.question_format import read_tasks
from experiments.benchmarks.question_gold import ReferenceGold
from experiments.samples import Sample
from experiments.scorers.base import FIRST_WRONG, Metric, Score, ScoringContext
from experiments.scorers.properties import PropertyScorer
from foundation.progress import saying
from indexes.corpus import building, replaced_folder
from sandbox import environments, libraries

BASE = "live"
#: What documents are read of, what answers import, and what no sandbox of an answer ever sees.
DOCUMENTED, PACKAGE, QUESTIONS = "documented", "package", "questions"
#: What a level decides. 12 documents have all that a question needs (1), two thirds of
#: it (2), a quarter (3); from 4 on no term is said, at 5 chains are long among many symbols.
LEVELS = {
    1: {"size": 60, "depth": 1, "breadth": 3, "gap": 0},
    2: {"size": 120, "depth": 2, "breadth": 6, "gap": 0},
    3: {"size": 300, "depth": 4, "breadth": 20, "gap": 0},
    4: {"size": 300, "depth": 4, "breadth": 20, "gap": 2},
    5: {"size": 1500, "depth": 7, "breadth": 20, "gap": 2},
}
_WORLD = "world.json"
_SOURCES = {".py", ".yaml", ".j2"}
_SAME = 1e-8  # two evaluations of a value differ by less: rounding
#: Beside a question's gold.
LINKS = "links.json"
#: Value and artefact of an answer that reads documentation while it runs: whether, and by what.
READS = "reads documentation"
_MEANS = frozenset(
    {
        "ast",
        "inspect",
        "linecache",
        "pkgutil",
        "pydoc",
        "tokenize",
        "__doc__",
        "__file__",
        "__loader__",
        "__spec__",
        "co_filename",
        "getdoc",
        "getsource",
        "get_data",
        "help",
        "read_text",
        "walk_packages",
    }
)
_TOLERANCE = 1e-3
_FACTORS = {a.size / b.size for units in UNITS.values() for a in units for b in units}
_WATCH = """

def _watched_calls():
    import sys

    found = {{}}

    def note(frame, event, value):
        module, caller = (f.f_globals.get("__name__") or "" for f in (frame, frame.f_back or frame))
        inside = [name.partition(".")[0] == {package!r} for name in (module, caller)]
        if event == "return" and inside == [True, False]:
            values = found.setdefault(module + "." + frame.f_code.co_qualname, [])
            if isinstance(value, (int, float, str, list, dict)) and len(values) < 100:
                values.append(value)

    sys.setprofile(note)
    try:
        {entry}()
    except Exception:
        pass  # what was called before it counts
    finally:
        sys.setprofile(None)
    return found
"""


def documentation_reads(code: str) -> list[str]:
    """Modules and names by which code reads the sources or docstrings of what it imports.

    A list of means, not a proof: what is not in it counts as none. Code that is no Python has none.
    """
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    means = set()
    for node in nodes:
        match node:
            case ast.alias(name=str(name)) | ast.ImportFrom(module=str(name)):
                means.add(name.partition(".")[0])
            case (
                ast.Attribute(attr=name)
                | ast.Name(id=name)
                | ast.Constant(value=str(name))
            ):
                means.add(name)  # a text: getattr(x, "__doc__")
    return sorted(means & _MEANS)


def links_of(world: World, question: InventedQuestion) -> list[dict[str, Any]]:
    """The calls that each property needs, those that others need first: what each gives.

    The last one of a property has what is asked for under ``gold``.
    """
    links: list[dict[str, Any]] = []
    for prop in question.properties:
        for call in calls_of(prop.plan.call):
            if call.entry.kind != "constant" and call.entry.result != "structure":
                value = compute(call, question.crystal, world.symbols)
                link = {
                    "property": prop.name,
                    "symbol": call.entry.path,
                    "value": value,
                }
                link["depth"] = depth_of(call)
                links += [link] if link not in links else []
        links[-1] = {**links[-1], "gold": prop.gold}
    return sorted(links, key=lambda link: int(link["depth"]))


def first_wrong(
    links: Sequence[Mapping[str, Any]], returned: Mapping[str, Sequence[Any]]
) -> Mapping[str, Any] | None:
    """The first call that did not give what it should; ``None`` when all did."""
    for link in links:
        values = returned.get(link["symbol"], [])
        if all(differs(link["value"], value, _TOLERANCE) for value in values):
            return link
    return None


def what_failed(
    links: Sequence[Mapping[str, Any]],
    name: str,
    returned: Mapping[str, Sequence[Any]],
    value: Any,
) -> str:
    """Where the way to a property of this value left that of the reference."""
    own = [link for link in links if link["property"] == name]
    if link := first_wrong(own, returned):
        symbol = link["symbol"]
        if symbol in returned:
            return f"argument of {symbol}"
        others = {name for name in returned if name.rpartition(".")[2][:1] not in "_<"}
        symbols = {str(link["symbol"]) for link in links}
        return f"{'wrong symbol' if others - symbols else 'missing call'} ({symbol})"
    gold = own[-1]["gold"]
    if not isinstance(value, int | float) or not isinstance(gold, int | float):
        return "logic"
    other = any(
        not differs(abs(gold) * factor, abs(value), _TOLERANCE) for factor in _FACTORS
    )
    return "unit or sign" if other else "logic"


@dataclass(frozen=True)
class ChainScorer(PropertyScorer):
    """Properties, which link of each one's chain is first wrong, and reading while running."""

    metrics: Sequence[Metric] = (
        *PropertyScorer.metrics,
        Metric(
            READS, READS, "answers whose code reads docstrings or sources as it runs"
        ),
    )

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """As :meth:`PropertyScorer.score`; the links are `Sample.target`."""
        score = await super().score(sample, trajectory, context)
        reads = documentation_reads(trajectory.code or "")
        artefacts = {READS: ", ".join(reads)} if reads else {}
        values = {**score.values, READS: float(bool(reads))}
        score = replace(score, values=values, artefacts=artefacts)
        right = score.passed is None or all(score.passed.values())
        if right or trajectory.code is None or not trajectory.entry:
            return score
        links: list[Mapping[str, Any]] = list(sample.target)
        package = str(links[0]["symbol"]).partition(".")[0]
        watch = _WATCH.format(package=package, entry=trajectory.entry)
        run = await context.run(sample, f"{trajectory.code}{watch}", "_watched_calls")
        called = run.result if isinstance(run.result, Mapping) else {}
        returned = {
            name: values for name, values in called.items() if isinstance(values, list)
        }
        wrong = first_wrong(links, returned)
        deepest = max(int(link["depth"]) for link in links)
        artefacts |= {
            FIRST_WRONG: f"{wrong['depth']} of {deepest}" if wrong else "none"
        }
        result = score.execution.result if score.execution else None
        given = result if isinstance(result, Mapping) else {}
        reasons = {
            name: f"{what_failed(links, name, returned, given.get(name))}: {reason}"
            for name, reason in score.reasons.items()
        }
        return replace(score, artefacts=artefacts, reasons=reasons)


@dataclass(frozen=True)
class InventedBenchmark(Knobs):
    """The benchmark ``invented``: the knobs of a world, of which a level may decide some."""

    level: Literal[1, 2, 3, 4, 5] | None = None
    name: str = "invented"
    scorer = ChainScorer()

    def __post_init__(self) -> None:
        for name, value in LEVELS[self.level].items() if self.level is not None else ():
            if getattr(self, name) not in {value, getattr(Knobs, name)}:
                raise WorldError(
                    f"{name}={getattr(self, name)}: level={self.level} has {value}"
                )
            object.__setattr__(self, name, value)
        super().__post_init__()

    @cached_property
    def folder(self) -> Path:
        """The proven world in the cache, made when it is first needed."""
        knobs = {field.name: getattr(self, field.name) for field in fields(Knobs)}
        # What decides a world besides its knobs: this program, and the library beneath.
        digest = hashlib.sha256(environments.lock_file(BASE).read_bytes())
        for path in sorted(
            p for p in Path(__file__).parent.rglob("*.*") if p.suffix in _SOURCES
        ):
            digest.update(path.name.encode() + path.read_bytes())
        name = "-".join(map(str, (*knobs.values(), digest.hexdigest()[:12])))
        cached = environments.cache_folder() / "invented" / name
        with building(cached):  # a second process waits, then finds it done
            if not cached.is_dir():
                with (
                    replaced_folder(cached) as fresh,
                    saying("invented package") as say,
                ):
                    make(
                        Knobs(**knobs), fresh, say
                    )  # an interrupted one leaves nothing
        return cached

    @property
    def packages(self) -> Sequence[str]:
        """Import name of what is retrieved from."""
        return (
            json.loads((self.folder / _WORLD).read_text(encoding="utf-8"))["package"],
        )

    def load(self) -> list[Sample]:
        """All samples, sorted by question id; the world is made if need be."""
        folder, labels = (
            self.folder / QUESTIONS,
            {"package": "invented", "gap": str(self.gap)},
        )
        environment = _overlay(self.packages[0], self.folder)
        return [
            replace(
                task,
                target=json.loads(
                    (folder / task.question.id / LINKS).read_text("utf-8")
                ),
            )
            for task in read_tasks(
                folder, "goal", environment=environment, labels=labels
            )
        ]

    def gold(self, *, trace: bool = True) -> ReferenceGold:
        """What retrieval is measured against."""
        name = f"{self.name} size {self.size} depth {self.depth} gap {self.gap}"
        questions = self.folder / QUESTIONS
        return ReferenceGold(name, questions, self.load(), self.packages, trace=trace)


def make(knobs: Knobs, out: Path, say: Callable[[str], None] = lambda _: None) -> World:
    """Write a world with its golds; `WorldError` when it cannot be made or a reference fails."""
    say("drawing symbols and questions")
    world = generate(knobs)
    _write(world, out)
    say("environment")
    environment = _overlay(world.package, out)
    environments.build(environment, say=say)
    say("running the references")
    with ThreadPoolExecutor(1) as pool:  # the caller may be inside of an event loop
        findings = pool.submit(
            asyncio.run, _prove(world, out / QUESTIONS, environment)
        ).result()
    if findings:
        listed = "\n  ".join(findings[:20])
        raise WorldError(
            f"{out}: the world failed {len(findings)} of its gates:\n  {listed}"
        )
    return world


def _overlay(package: str, folder: Path) -> str:
    return libraries.overlay(
        package, base=BASE, folder=folder / PACKAGE, documented=folder / DOCUMENTED
    )


def _write(world: World, out: Path) -> None:
    texts = {f"{DOCUMENTED}/{name}": text for name, text in world.files.items()}
    texts |= {f"{PACKAGE}/{name}": text for name, text in world.bare.items()}
    for question in world.questions:
        folder = f"{QUESTIONS}/{question.id}"
        properties = [
            {key: vars(prop)[key] for key in ("name", "description", "format")}
            for prop in question.properties
        ]
        counted = {
            "area": "invented",
            "depth": question.depth,
            "breadth": question.breadth,
        }
        # JSON is YAML.
        texts[f"{folder}/task.yaml"] = _json(
            counted | {"properties": properties, "goal": question.goal}
        )
        texts[f"{folder}/reference.py"] = question.reference
        texts[f"{folder}/{LINKS}"] = _json(links_of(world, question))
    texts[_WORLD] = _json({"package": world.package, "knobs": asdict(world.knobs)})
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


async def _prove(world: World, questions: Path, environment: str) -> list[str]:
    """References pass the gates of all questions, which writes golds, and agree with the graph."""
    findings = []
    async with Checker(env=environment, recorded=["pymatgen-core"]) as checker:
        for question in world.questions:
            folder = questions / question.id
            faults = list((await checker.check(folder, write=True)).findings)
            if not faults:
                gold = json.loads((folder / "gold.json").read_text(encoding="utf-8"))[
                    "properties"
                ]
                faults = [
                    f"{prop.name}: {gold[prop.name]!r}, but the graph gives {prop.gold!r}"
                    for prop in question.properties
                    if differs(prop.gold, gold[prop.name], _SAME)
                ]
            findings += [f"{question.id}: {finding}" for finding in faults]
    return findings
