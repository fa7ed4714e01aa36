"""Writes the package of a world: what a caller imports, with its documentation."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Mapping
from dataclasses import replace

from experiments.benchmarks.invented.crystals import RAWS
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Entry
from experiments.benchmarks.invented.graph import Ratio, Symbol
from experiments.benchmarks.invented.lexicon import UNIT, UNITS
from experiments.benchmarks.invented.prose import TYPES, docstring, facts_of, say
from experiments.benchmarks.invented.symbols import Draft
from experiments.benchmarks.invented.templates import template


def former(entry: Entry, draw: Draw) -> Entry:
    """What documentation that is out of date says of a symbol: the truth of nine in ten.

    Of the others, another unit of the result, another default, or former names of values.
    """
    if entry.successor or entry.kind == "constant" or not draw.chance(0.12):
        return entry
    convention, modes = entry.convention, [c for c in entry.choices if c.kind == "mode"]
    if modes and draw.chance(0.5 if convention.family else 1.0):
        (mode, *_), values = modes, [value for value, _ in modes[0].meanings]
        if draw.chance(0.5):
            others = [value for value in values if value != mode.default]
            wrong = replace(mode, default=draw.choice(others))
        else:
            names = {value: f"{value[::-1]}a" for value in values}
            meanings = tuple((names[value], meaning) for value, meaning in mode.meanings)
            wrong = replace(mode, meanings=meanings, default=names[str(mode.default)])
        return replace(entry, choices=tuple(wrong if c is mode else c for c in entry.choices))
    if not convention.family:
        return entry
    units = [u.symbol for u in UNITS[convention.family] if u.symbol != convention.unit]
    return replace(entry, convention=replace(convention, unit=draw.choice(units)))


def write_package(draft: Draft, told: Mapping[str, Entry]) -> dict[str, str]:
    """File name -> text of the package of a world.

    Parameters
    ----------
    told
        Entries that the documentation tells in a way that is no longer true, by path.
    """
    package, writer = draft.package, _Writer(draft, told)
    texts = {name: writer.module(name) for name in draft.modules}
    files = {f"{package}/{name}.py": text for name, text in texts.items() if text}
    files[f"{package}/_helpers.py"] = template("_helpers.py.j2").render()
    listed = "\n".join(f"- `{name}`" for name in draft.modules if texts[name])
    about = "Quantities of crystals, as our group defines them."
    files[f"{package}/__init__.py"] = f'"""{about}\n\nModules:\n\n{listed}\n"""\n'
    # What an installer would write. Packages of one seed differ by their version only.
    digest = hashlib.sha256("".join(files[name] for name in sorted(files)).encode())
    version = f"3.0.{int(digest.hexdigest()[:12], 16)}"
    folder = f"{package}-{version}.dist-info"
    record = [*sorted(files), f"{folder}/METADATA", f"{folder}/RECORD"]
    files[record[-2]] = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
    files[record[-1]] = "".join(f"{name},,\n" for name in record)
    return dict(sorted(files.items()))


class _Writer:
    """Fills ``module.py.j2``; knows what the documentation says of every symbol."""

    def __init__(self, draft: Draft, told: Mapping[str, Entry]) -> None:
        self._draft, self._told, self._docs = draft, told, draft.knobs.docs

    def module(self, name: str) -> str:
        """The text of a module; empty when nothing is in it."""
        prefix = f"{self._draft.package}.{name}."
        own = [one for path, one in self._draft.symbols.items() if path.startswith(prefix)]
        about = say(Draw(self._draft.knobs.seed, "module", name), "module")
        if not own:
            return ""
        return template("module.py.j2").render(
            about=about, symbols=own, told=self._told, types=TYPES, units=UNIT, zip=zip,
            constant=self._constant, documentation=self._documentation,
            parameters=self._parameters, parts=_parts, taken=self._taken,
        )  # fmt: skip

    def _constant(self, symbol: Symbol) -> str:
        """A constant or table, with its documentation before or after it."""
        entry, formula = symbol.entry, symbol.formula
        draw = Draw(self._draft.knobs.seed, "prose", entry.term)
        facts = facts_of(symbol, entry, self._draft.by_term, draw)
        text = " ".join([facts.summary, *draw.shuffled([facts.returns, facts.use])])
        value = repr(-formula.scale if entry.convention.sense else formula.scale)
        if formula.values is not None:
            rows = (f'    "{element}": {one!r},\n' for element, one in formula.values.items())
            value = f"{{\n{''.join(rows)}}}"
        documented = self._docs in {"full", "outdated"}
        if documented and draw.chance(0.5):
            return f'{entry.name} = {value}\n"""{textwrap.fill(text, 92)}"""'
        mark = "#: " if documented else "# "
        told = textwrap.fill(text, 92, initial_indent=mark, subsequent_indent=mark)
        return f"{told}\n{entry.name} = {value}"

    def _documentation(self, symbol: Symbol) -> str:
        """The docstring; all or most of it as comments, where the knob says so."""
        entry = symbol.entry
        draw = Draw(self._draft.knobs.seed, "prose", entry.term, entry.name)
        text = docstring(symbol, self._told.get(entry.path, entry), self._draft.by_term, draw)
        first, *rest = text.splitlines()
        if self._docs in {"full", "outdated"}:
            return f'"""{text}\n"""' if rest else f'"""{text}"""'
        head = [f'"""{first}"""'] if self._docs == "signatures" else []
        return "\n".join([*head, *(f"# {line}".rstrip() for line in (first, *rest))])

    def _parameters(self, entry: Entry) -> str:
        found = [f"{entry.subject}: {entry.subject.capitalize()}"] if entry.subject else []
        for need in entry.needs:
            kind = "float" if need.pick else self._draft.by_term[need.term].result
            found += [f"{need.param}: {TYPES[kind]}"] if need.param != "structure" else []
        found = ["self"] if entry.owner else found
        for choice in entry.choices:
            default = "" if choice.default is None else f" = {choice.default!r}"
            found += ["*"] if choice is entry.choices[0] else []
            found.append(f"{choice.param}: {TYPES[choice.kind]}{default}")
        return ", ".join(found)

    def _taken(self, entry: Entry, ratio: Ratio) -> str:
        """What a ratio is of, as an expression."""
        if ratio.kind == "raw":
            return f"({RAWS[ratio.name].code})"
        if ratio.kind == "inner":
            return f"{ratio.name.rpartition('.')[2]}({entry.subject})"
        need = next(need for need in entry.needs if need.param == ratio.name)
        given = f"self.{need.param}" if entry.owner else need.param
        if self._draft.by_term[need.term].result == "str":
            given = f'float({given}.partition("-")[2])'
        given = f"(1.0 / {given})" if need.reciprocal else given
        return f"-{given}" if need.convention.sense else given


def _parts(symbol: Symbol) -> list[str]:
    """Parts of the structure that a function uses by name."""
    entry, ratios = symbol.entry, symbol.formula.ratios
    used = {RAWS[ratio.name].subject for ratio in ratios if ratio.kind == "raw"}
    used |= {"composition"} if entry.result in {"list", "dict"} else set()
    return sorted(used - {"structure"}) if entry.subject == "structure" else []
