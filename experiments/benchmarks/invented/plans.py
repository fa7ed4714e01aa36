"""Plans: which calls give a quantity; made from entries, written as programs, spoilt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.benchmarks.invented.crystals import Crystal
from experiments.benchmarks.invented.entries import Choice, Convention, Entry, Need, Setting
from experiments.benchmarks.invented.lexicon import RULES, UNITS, family_of


@dataclass(frozen=True)
class Call:
    """A call of a symbol (or a constant or table that is read).

    Attributes
    ----------
    settings
        Option -> value, of those that are given.
    inputs
        Parameters that take what others give.
    """

    entry: Entry
    settings: tuple[tuple[str, Any], ...]
    inputs: tuple[Given, ...]


@dataclass(frozen=True)
class Given:
    """What a call gives, as it is handed over.

    Attributes
    ----------
    key
        Entry of a list or dict.
    factor, reciprocal
        Change of unit and sign, then inversion.
    """

    param: str
    call: Call
    key: int | str | None = None
    factor: float = 1.0
    reciprocal: bool = False


@dataclass(frozen=True)
class Wanted:
    """A value that a question asks for.

    Attributes
    ----------
    term
        Of the quantity.
    settings
        Options that the question states.
    convention
        In which it is to be given.
    """

    term: str
    settings: tuple[Setting, ...] = ()
    convention: Convention = field(default_factory=Convention)


def plan(wanted: Wanted, crystal: Crystal, by_term: Mapping[str, Entry]) -> Given:
    """The calls that give what is wanted.

    Raises
    ------
    KeyError, StopIteration
        When the entries do not say where something comes from.
    """
    call = _call(by_term[wanted.term], wanted.settings, crystal, by_term)
    return Given("", call, factor=_factor(call.entry.convention, wanted.convention))


def _call(
    entry: Entry, settings: Sequence[Setting], crystal: Crystal, by_term: Mapping[str, Entry]
) -> Call:
    values = {
        choice.param: resolve(choice, setting, crystal)
        for setting in settings
        for choice in [entry.choice(setting)]
    }
    given = tuple(
        (choice.param, values[choice.param])
        for choice in entry.choices
        if choice.param in values
        and (choice.kind != "mode" or values[choice.param] != choice.default)
    )
    inputs = tuple(handed_over(need, crystal, by_term) for need in entry.needs)
    return Call(entry, given, inputs)


def handed_over(need: Need, crystal: Crystal, by_term: Mapping[str, Entry]) -> Given:
    """What a parameter is given."""
    source = _call(by_term[need.term], need.settings, crystal, by_term)
    key: int | str | None = None
    if need.pick:
        places = {"first": 0, "last": -1}
        key = crystal.element(need.pick) if need.pick in RULES else places[need.pick]
    factor = _factor(source.entry.convention, need.convention)
    return Given(need.param, source, key, factor, need.reciprocal)


def resolve(choice: Choice, setting: Setting, crystal: Crystal) -> Any:
    """The value of an option that a setting asks for."""
    if choice.kind == "mode":
        return next(value for value, meaning in choice.meanings if meaning == setting.meaning)
    if choice.kind == "number":
        units = {unit.symbol: unit.size for family in UNITS.values() for unit in family}
        return float(f"{setting.value * units[setting.unit] / units[choice.unit]:.12g}")
    return crystal.element(setting.meaning) if choice.kind == "element" else True


def _factor(given: Convention, wanted: Convention) -> float:
    return given.factor_to(wanted) if given.family and wanted.family else 1.0


def symbols_of(given: Given) -> set[str]:
    """Dotted names of everything that a plan uses, classes included."""
    entry = given.call.entry
    own = {entry.path, entry.owner} - {""}
    return own.union(*(symbols_of(one) for one in given.call.inputs))


def depth_of(given: Given) -> int:
    """Number of calls in the longest chain; what is only read counts as none."""
    own = 0 if given.call.entry.kind == "constant" else 1
    return own + max((depth_of(one) for one in given.call.inputs), default=0)


def mistakes(
    given: Given, crystal: Crystal, others: Mapping[str, Sequence[Entry]]
) -> Iterator[tuple[str, Given]]:
    """Every single mistake of a caller, anywhere in a plan.

    Parameters
    ----------
    others
        Path of a symbol -> what may be taken for it: deprecated variants, and others that are
        called in the same way.
    """
    yield from _misread(given, crystal)
    call, where = given.call, given.call.entry.name
    for what, wrong in _other_calls(call, crystal, others.get(call.entry.path, ())):
        yield f"{where}: {what}", replace(given, call=wrong)
    for position, inner in enumerate(call.inputs):
        for what, spoilt in mistakes(inner, crystal, others):
            inputs = (*call.inputs[:position], spoilt, *call.inputs[position + 1 :])
            yield what, replace(given, call=replace(call, inputs=inputs))
        if inner.param == "structure":
            rest = tuple(one for one in call.inputs if one is not inner)
            yield f"{where}: the crystal itself", replace(given, call=replace(call, inputs=rest))


def _misread(given: Given, crystal: Crystal) -> Iterator[tuple[str, Given]]:
    """Mistakes about what a call gave: unit, sign, reciprocal, entry."""
    entry, where = given.call.entry, given.call.entry.name
    if given.factor != 1.0:
        if abs(given.factor) != 1.0:
            yield f"{where}: unit", replace(given, factor=1.0 if given.factor > 0 else -1.0)
        if given.factor < 0:
            yield f"{where}: sign", replace(given, factor=-given.factor)
    elif entry.convention.family:
        family = UNITS[entry.convention.family]
        wrong = next(unit for unit in family if unit.symbol != entry.convention.unit)
        yield f"{where}: unit", replace(given, factor=entry.convention.measure.size / wrong.size)
    if given.factor > 0 and entry.convention.polarity >= 0:
        yield f"{where}: sign", replace(given, factor=-given.factor)
    if given.reciprocal or (given.param and entry.convention.family):
        yield f"{where}: reciprocal", replace(given, reciprocal=not given.reciprocal)
    if isinstance(given.key, int):
        yield f"{where}: entry", replace(given, key=-1 - given.key)
    elif given.key is not None:
        for element in crystal.elements:
            if element != given.key:
                yield f"{where}: element", replace(given, key=element)


def _other_calls(
    call: Call, crystal: Crystal, others: Sequence[Entry]
) -> Iterator[tuple[str, Call]]:
    """Mistakes in a call itself: an option, or the symbol."""
    for position, (param, value) in enumerate(call.settings):
        choice = next(choice for choice in call.entry.choices if choice.param == param)
        for what, other in _other_values(choice, value, crystal):
            instead = () if other is None else ((param, other),)
            settings = (*call.settings[:position], *instead, *call.settings[position + 1 :])
            yield what, replace(call, settings=settings)
    for other in others:
        settings = call.settings if other.successor else ()
        yield f"{other.name} instead", replace(call, entry=other, settings=settings)


def _other_values(choice: Choice, value: Any, crystal: Crystal) -> Iterator[tuple[str, Any]]:
    if choice.default is not None or choice.kind == "flag":
        yield f"{choice.param} forgotten", None
    if choice.kind == "mode":
        for other, _ in choice.meanings:
            if other not in {value, choice.default}:
                yield f"{choice.param}={other}", other
    elif choice.kind == "element":
        for element in crystal.elements:
            if element != value:
                yield f"{choice.param}={element}", element
    elif choice.kind == "number":
        family = UNITS[family_of(choice.role)]
        own = next(unit for unit in family if unit.symbol == choice.unit)
        wrong = next(unit for unit in family if unit.symbol != choice.unit)
        yield f"{choice.param}: unit", value * own.size / wrong.size


def program(targets: Mapping[str, Given], crystal: Crystal, entry: str = "reference") -> str:
    """A function that returns the values of plans, by property."""
    writer = _Writer()
    results = {name: writer.value(given) for name, given in targets.items()}
    sites = ", ".join(f'"{element}"' for element, _ in crystal.sites)
    points = "\n".join(f"            {list(point)}," for _, point in crystal.sites)
    parameters = ", ".join(map(repr, (*crystal.lengths, *crystal.angles)))
    lines = "\n".join(f"    {line}" for line in writer.lines)
    returned = "\n".join(f'        "{name}": {value},' for name, value in results.items())
    return (
        f"from pymatgen.core import Element, Lattice, Structure\n\n{writer.imports()}\n\n\n"
        f"def {entry}():\n    crystal = Structure(\n"
        f"        Lattice.from_parameters({parameters}),\n        [{sites}],\n        [\n{points}\n"
        f"        ],\n    )\n{lines}\n    return {{\n{returned}\n    }}\n"
    )


class _Writer:
    """Turns plans into lines; what occurs twice is computed once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[Any, str] = {}
        self._imported: dict[str, str] = {}  # dotted name -> name in the program

    def imports(self) -> str:
        lines = []
        for path, name in sorted(self._imported.items()):
            module, _, original = path.rpartition(".")
            renamed = "" if original == name else f" as {name}"
            lines.append(f"from {module} import {original}{renamed}")
        return "\n".join(lines)

    def _name(self, path: str) -> str:
        last = path.rpartition(".")[2]
        taken = set(self._imported.values()) - {self._imported.get(path)}
        name = last if last not in taken else f"{last}_{len(taken)}"
        return self._imported.setdefault(path, name)

    def _bind(self, key: Any, stem: str, expression: str) -> str:
        if key not in self._known:
            self._known[key] = f"{stem}_{len(self._known) + 1}"
            self.lines.append(f"{self._known[key]} = {expression}")
        return self._known[key]

    def value(self, given: Given) -> str:
        found = self._call(given.call)
        entry = given.call.entry
        if given.key is not None:
            found = (
                f"{found}[{given.key!r}]"
                if isinstance(given.key, int)
                else f'{found}["{given.key}"]'
            )
        factor = {1.0: "", -1.0: " * -1"}.get(given.factor, f" * {given.factor!r}")
        if factor and given.key is None and entry.result == "list":
            return f"[item{factor} for item in {found}]"
        if factor and given.key is None and entry.result == "dict":
            return f"{{key: item{factor} for key, item in {found}.items()}}"
        return f"1 / ({found}{factor})" if given.reciprocal else f"{found}{factor}"

    def _call(self, call: Call) -> str:
        entry = call.entry
        if entry.kind == "constant":
            return self._name(entry.path)
        inputs = {one.param: self.value(one) for one in call.inputs}
        subject = {"": [], "structure": ["crystal"]}.get(
            entry.subject, [f"crystal.{entry.subject}"]
        )
        if "structure" in inputs:
            subject = [inputs.pop("structure")]
        needs = [f"{param}={value}" for param, value in inputs.items()]
        settings = [f"{param}={_literal(entry, param, value)}" for param, value in call.settings]
        stem = "_".join(entry.term.split()) or "value"
        if entry.owner:
            made = f"{self._name(entry.owner)}({', '.join([*subject, *needs])})"
            receiver = self._bind(("object", entry.owner, call.inputs), "built", made)
            called = "" if entry.kind == "property" else f"({', '.join(settings)})"
            return self._bind(call, stem, f"{receiver}.{entry.name}{called}")
        arguments = ", ".join([*subject, *needs, *settings])
        return self._bind(call, stem, f"{self._name(entry.path)}({arguments})")


def _literal(entry: Entry, param: str, value: Any) -> str:
    kind = next((choice.kind for choice in entry.choices if choice.param == param), "mode")
    return f'Element("{value}")' if kind == "element" else repr(value).replace("'", '"')
