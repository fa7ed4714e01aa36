"""Writes the package of a world: what a caller imports, with its documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import RAWS
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Choice, Entry, Need
from experiments.benchmarks.invented.graph import Knobs, Symbol
from experiments.benchmarks.invented.prose import TYPES, docstring, facts_of

_HELPERS = '''"""Helpers of the package."""

from __future__ import annotations

import math


def power(value: float, exponent: float) -> float:
    """A power that keeps the sign."""
    return math.copysign(abs(value) ** exponent, value)


def chosen(name: str, value: str, factors: dict[str, float]) -> float:
    """The factor of a choice."""
    if value not in factors:
        raise ValueError(f"{name}={value!r}: choose one of {', '.join(sorted(factors))}")
    return factors[value]
'''


def outdated(symbols: Mapping[str, Symbol], knobs: Knobs) -> dict[str, Entry]:
    """What the documentation says of the symbols about which it is no longer true.

    One in ten of those that have something to be wrong about: the unit of a result, the default
    or the name of a value.
    """
    told: dict[str, Entry] = {}
    if knobs.docs != "outdated":
        return told
    for path, symbol in symbols.items():
        entry = symbol.entry
        draw = Draw(knobs.seed, "outdated", entry.term, entry.name)
        modes = [choice for choice in entry.choices if choice.kind == "mode"]
        able = bool(entry.convention.family) or bool(modes)
        if not able or entry.successor or entry.kind == "constant" or not draw.chance(0.12):
            continue
        if modes and (draw.chance(0.5) or not entry.convention.family):
            mode = modes[0]
            if draw.chance(0.5):
                default = draw.choice(
                    [value for value, _ in mode.meanings if value != mode.default]
                )
                wrong = replace(mode, default=default)
            else:  # the values had other names
                former = {value: value[::-1] + "a" for value, _ in mode.meanings}
                known = tuple((former[value], meaning) for value, meaning in mode.meanings)
                wrong = replace(mode, meanings=known, default=former[str(mode.default)])
            told[path] = replace(
                entry, choices=tuple(wrong if c is mode else c for c in entry.choices)
            )
        else:
            family = lexicon.UNITS[entry.convention.family]
            unit = draw.choice(
                [unit.symbol for unit in family if unit.symbol != entry.convention.unit]
            )
            told[path] = replace(entry, convention=replace(entry.convention, unit=unit))
    return told


def write_package(
    package: str,
    modules: Sequence[str],
    symbols: Mapping[str, Symbol],
    by_term: Mapping[str, Entry],
    knobs: Knobs,
) -> dict[str, str]:
    """File name -> text of the package.

    Parameters
    ----------
    package, modules
        Import name, and names of its modules.
    symbols
        By dotted name, in an order in which each needs only earlier ones.
    """
    told = outdated(symbols, knobs)
    files = {f"{package}/_helpers.py": _HELPERS}
    listed = []
    for module in modules:
        prefix = f"{package}.{module}."
        own = {path: s for path, s in symbols.items() if path.startswith(prefix)}
        if own:
            files[f"{package}/{module}.py"] = _module(own, by_term, told, knobs, module)
            listed.append(module)
    names = "\n".join(f"- `{module}`" for module in listed)
    files[f"{package}/__init__.py"] = (
        f'"""Quantities of crystals, as our group defines them.\n\nModules:\n\n{names}\n"""\n'
    )
    return dict(sorted(files.items()))


def _module(
    own: Mapping[str, Symbol], by_term: Mapping[str, Entry], told: Mapping[str, Entry], knobs: Knobs, name: str
) -> str:  # fmt: skip
    constants, definitions = [], []
    for path, symbol in own.items():
        entry = told.get(path, symbol.entry)
        if entry.kind == "constant":
            constants.append(_constant(symbol, by_term, knobs))
        elif not entry.owner:
            definitions.append(_definition(symbol, entry, own, by_term, told, knobs))
    heads = ("Quantities of one kind", "A part of the package", "Functions of daily use")
    head = Draw(knobs.seed, "module", name).choice(heads)
    return (
        f'"""{head}."""\n\nfrom __future__ import annotations\n\nimport math\nimport warnings\n\n'
        "from pymatgen.core import Composition, Element, Lattice, Structure\n\n"
        "from ._helpers import chosen, power\n\n"
        + "\n\n\n".join(["\n\n".join(constants), *definitions])
        + "\n"
    )


def _constant(symbol: Symbol, by_term: Mapping[str, Entry], knobs: Knobs) -> str:
    """A constant or table, with its documentation before or after it."""
    entry = symbol.entry
    draw = Draw(knobs.seed, "prose", entry.term)
    facts = facts_of(symbol, entry, by_term, draw)
    text = " ".join([facts.summary, *draw.shuffled([facts.returns, facts.use])])
    told = knobs.docs in {"full", "outdated"}
    mark = "#: " if told else "# "
    before = textwrap.fill(text, 92, initial_indent=mark, subsequent_indent=mark)
    value = f"{entry.name} = {_value(symbol)}"
    if told and draw.chance(0.5):
        return f'{value}\n"""{textwrap.fill(text, 92)}"""'
    return f"{before}\n{value}"


def _value(symbol: Symbol) -> str:
    if not symbol.formula.values:
        return repr(
            -symbol.formula.scale if symbol.entry.convention.sense else symbol.formula.scale
        )
    rows = "".join(
        f'    "{element}": {value!r},\n' for element, value in symbol.formula.values.items()
    )
    return f"{{\n{rows}}}"


def _definition(
    symbol: Symbol, told: Entry, own: Mapping[str, Symbol], by_term: Mapping[str, Entry],
    all_told: Mapping[str, Entry], knobs: Knobs,
) -> str:  # fmt: skip
    entry = symbol.entry
    documentation = _documentation(symbol, told, by_term, knobs)
    if entry.kind == "function":
        header = f"def {entry.name}({_parameters(entry, by_term)}) -> {TYPES[entry.result]}:"
        return "\n".join([header, *documentation, *_body(symbol, told, by_term)])
    bases = f"({symbol.base.rpartition('.')[2]})" if symbol.base else ""
    lines = [f"class {entry.name}{bases}:", *documentation, ""]
    if not symbol.base:
        lines.append(f"    def __init__(self, {_parameters(entry, by_term)}) -> None:")
        lines += [
            f"        self.{name} = {name}"
            for name in ("structure", *(n.param for n in entry.needs))
        ]
        lines.append("")
    for path, member in own.items():
        if member.entry.owner != entry.path:
            continue
        member_told = all_told.get(path, member.entry)
        head = [
            f"def {member.entry.name}({_parameters(member.entry, by_term)}) -> {TYPES[member.entry.result]}:"
        ]
        head = ["@property", *head] if member.entry.kind == "property" else head
        body = [
            *_documentation(member, member_told, by_term, knobs),
            *_body(member, member_told, by_term),
        ]
        lines += [f"    {line}" if line else "" for line in (*head, *body)]
        lines.append("")
    return "\n".join(lines).rstrip()


def _documentation(
    symbol: Symbol, told: Entry, by_term: Mapping[str, Entry], knobs: Knobs
) -> list[str]:
    draw = Draw(knobs.seed, "prose", symbol.entry.term, symbol.entry.name)
    text = docstring(symbol, told, by_term, draw)
    comments = [f"    # {line}".rstrip() for line in text.splitlines()]
    if knobs.docs == "source":
        return comments
    if knobs.docs == "signatures":
        return [f'    """{text.partition(chr(10) * 2)[0]}"""', *comments]
    lines = text.splitlines()
    if len(lines) == 1:
        return [f'    """{lines[0]}"""']
    return [f'    """{lines[0]}', *(f"    {line}".rstrip() for line in lines[1:]), '    """']


def _parameters(entry: Entry, by_term: Mapping[str, Entry]) -> str:
    parts = ["self"] if entry.owner else []
    if not entry.owner:
        if entry.subject:
            parts.append(f"{entry.subject}: {entry.subject.capitalize()}")
        for need in entry.needs:
            if need.param != "structure":
                parts.append(f"{need.param}: {_need_type(need, by_term)}")
    if entry.choices:
        parts += ["*", *map(_option, entry.choices)]
    return ", ".join(parts)


def _need_type(need: Need, by_term: Mapping[str, Entry]) -> str:
    return "float" if need.pick else TYPES[by_term[need.term].result]


def _option(choice: Choice) -> str:
    if choice.kind == "element":
        return f"{choice.param}: Element"
    if choice.kind == "flag":
        return f"{choice.param}: bool = False"
    if choice.kind == "number":
        return f"{choice.param}: float = {choice.default!r}"
    return f'{choice.param}: str = "{choice.default}"'


def _body(symbol: Symbol, told: Entry, by_term: Mapping[str, Entry]) -> list[str]:
    entry, formula = symbol.entry, symbol.formula
    lines = []
    if entry.successor:
        lines.append(f'warnings.warn("use {entry.successor}", DeprecationWarning, stacklevel=2)')
    lines += _since(entry, told)
    if entry.owner:
        lines.append("structure = self.structure")
    subject = RAWS[formula.raw].subject if formula.raw else ""
    if entry.result in {"list", "dict"} and entry.subject == "structure":
        lines.append("composition = structure.composition")
    if entry.subject == "structure" and subject in {"lattice", "composition"}:
        lines.append(f"{subject} = structure.{subject}")
    lines.append(f"value = {formula.scale!r}")
    if formula.raw:
        measured = f"({RAWS[formula.raw].code}) / {formula.raw_reference!r}"
        lines.append(f"value *= power({measured}, {formula.raw_power!r})")
    for need in entry.needs:
        if need.param in formula.inputs:
            usual, exponent = formula.inputs[need.param]
            given = f"self.{need.param}" if entry.owner else need.param
            if by_term[need.term].result == "str":
                given = f'float({given}.partition("-")[2])'
            given = f"1.0 / {given}" if need.reciprocal else given
            sign = "-" if need.convention.sense else ""
            lines.append(f"value *= power({sign}({given}) / {usual!r}, {exponent!r})")
    if formula.inner is not None:
        path, usual, exponent = formula.inner
        called = f"{path.rpartition('.')[2]}({entry.subject})"
        lines.append(f"value *= power({called} / {usual!r}, {exponent!r})")
    for choice in entry.choices:
        lines.append(_effect(choice, formula.effects[choice.param]))
    lines += _result(entry, formula.tick, formula.prefix)
    return [f"    {line}" for line in lines]


def _since(entry: Entry, told: Entry) -> list[str]:
    """What tells a reader of the code, or who runs it, that the documentation is out of date."""
    if told.convention != entry.convention:
        note = f"{entry.name}: the result is in {entry.convention.measure.words} since version 3"
        return [f'warnings.warn("{note}", stacklevel=2)']
    for choice, former in zip(entry.choices, told.choices, strict=True):
        if choice != former:
            renamed = choice.meanings != former.meanings
            return [
                f'# since version 3, "{choice.default}" is the default of {choice.param}'
                + ("; its values were renamed:" if renamed else ""),
                *(
                    [f'# "{value}" means that {meaning}' for value, meaning in choice.meanings]
                    if renamed
                    else []
                ),
            ]
    return []


def _effect(choice: Choice, effect: Mapping[str, float]) -> str:
    name = choice.param
    if choice.kind == "mode":
        factors = ", ".join(f'"{value}": {effect[value]!r}' for value, _ in choice.meanings)
        return f'value *= chosen("{name}", {name}, {{{factors}}})'
    if choice.kind == "number":
        return f"value *= 1.0 + {effect['slope']!r} * {name}"
    if choice.kind == "flag":
        return f"value *= {effect['on']!r} if {name} else 1.0"
    return f"value *= power(Element({name}).X / 2.0, {effect['power']!r})"


def _result(entry: Entry, tick: float, prefix: str) -> list[str]:
    if entry.result == "structure":
        return [
            "changed = structure.copy()",
            "changed.scale_lattice(structure.volume * (1.0 + value) ** 3)",
            "return changed",
        ]
    if entry.result == "int":
        return [f"return math.floor(value / {tick!r})"]
    if entry.result == "str":
        return [f'return f"{prefix}-{{math.floor(value / {tick!r}):05d}}"']
    sign = "-" if entry.convention.sense else ""
    if entry.result == "float":
        return [f"return {sign}value"]
    place = "Z" if entry.order == "atomic number" else "X"
    ordered = (
        "sorted(composition.elements, key=lambda one: one.Z)"
        if not entry.order
        else (f"sorted(composition.elements, key=lambda one: one.{place})")
    )
    if entry.result == "list":
        return [f"return [{sign}value * one.X / 2.0 for one in {ordered}]"]
    return [f"return {{one.symbol: {sign}value * one.X / 2.0 for one in {ordered}}}"]
