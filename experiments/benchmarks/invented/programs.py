"""Writes plans as programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.benchmarks.invented.crystals import Crystal
from experiments.benchmarks.invented.entries import Call, Given
from experiments.benchmarks.invented.lexicon import template


def program(targets: Mapping[str, Given], crystal: Crystal) -> str:
    """A function ``reference`` that returns the values of plans, by property."""
    writer = _Writer()
    results = {name: writer.value(given) for name, given in targets.items()}
    return template("program.py.j2").render(
        crystal=crystal,
        results=results,
        lines=writer.lines,
        imported=sorted(writer.imported.items()),
    )


class _Writer:
    """Turns plans into lines; what occurs twice is computed once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[Any, str] = {}  # what was computed -> its variable
        self.imported: dict[str, str] = {}  # dotted name -> name in the program

    def value(self, given: Given) -> str:
        found = self._call(given.call)
        if given.key is not None:
            found = f"{found}[{given.key!r}]"
        factor = f" * {given.factor!r}" if given.factor != 1.0 else ""
        whole = given.call.entry.result if given.key is None else ""
        if factor and whole == "list":
            return f"[item{factor} for item in {found}]"
        if factor and whole == "dict":
            return f"{{key: item{factor} for key, item in {found}.items()}}"
        return f"1 / ({found}{factor})" if given.reciprocal else f"{found}{factor}"

    def _call(self, call: Call) -> str:
        entry = call.entry
        if entry.kind == "constant":
            return self._name(entry.path)
        inputs = {one.param: self.value(one) for one in call.inputs}
        crystal = inputs.pop("structure", "crystal")
        subject = {"": [], "structure": [crystal]}.get(entry.subject, [f"crystal.{entry.subject}"])
        needs = [f"{param}={value}" for param, value in inputs.items()]
        elements = {choice.param for choice in entry.choices if choice.kind == "element"}
        options = [
            f"{param}={f'Element({value!r})' if param in elements else repr(value)}"
            for param, value in call.settings
        ]
        stem = entry.term.replace(" ", "_")
        if not entry.owner:
            arguments = ", ".join([*subject, *needs, *options])
            return self._bind(call, stem, f"{self._name(entry.path)}({arguments})")
        made = f"{self._name(entry.owner)}({', '.join([*subject, *needs])})"
        receiver = self._bind((entry.owner, call.inputs), "built", made)
        called = "" if entry.kind == "property" else f"({', '.join(options)})"
        return self._bind(call, stem, f"{receiver}.{entry.name}{called}")

    def _name(self, path: str) -> str:
        last = path.rpartition(".")[2]
        taken = set(self.imported.values()) - {self.imported.get(path)}
        return self.imported.setdefault(path, last if last not in taken else f"{last}_{len(taken)}")

    def _bind(self, key: Any, stem: str, expression: str) -> str:
        if key not in self._known:
            self._known[key] = f"{stem}_{len(self._known) + 1}"
            self.lines.append(f"{self._known[key]} = {expression}")
        return self._known[key]
