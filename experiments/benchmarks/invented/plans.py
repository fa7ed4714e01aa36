"""Plans: which calls give a quantity. A plan is made from entries alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.benchmarks.invented.crystals import Crystal
from experiments.benchmarks.invented.entries import Choice, Convention, Entry, Need, Setting
from experiments.benchmarks.invented.lexicon import RULES, UNIT


@dataclass(frozen=True)
class Call:
    """A call of a symbol (or a constant or table that is read)."""

    entry: Entry
    settings: tuple[tuple[str, Any], ...]  # options that are given, and their values
    inputs: tuple[Given, ...]  # parameters that take what others give


@dataclass(frozen=True)
class Given:
    """What a call gives, as it is handed over."""

    param: str
    call: Call
    key: int | str | None = None  # entry of a list or dict
    factor: float = 1.0  # change of unit and sign
    reciprocal: bool = False  # inverted after that


@dataclass(frozen=True)
class Wanted:
    """A value that a question asks for: its term, options that are stated, and how to give it."""

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
    return Given("", call, factor=call.entry.convention.factor_to(wanted.convention))


def handed_over(need: Need, crystal: Crystal, by_term: Mapping[str, Entry]) -> Given:
    """What a parameter is given."""
    source = _call(by_term[need.term], need.settings, crystal, by_term)
    key: int | str | None = {"": None, "first": 0, "last": -1}.get(need.pick)
    if need.pick in RULES:
        key = crystal.element(need.pick)
    factor = source.entry.convention.factor_to(need.convention)
    return Given(need.param, source, key, factor, need.reciprocal)


def _call(
    entry: Entry, settings: Sequence[Setting], crystal: Crystal, by_term: Mapping[str, Entry]
) -> Call:
    chosen = {}
    for setting in settings:
        choice = next(choice for choice in entry.choices if choice.decides(setting))
        chosen[choice.param] = _value(choice, setting, crystal)
    given = tuple(
        (c.param, chosen[c.param])
        for c in entry.choices
        if c.param in chosen and (c.kind != "mode" or chosen[c.param] != c.default)
    )
    return Call(entry, given, tuple(handed_over(n, crystal, by_term) for n in entry.needs))


def _value(choice: Choice, setting: Setting, crystal: Crystal) -> Any:
    """The value of an option that a setting asks for."""
    if choice.kind == "mode":
        return next(value for value, meaning in choice.meanings if meaning == setting.meaning)
    if choice.kind == "number":
        factor = UNIT[setting.unit].size / UNIT[choice.unit].size
        return float(f"{setting.value * factor:.12g}")
    return crystal.element(setting.meaning)


def symbols_of(given: Given) -> set[str]:
    """Dotted names of everything that a plan uses, classes included."""
    entry = given.call.entry
    own = {entry.path, entry.owner} - {""}
    return own.union(*(symbols_of(one) for one in given.call.inputs))


def depth_of(given: Given) -> int:
    """Number of calls in the longest chain; what is only read counts as none."""
    own = 0 if given.call.entry.kind == "constant" else 1
    return own + max((depth_of(one) for one in given.call.inputs), default=0)
