"""Writes the package of a world: what a caller imports, with its documentation."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import RAWS
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Choice, Entry
from experiments.benchmarks.invented.graph import Knobs, Symbol
from experiments.benchmarks.invented.prose import TYPES, docstring, facts_of
from experiments.benchmarks.invented.symbols import Draft

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


def write_package(draft: Draft) -> dict[str, str]:
    """File name -> text of the package of a world."""
    package, writer = draft.package, _Writer(draft)
    files = {f"{package}/_helpers.py": _HELPERS}
    for name in draft.modules:
        prefix = f"{package}.{name}."
        own = [symbol for path, symbol in draft.symbols.items() if path.startswith(prefix)]
        if own:
            files[f"{package}/{name}.py"] = writer.module(name, own)
    listed = "\n".join(f"- `{name}`" for name in draft.modules if f"{package}/{name}.py" in files)
    about = "Quantities of crystals, as our group defines them."
    files[f"{package}/__init__.py"] = f'"""{about}\n\nModules:\n\n{listed}\n"""\n'
    return dict(sorted({**files, **_metadata(package, files)}.items()))


def _metadata(package: str, files: Mapping[str, str]) -> dict[str, str]:
    """What an installer would write. Packages of one seed differ by their version only."""
    digest = hashlib.sha256("".join(files[name] for name in sorted(files)).encode())
    version = f"3.0.{int(digest.hexdigest()[:12], 16)}"
    folder = f"{package}-{version}.dist-info"
    listed = [*sorted(files), f"{folder}/METADATA", f"{folder}/RECORD"]
    return {
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
        f"{folder}/RECORD": "".join(f"{name},,\n" for name in listed),
    }


class _Writer:
    """Writes modules; knows what the documentation says of every symbol."""

    def __init__(self, draft: Draft) -> None:
        self._knobs, self._by_term = draft.knobs, draft.by_term
        self._told = outdated(draft.symbols, draft.knobs)

    def module(self, name: str, own: Sequence[Symbol]) -> str:
        """The text of a module."""
        constants = [self._constant(one) for one in own if one.entry.kind == "constant"]
        functions = [self._function(one) for one in own if one.entry.kind == "function"]
        classes = [self._class(one, own) for one in own if one.entry.kind == "class"]
        heads = ("Quantities of one kind", "A part of the package", "Functions of daily use")
        head = Draw(self._knobs.seed, "module", name).choice(heads)
        return (
            f'"""{head}."""\n\nfrom __future__ import annotations\n\nimport math\n'
            "import warnings\n\n"
            "from pymatgen.core import Composition, Element, Lattice, Structure\n\n"
            "from ._helpers import chosen, power\n\n"
            + "\n\n\n".join(["\n\n".join(constants), *functions, *classes])
            + "\n"
        )

    def _constant(self, symbol: Symbol) -> str:
        """A constant or table, with its documentation before or after it."""
        entry = symbol.entry
        draw = Draw(self._knobs.seed, "prose", entry.term)
        facts = facts_of(symbol, entry, self._by_term, draw)
        text = " ".join([facts.summary, *draw.shuffled([facts.returns, facts.use])])
        documented = self._knobs.docs in {"full", "outdated"}
        value = f"{entry.name} = {_value(symbol)}"
        if documented and draw.chance(0.5):
            return f'{value}\n"""{textwrap.fill(text, 92)}"""'
        mark = "#: " if documented else "# "
        return f"{textwrap.fill(text, 92, initial_indent=mark, subsequent_indent=mark)}\n{value}"

    def _function(self, symbol: Symbol) -> str:
        """A function, method or property."""
        entry = symbol.entry
        told = self._told.get(entry.path, entry)
        decorator = ["@property"] if entry.kind == "property" else []
        parameters = ", ".join(
            [*(["self"] if entry.owner else self._inputs(entry)), *_options(entry)]
        )
        header = f"def {entry.name}({parameters}) -> {TYPES[entry.result]}:"
        lines = [*self._documentation(symbol, told), *_body(symbol, told, self._by_term)]
        return "\n".join([*decorator, header, *lines])

    def _class(self, symbol: Symbol, own: Sequence[Symbol]) -> str:
        entry = symbol.entry
        bases = f"({symbol.base.rpartition('.')[2]})" if symbol.base else ""
        lines = [f"class {entry.name}{bases}:", *self._documentation(symbol, entry), ""]
        if not symbol.base:
            stored = ("structure", *(need.param for need in entry.needs))
            lines.append(f"    def __init__(self, {', '.join(self._inputs(entry))}) -> None:")
            lines += [*(f"        self.{name} = {name}" for name in stored), ""]
        for member in own:
            if member.entry.owner == entry.path:
                lines += [textwrap.indent(self._function(member), "    "), ""]
        return "\n".join(lines).rstrip()

    def _documentation(self, symbol: Symbol, told: Entry) -> list[str]:
        """The docstring; all or most of it as comments, where the knob says so."""
        draw = Draw(self._knobs.seed, "prose", symbol.entry.term, symbol.entry.name)
        text = docstring(symbol, told, self._by_term, draw)
        lines = text.splitlines()
        comments = [f"    # {line}".rstrip() for line in lines]
        if self._knobs.docs == "source":
            return comments
        if self._knobs.docs == "signatures":
            return [f'    """{lines[0]}"""', *comments]
        if len(lines) == 1:
            return [f'    """{lines[0]}"""']
        return [f'    """{lines[0]}', *(f"    {line}".rstrip() for line in lines[1:]), '    """']

    def _inputs(self, entry: Entry) -> list[str]:
        """Parameters that are no options."""
        found = [f"{entry.subject}: {entry.subject.capitalize()}"] if entry.subject else []
        for need in entry.needs:
            kind = "float" if need.pick else TYPES[self._by_term[need.term].result]
            found += [f"{need.param}: {kind}"] if need.param != "structure" else []
        return found


def _value(symbol: Symbol) -> str:
    if not symbol.formula.values:
        return repr(
            -symbol.formula.scale if symbol.entry.convention.sense else symbol.formula.scale
        )
    rows = "".join(
        f'    "{element}": {value!r},\n' for element, value in symbol.formula.values.items()
    )
    return f"{{\n{rows}}}"


def _options(entry: Entry) -> list[str]:
    return ["*", *map(_option, entry.choices)] if entry.choices else []


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
    use = f'warnings.warn("use {entry.successor}", DeprecationWarning, stacklevel=2)'
    lines = [*([use] if entry.successor else []), *_since(entry, told)]
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
    lines += [_effect(choice, formula.effects[choice.param]) for choice in entry.choices]
    lines += _result(entry, formula.tick, formula.prefix)
    return [f"    {line}" for line in lines]


def _since(entry: Entry, told: Entry) -> list[str]:
    """What tells a reader of the code, or who runs it, that the documentation is out of date."""
    if told.convention != entry.convention:
        note = f"{entry.name}: the result is in {entry.convention.measure.words} since version 3"
        return [f'warnings.warn("{note}", stacklevel=2)']
    for choice, former in zip(entry.choices, told.choices, strict=True):
        if choice != former:
            renamed = choice.meanings if choice.meanings != former.meanings else ()
            note = f'# since version 3, "{choice.default}" is the default of {choice.param}'
            return [note, *(f'# "{value}" now means that {meaning}' for value, meaning in renamed)]
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
