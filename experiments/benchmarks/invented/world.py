"""A world: an invented package, and questions about it. Pure: the same knobs, the same bytes."""

from __future__ import annotations

import hashlib
import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from experiments.benchmarks.invented import graph
from experiments.benchmarks.invented.crystals import RAWS, WorldCrystal, draw_crystal
from experiments.benchmarks.invented.graph import (
    Edge,
    Entry,
    Need,
    Others,
    SymbolCall,
    WorldSymbol,
)
from experiments.benchmarks.invented.lexicon import Draw, Knobs, WorldError, template
from experiments.benchmarks.invented.prose import TYPES, Prose, describe
from experiments.benchmarks.invented.symbols import (
    SymbolDraft,
    draw_settings,
    grow,
    respelled,
)

_ABOUT = "Quantities of crystals, as our group defines them."
_MOST = 7  # properties of a question
_ATTEMPTS = 400
_EVEN = 40  # attempts that prefer quantities that were asked for less often
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class QuestionProperty:
    """One property of a question."""

    name: str
    wanted: Need
    plan: Edge
    gold: Any
    description: str
    format: str


@dataclass(frozen=True)
class InventedQuestion:
    """A question."""

    id: str
    crystal: WorldCrystal
    properties: tuple[QuestionProperty, ...]
    goal: str
    depth: int  # number of calls in the longest chain
    breadth: int  # number of symbols needed

    @property
    def reference(self) -> str:
        """The program of an expert."""
        return program({prop.name: prop.plan for prop in self.properties}, self.crystal)


@dataclass(frozen=True)
class World(SymbolDraft):
    """A package with questions."""

    files: Mapping[str, str]  # file name -> text of the package, documentation included
    #: The same without a docstring or comment. Code of answers imports it: who could read the
    #: documents there would need nothing else, and a program could read them in place of a model.
    bare: Mapping[str, str]
    prose: Prose
    questions: tuple[InventedQuestion, ...]


def generate(knobs: Knobs) -> World:
    """The world of these knobs."""
    draft = grow(knobs)
    prose = Prose(draft)
    full, bare = (
        _files(draft, prose, documented=documented) for documented in (True, False)
    )
    # What an installer would write. Packages of one seed differ by their version only.
    digest = hashlib.sha256("".join(full[name] for name in sorted(full)).encode())
    version = f"3.0.{int(digest.hexdigest()[:12], 16)}"
    folder = f"{draft.package}-{version}.dist-info"
    record = [*sorted(full), f"{folder}/METADATA", f"{folder}/RECORD"]
    about = {
        record[
            -2
        ]: f"Metadata-Version: 2.1\nName: {draft.package}\nVersion: {version}\n",
        record[-1]: "".join(f"{name},,\n" for name in record),
    }
    questions = tuple(draw_questions(draft))
    return World(
        **vars(draft),
        files=full | about,
        bare=bare | about,
        prose=prose,
        questions=questions,
    )


def _files(draft: SymbolDraft, prose: Prose, *, documented: bool) -> dict[str, str]:
    files = {}
    listed = []
    for name in draft.modules:
        module = f"{draft.package}.{name}"
        own = [
            symbol
            for path, symbol in draft.symbols.items()
            if path.startswith(f"{module}.")
        ]
        if own:
            listed.append(f"- `{name}`")
            files[f"{draft.package}/{name}.py"] = template("module.py.j2").render(
                about=documented and textwrap.fill(" ".join(prose.modules[module]), 88),
                symbols=own,
                by_term=draft.by_term,
                prose=prose,
                types=TYPES,
                raws=RAWS,
                zip=zip,
                parameters=partial(_parameters, draft),
                parts=_parts,
            )
    helpers = template("_helpers.py.j2").render(documented=documented)
    about = "\n\n".join([f'"""{_ABOUT}', "Modules:", "\n".join(listed) + '\n"""\n'])
    files[f"{draft.package}/_helpers.py"] = helpers
    files[f"{draft.package}/__init__.py"] = about if documented else ""
    return files


def _parameters(draft: SymbolDraft, entry: Entry) -> str:
    """What stands between the brackets of a definition."""
    parameters = (
        [f"{entry.subject}: {entry.subject.capitalize()}"] if entry.subject else []
    )
    for need in entry.needs:
        kind = "float" if need.pick else draft.by_term[need.term].result
        parameters += (
            [f"{need.param}: {TYPES[kind]}"] if need.param != "structure" else []
        )
    parameters = ["self"] if entry.owner else parameters
    for choice in entry.choices:
        default = "" if choice.default is None else f" = {choice.default!r}"
        parameters += ["*"] if choice is entry.choices[0] else []
        parameters.append(f"{choice.param}: {TYPES[choice.kind]}{default}")
    return ", ".join(parameters)


def _parts(symbol: WorldSymbol) -> list[str]:
    """Parts of the structure that a function uses by name."""
    entry = symbol.entry
    ratios = symbol.formula.ratios
    used = {RAWS[ratio.name][0] for ratio in ratios if ratio.kind == "raw"}
    used |= {"composition"} if entry.result in {"list", "dict"} else set()
    return sorted(used - {"structure"}) if entry.subject == "structure" else []


def draw_questions(draft: SymbolDraft) -> list[InventedQuestion]:
    """The questions of a world; each passes its gates as far as they need no library."""
    knobs = draft.knobs
    askable = [
        s
        for s in draft.symbols.values()
        if s.core
        and s.entry.term
        and not s.entry.successor
        and s.entry.kind != "constant"
        and s.entry.result != "structure"
    ]
    others = graph.mistakable(draft.symbols)
    times = Counter[str]()  # that a term was asked for
    questions = []
    for number in range(1, knobs.questions + 1):
        for attempt in range(_ATTEMPTS):
            draw = Draw(
                knobs.seed, "question", knobs.depth, knobs.breadth, number, attempt
            )
            # Terms that were asked for less often come first, unless none of them passes.
            order = draw.shuffled(askable)
            if attempt < _EVEN:
                order.sort(key=lambda symbol: times[symbol.entry.term])
            order.sort(key=lambda symbol: symbol.layer != knobs.depth)
            rest = draw.shuffled(order[1:])
            if knobs.breadth > 3 * knobs.depth:  # few properties can need as much
                rest.sort(key=lambda symbol: symbol.layer < knobs.depth - 1)
            name = f"{draft.package}_{number:02d}"
            question = _draw(draft, draw, name, [order[0], *rest], others)
            if question is not None:
                break
        else:
            given = f"seed={knobs.seed} depth={knobs.depth} breadth={knobs.breadth}"
            raise WorldError(
                f"{given}: no question passes its gates; take another seed"
            )
        times.update(prop.wanted.term for prop in question.properties)
        questions.append(question)
    return questions


def _draw(
    draft: SymbolDraft,
    draw: Draw,
    name: str,
    order: Sequence[WorldSymbol],
    others: Others,
) -> InventedQuestion | None:
    """One question: the deepest quantity first, then others until it is broad enough."""
    crystal = draw_crystal(draw)
    breadth = draft.knobs.breadth
    text = goal = template("goal.j2").render(crystal=crystal, package=draft.package)
    properties: list[QuestionProperty] = []
    used: set[str] = set()
    for symbol in order:
        prop = _ask(draft, draw, f"value_{len(properties) + 1}", symbol, crystal)
        needed = used | graph.symbols_of(prop.plan.call)
        if len(properties) >= 2 and len(needed) > breadth:
            continue
        longer = f"{text} {prop.description}"
        if (
            all(_fit(each.gold, longer) for each in (*properties, prop))
            and graph.steady(prop.plan, crystal, draft.symbols)
            and graph.all_show(prop.plan, crystal, draft.symbols, others)
        ):
            properties.append(prop)
            used, text = needed, longer
        elif not properties:
            return None
        if len(properties) == _MOST or (len(properties) >= 2 and len(used) >= breadth):
            break
    depth = max(graph.depth_of(prop.plan.call) for prop in properties)
    question = InventedQuestion(
        name, crystal, tuple(properties), goal, depth, len(used)
    )
    return question if len(properties) >= 2 else None


def _ask(
    draft: SymbolDraft,
    draw: Draw,
    name: str,
    symbol: WorldSymbol,
    crystal: WorldCrystal,
) -> QuestionProperty:
    entry = symbol.entry
    knobs = draft.knobs
    settings = draw_settings(draw, entry)
    wanted = Need(
        "", entry.term, settings, convention=respelled(draw, entry.convention)
    )
    given = graph.plan(wanted, crystal, draft.by_term)
    words = Draw(
        knobs.seed, name, entry.term, draw.number()
    )  # their number moves nothing else
    text = describe(symbol, wanted, knobs.gap, words)
    gold = graph.evaluate(given, crystal, draft.symbols)
    return QuestionProperty(name, wanted, given, gold, text, TYPES[entry.result])


def _fit(value: Any, text: str) -> bool:
    """Whether a value can be asked for: tells right from wrong, and does not stand in the text."""
    if isinstance(value, int | str):
        return 200 <= graph.counted(value) < 1e7 and str(value) not in text
    numbers = [float(number) for number in _NUMBER.findall(text)]
    parts = value.values() if isinstance(value, dict) else value
    leaves = [value] if isinstance(value, float) else list(parts)
    hidden = not any(
        math.isclose(leaf, n, rel_tol=2e-3) for leaf in leaves for n in numbers
    )
    return hidden and all(1e-5 < abs(leaf) < 1e8 for leaf in leaves)


def program(targets: Mapping[str, Edge], crystal: WorldCrystal) -> str:
    """A function ``reference`` that returns the values of plans, by property."""
    writer = _Writer()
    results = {name: writer.value(given) for name, given in targets.items()}
    return template("program.py.j2").render(
        crystal=crystal, results=results, writer=writer
    )


class _Writer:
    """Turns plans into lines; what occurs twice is computed once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._variables: dict[Any, str] = {}  # what was computed -> its variable
        self.imported: dict[str, str] = {}  # dotted name -> name in the program

    def value(self, given: Edge) -> str:
        code = self._call(given.call)
        if given.key is not None:
            code = f"{code}[{given.key!r}]"
        factor = f" * {given.factor!r}" if given.factor != 1.0 else ""
        whole = given.call.entry.result if given.key is None else ""
        if factor and whole == "list":
            return f"[item{factor} for item in {code}]"
        if factor and whole == "dict":
            return f"{{key: item{factor} for key, item in {code}.items()}}"
        return f"1 / ({code}{factor})" if given.reciprocal else f"{code}{factor}"

    def _call(self, call: SymbolCall) -> str:
        entry = call.entry
        if entry.kind == "constant":
            return self._name(entry.path)
        inputs = {given.param: self.value(given) for given in call.inputs}
        crystal = inputs.pop("structure", "crystal")
        subject = {"": [], "structure": [crystal]}.get(
            entry.subject, [f"crystal.{entry.subject}"]
        )
        needs = [f"{param}={value}" for param, value in inputs.items()]
        elements = {
            choice.param for choice in entry.choices if choice.kind == "element"
        }
        options = [
            f"{param}={f'Element({value!r})' if param in elements else repr(value)}"
            for param, value in call.settings
        ]
        stem = entry.term.replace(" ", "_")
        if not entry.owner:
            arguments = ", ".join([*subject, *needs, *options])
            return self._bind(call, stem, f"{self._name(entry.path)}({arguments})")
        construction = f"{self._name(entry.owner)}({', '.join([*subject, *needs])})"
        receiver = self._bind((entry.owner, call.inputs), "built", construction)
        called = "" if entry.kind == "property" else f"({', '.join(options)})"
        return self._bind(call, stem, f"{receiver}.{entry.name}{called}")

    def _name(self, path: str) -> str:
        last = path.rpartition(".")[2]
        taken = set(self.imported.values()) - {self.imported.get(path)}
        return self.imported.setdefault(
            path, last if last not in taken else f"{last}_{len(taken)}"
        )

    def _bind(self, key: Any, stem: str, expression: str) -> str:
        if key not in self._variables:
            self._variables[key] = f"{stem}_{len(self._variables) + 1}"
            self.lines.append(f"{self._variables[key]} = {expression}")
        return self._variables[key]
