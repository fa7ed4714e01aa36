"""What a clever caller would try in place of reading: a program that interprets the docstrings.

It knows the nouns, the units in all their words and every turn of phrase that it has room for in
100 lines; what it cannot read it leaves at its default. Docstrings must be no grammar to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import WorldCrystal
from experiments.benchmarks.invented.graph import (
    Choice,
    Convention,
    Edge,
    Entry,
    Need,
    Setting,
    plan,
)

NOUN = "|".join(noun for nouns in lexicon.NOUNS.values() for noun in nouns)
TERM = re.compile(rf"\b([a-z]+ (?:{NOUN}))\b")
UNITS = {
    word: (family, unit.symbol)
    for family, units in lexicon.UNITS.items()
    for unit in units
    for word in (unit.symbol, unit.words, unit.other_words)
}
_WORDS = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
UNIT = re.compile(rf"(?:in|of|counts?|takes|inverted:) ({_WORDS})(?!\w)")
KINDS: Mapping[str, Any] = {
    "list[float]": "list",
    "dict[str, float]": "dict",
    "Structure": "structure",
}


def convention(text: str, unit_of_module: Mapping[str, str]) -> Convention:
    """Unit and sign that a text names."""
    found, shared = UNIT.search(text), re.search(r"(\w+) unit of this module", text)
    if not found and not shared:
        return Convention()
    family = UNITS[found[1]][0] if found else str(shared and shared[1])
    unit = UNITS[found[1]][1] if found else unit_of_module.get(family, "")
    for polarity, ways in enumerate(lexicon.POLARITIES):
        for sense, way in enumerate(ways):
            if told := re.search(
                rf"(positive|plus|negative|minus|below)[a-z ]*? {way}\b", text
            ):
                flipped = told[1] in {"negative", "minus", "below"}
                return Convention(family, unit, polarity, sense ^ flipped)
    return Convention(family, unit)


def settings(text: str) -> tuple[Setting, ...]:
    """Options that a text asks for."""
    found = [
        Setting("mode", meaning)
        for meaning, ways in lexicon.WORDINGS.items()
        if any(re.search(rf"(?:where|that) {way}", text) for way in ways)
    ]
    found += [
        Setting("number", role, float(told[1]), UNITS.get(told[2], ("", ""))[1])
        for role in lexicon.ROLES.values()
        if (told := re.search(rf"a {role} of ([\d.e+-]+) (\S+?)[,.]?(?: |$)", text))
    ]
    for rule, ways in lexicon.RULES.items():
        if any(
            re.search(rf"(?:computed for|respect to) the {way}", text) for way in ways
        ):
            found.append(Setting("element", rule))
    return tuple(found)


class Interpreter:
    """All that it makes of the sources of a package."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.nodes: dict[str, Any] = {}
        self.docs: dict[str, str] = {}
        for name, text in files.items():
            if name.endswith(".py"):
                module = name.removesuffix(".py").replace("/", ".")
                tree = ast.parse(text)
                self.docs[module] = " ".join((ast.get_docstring(tree) or "").split())
                self._keep(module, tree, text.splitlines())
        self.terms = {path: self._term(path) for path in self.nodes}
        self.paths = {term: path for path, term in self.terms.items() if term}
        made = {path: self._entry(path) for path in self.nodes}
        for path, entry in made.items():
            if entry.owner:
                base = made[entry.owner]
                for name in map(ast.unparse, self.nodes[entry.owner].bases):
                    base = next(e for p, e in made.items() if p.endswith(f".{name}"))
                made[path] = replace(entry, needs=base.needs, subject=base.subject)
        self.by_term = {
            entry.term: entry
            for entry in made.values()
            if "eprecated" not in self.docs[entry.path]
        }

    def _keep(self, home: str, tree: Any, lines: list[str]) -> None:
        following = [*tree.body[1:], None]
        for node, after in zip(tree.body, following, strict=True):
            if isinstance(node, ast.Assign):
                name = f"{home}.{ast.unparse(node.targets[0])}"
                above = len(lines[: node.lineno - 1])
                while above and lines[above - 1].startswith("#: "):
                    above -= 1
                said = " ".join(line[3:] for line in lines[above : node.lineno - 1])
                text = after.value.value if isinstance(after, ast.Expr) else said  # type: ignore[attr-defined]
                self.nodes[name], self.docs[name] = node, " ".join(text.split())
            elif (
                isinstance(node, ast.FunctionDef | ast.ClassDef)
                and node.name != "__init__"
            ):
                self.nodes[f"{home}.{node.name}"] = node
                self.docs[f"{home}.{node.name}"] = " ".join(
                    (ast.get_docstring(node) or "").split()
                )
                if isinstance(node, ast.ClassDef):
                    self._keep(f"{home}.{node.name}", node, lines)

    def _is_member(self, path: str) -> bool:
        return isinstance(self.nodes.get(path.rpartition(".")[0]), ast.ClassDef)

    def _term(self, path: str) -> str:
        own = re.compile(
            r"(?:^(?:the |compute the )?|known here as the |\(the |by the |call it the |"
            r"this is the |among us as the |meant by the )([a-z]+ (?:" + NOUN + r"))\b"
        )
        found = own.search(self.docs[path].lower())
        return found[1] if found else ""

    def _told(self, path: str, name: str) -> str:
        """Everything that is said of a parameter, wherever it is said."""
        doc, (home, _, short) = self.docs[path], path.rpartition(".")
        end = r"(?= :param| :returns| Returns| Notes?\b|$)"
        listed = re.search(
            rf"(?:^| ):?(?:param )?`?{name}`?(?: : | \(|: )(.*?){end}", doc
        )
        beside = [s for s in re.split(r"(?<=\.) ", doc) if f"`{name}`" in s]
        far = [
            s
            for other, text in self.docs.items()
            if other.startswith(home)
            for s in re.split(r"(?<=\.) ", text)
            if f"`{name}` of `{short}`" in s
        ]
        return " ".join([*(far or beside), listed[1] if listed and not beside else ""])

    def _entry(self, path: str) -> Entry:
        node, doc, term = self.nodes[path], self.docs[path], self.terms[path]
        home, units = (
            path.rpartition(".")[0],
            self._units(".".join(path.split(".")[:2])),
        )
        functions = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
        started = [
            one.args for one in functions if one is node or one.name == "__init__"
        ]
        positional = started[0].args if started else []
        needs, subject = [], ""
        for argument in positional:
            kind = ast.unparse(argument.annotation) if argument.annotation else ""
            subject = (
                argument.arg
                if kind in {"Structure", "Lattice", "Composition"}
                else subject
            )
            need = self._need(path, argument.arg, units)
            needs += [need] if need else []
        named = started[0].kwonlyargs if started else []
        choices = [self._choice(path, one, units) for one in named]
        owner = home if self._is_member(path) else ""
        returns = (
            ast.unparse(node.returns) if getattr(node, "returns", None) else "float"
        )
        sentences = re.split(r"(?<=\.) ", doc)
        said = " ".join(s for s in sentences if re.search("he result|Returns", s))
        member: Any = "property" if owner and node.decorator_list else "method"
        kind = (
            "class"
            if isinstance(node, ast.ClassDef)
            else member
            if owner
            else "function"
        )
        if isinstance(node, ast.Assign):
            kind, returns = (
                "constant",
                "dict" if isinstance(node.value, ast.Dict) else "float",
            )
        return Entry(
            path,
            kind,
            term,
            subject,
            owner,
            tuple(needs),
            tuple(choices),
            KINDS.get(returns, returns),
            convention(said, units),
        )

    def _units(self, module: str) -> dict[str, str]:
        """Family -> unit that the introduction of a module names."""
        found = {}
        for family in lexicon.UNITS:
            for word, (_, unit) in UNITS.items():
                ways = (
                    f"dimension {family} in here counts {word}.",
                    f"{family} open, {word} are",
                    f"{family} unit this module takes {word}.",
                )
                if any(way in self.docs[module] for way in ways):
                    found[family] = unit
        return found

    def _need(self, path: str, param: str, units: Mapping[str, str]) -> Need | None:
        text = self._told(path, param)
        lower = text.lower()
        named = re.search(r"`([\w.]+)` (?:gives|returns)|out of `([\w.]+)`", text)
        known = [found for found in TERM.findall(lower) if found in self.paths]
        if named:
            end = f".{named[1] or named[2]}"
            known += [
                term
                for other, term in self.terms.items()
                if term and other.endswith(end)
            ]
        if not known:
            return None
        places = [*lexicon.PICKS.items(), *lexicon.RULES.items()]
        before = r"(?:read at|belongs to|only|^|: )[a-z ]*the "
        picks = [
            name
            for name, ways in places
            if any(re.search(before + w, lower) for w in ways)
        ]
        upside = (
            re.search(r"reciprocal|one divided by|inverse value|upside", text)
            is not None
        )
        pick = picks[0] if picks else ""
        return Need(
            param, known[0], settings(text), pick, convention(text, units), upside
        )

    def _choice(self, path: str, argument: ast.arg, units: Mapping[str, str]) -> Choice:
        text = self._told(path, argument.arg)
        kind = ast.unparse(argument.annotation or ast.Constant(""))
        if kind == "Element":
            return Choice(argument.arg, "element")
        if kind == "float":
            role = next((role for role in lexicon.ROLES.values() if role in text), "")
            unit = convention(text, units).unit
            return Choice(argument.arg, "number", default=1.0, role=role, unit=unit)
        known = [
            (told[1], meaning)
            for meaning, ways in lexicon.WORDINGS.items()
            for way in ways
            if (told := re.search(rf'"(\w+)"(?: means that| says that|,) {way}', text))
        ]
        default = re.search(
            r'"(\w+)" if left out|by default "(\w+)"|"(\w+)" is the default', text
        )
        value = next(filter(None, default.groups())) if default else None
        return Choice(argument.arg, "mode", tuple(known), default=value)

    def solve(self, description: str, crystal: WorldCrystal) -> Edge:
        """The plan of a property; raises where something is not there."""
        named = TERM.search(description.lower())
        term = named[1] if named else ""
        unit = convention(description, {})
        wanted = Need("", term, settings(description), convention=unit)
        return plan(wanted, crystal, self.by_term)
