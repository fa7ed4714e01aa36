"""A caller who knows nothing but documents: proof that they suffice.

Reads what docgen's documents (or comments in the code) say, looks up what a question asks for,
and writes the program. Of the generator it shares the words (`lexicon`) and the vocabulary of
callers (`entries`, `plans`), and nothing that a world holds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from docgen.facts import render_document, render_facts
from docgen.library import build_library
from docgen.prompts import Prompter
from docgen.rules_writer import write as write_by_rules
from docgen.sources import SourceFile
from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import Crystal
from experiments.benchmarks.invented.entries import Choice, Convention, Entry, Need, Result, Setting
from experiments.benchmarks.invented.plans import Given, Wanted, plan

_TERM = re.compile(
    r"(?:\bThe|\bthe|^Compute the) ([a-z]+ [a-z]+)(?=[:,.)]| of the crystal| found| of the same)"
    r"|([A-Z][a-z]+ [a-z]+), which stands for|called ([a-z]+ [a-z]+)"
)
_RETURNS = ("Returned", "The result", "Its values", "A changed copy")
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`\"])")
_UNREAD = frozenset({"Relations", "Example", "Raises"})
_RESULTS: Mapping[str, Result] = {
    "float": "float", "int": "int", "str": "str", "list[float]": "list",
    "dict[str, float]": "dict", "dict": "dict", "Structure": "structure",
}  # fmt: skip
_CLASSES = ("Structure", "Lattice", "Composition")


class UnreadableError(ValueError):
    """A text does not say what a caller needs; names the text."""


@dataclass(frozen=True)
class Manual:
    """What the documents of a package say.

    Attributes
    ----------
    by_term
        Term -> the symbol that gives it; deprecated ones are left out.
    phrases
        What a quantity is, and what it is used for, in the words of the documents -> term.
    """

    by_term: Mapping[str, Entry]
    phrases: Mapping[str, str]


def documents(files: Mapping[str, str]) -> dict[str, str]:
    """Documents as docgen writes them by rules, by qualified name.

    Parameters
    ----------
    files
        File name -> text of a package.
    """
    sources = []
    for path, text in sorted(files.items()):
        if not path.endswith(".py"):
            continue
        parts = path.removesuffix(".py").split("/")
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        sources.append(SourceFile(module, path, parts[0], None, text, is_package=is_package))
    library = build_library(sources).public()
    prompter = Prompter(library)
    return {
        name: render_document(render_facts(symbol), write_by_rules(prompter.build([name], {})))
        for name, symbol in library.symbols.items()
    }


def restored(text: str) -> str:
    """The source of a module whose comments stand where docstrings would: as docstrings."""
    lines, found = text.splitlines(), []
    position = 0
    while position < len(lines):
        line = lines[position]
        found.append(line)
        position += 1
        if line.lstrip().startswith(("def ", "class ")):
            indent = " " * (len(line) - len(line.lstrip()) + 4)
            if position < len(lines) and lines[position].strip().startswith('"""'):
                position += 1  # the first line alone
            block = []
            while position < len(lines) and lines[position].startswith(f"{indent}#"):
                block.append(lines[position].removeprefix(f"{indent}#").removeprefix(" "))
                position += 1
            if block:
                found += [
                    f'{indent}"""{block[0]}',
                    *(f"{indent}{row}".rstrip() for row in block[1:]),
                    f'{indent}"""',
                ]
    return "\n".join(found) + "\n"


def read(texts: Mapping[str, str]) -> Manual:
    """Everything that documents say.

    Raises
    ------
    UnreadableError
        When one leaves out what a caller needs.
    """
    pages = {path: _Page(path, text) for path, text in texts.items()}
    terms: dict[str, str] = {}  # path -> term
    phrases: dict[str, str] = {}
    for path, page in pages.items():
        if page.kind not in {"module", "class", "attribute"}:
            terms[path] = _own_term(path, page.summary)
            said = f"{page.summary} {page.free}"
            phrases |= dict.fromkeys(_phrases(said), terms[path])
    known = {term: path for path, term in terms.items()}
    entries: dict[str, Entry] = {}
    for path, page in sorted(pages.items(), key=lambda item: item[1].kind != "class"):
        if page.kind not in {"module", "attribute"}:
            entries[path] = page.entry(terms.get(path, ""), known, entries)
    by_term = {e.term: e for e in entries.values() if e.term and not e.successor}
    return Manual(by_term, phrases)


class _Page:
    """One document, taken apart."""

    def __init__(self, path: str, text: str) -> None:
        head, _, body = text.partition("\n---\n")
        facts = dict(
            line.split(": ", 1) for line in head.splitlines() if ": " in line and line[0] != " "
        )
        self.path = path
        self.kind: Any = facts["kind"]
        self.signature = facts.get("signature", "")
        sections = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", body, re.MULTILINE))
        self.summary = " ".join(sections.pop("What it does", "").split())
        self.listed = sections.pop("Parameters", "") or sections.pop("Attributes", "")
        rest = [text.strip() for title, text in sections.items() if title not in _UNREAD]
        self.free = " ".join(" ".join(t if t.endswith(".") else f"{t}." for t in rest).split())
        self.deprecated = "deprecated" in body.lower()

    def _arguments(self) -> ast.FunctionDef:
        text = (
            self.signature
            if "(" in self.signature.partition("->")[0]
            else self.signature.replace(" ->", "() ->", 1)
        )
        node = ast.parse(f"def {text}: ...").body[0]
        assert isinstance(node, ast.FunctionDef)
        return node

    def entry(self, term: str, known: Mapping[str, str], entries: Mapping[str, Entry]) -> Entry:
        """The symbol as a caller knows it."""
        node = self._arguments()
        names = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
        told = self._told(names)
        returns = ast.unparse(node.returns) if node.returns else "float"
        needs: list[Need] = []
        subject = ""
        for argument in node.args.args:
            annotation = ast.unparse(argument.annotation) if argument.annotation else ""
            text = told.get(argument.arg, "")
            term_of_it = _known_term(text, known)
            if annotation in _CLASSES:
                subject = argument.arg
            if annotation not in _CLASSES or term_of_it:
                if term_of_it is None:
                    raise UnreadableError(f"{self.path}: where {argument.arg} comes from: {text!r}")
                needs.append(_need(argument.arg, term_of_it, text))
        choices = [
            _choice(a.arg, ast.unparse(a.annotation) if a.annotation else "", told[a.arg])
            for a in node.args.kwonlyargs
        ]
        owner = ""
        if self.kind in {"method", "property"}:
            owner = self.path.rpartition(".")[0]
            needs, subject = list(entries[owner].needs), entries[owner].subject
        result = _RESULTS[returns] if self.kind != "class" else "float"
        said = told[""]
        if self.kind == "constant":
            said = f"{self.summary} {self.free}"
        counted = self.kind == "class" or result in {"int", "str", "structure"}
        orders = ("atomic number", "electronegativity") if result == "list" else ()
        return Entry(
            path=self.path,
            kind=self.kind,
            term=term,
            subject=subject,
            owner=owner,
            needs=tuple(needs),
            choices=tuple(choices),
            result=result,
            convention=Convention() if counted else _convention(said),
            order=next((order for order in orders if order in said), ""),
            successor="its successor" if self.deprecated else "",
        )

    def _told(self, names: Sequence[str]) -> dict[str, str]:
        """What is said of each parameter, and under the empty name of the result."""
        told = dict.fromkeys(["", *names], "")
        current = None
        for line in self.listed.splitlines():
            start = re.match(r"(\w+)\s*(?:\([^)]*\))?\s*:", line)
            if start and start[1] in told:
                current = start[1]
            if current is not None:
                told[current] += f" {line[start.end() if start else 0 :].strip()}"
        owner: str | None = None
        for sentence in _SENTENCE.split(self.free):
            named = [name for name in names if f"`{name}`" in sentence]
            owner = named[0] if named else "" if sentence.startswith(_RETURNS) else owner
            if owner is not None:
                told[owner] += f" {sentence}"
        return {name: " ".join(text.split()) for name, text in told.items()}


# --- phrases ----------------------------------------------------------------------------------


def _own_term(path: str, text: str) -> str:
    for sentence in _SENTENCE.split(text):
        for found in _TERM.finditer(sentence):
            term = str(next(filter(None, found.groups()))).lower()
            if term.split()[1] in _NOUNS and not sentence.startswith(_RETURNS):
                return term
    raise UnreadableError(f"{path}: no term in {text!r}")


_NOUNS = frozenset(noun for nouns in lexicon.NOUNS.values() for noun in nouns)


def _known_term(text: str, known: Mapping[str, str]) -> str | None:
    words = re.findall(r"[a-z]+", text)
    pairs = (f"{a} {b}" for a, b in pairwise(words))
    return next((pair for pair in pairs if pair in known), None)


def _phrases(text: str) -> Iterator[str]:
    """What a text says of a quantity in phrases of the lexicon, as numbers of these."""
    lower = text.lower()
    for tables in (_GLOSS, _USE):
        found = _numbers(lower, tables, 0)
        if found:
            yield found


_GLOSS = ("gloss", *lexicon.GLOSS)
_USE = ("use", *lexicon.USE)


def _numbers(text: str, tables: Sequence[object], wording: int) -> str:
    kind, *lists = tables
    numbers = []
    for rows in lists:
        assert isinstance(rows, tuple)
        hits = [i for i, row in enumerate(rows) if row[wording].lower() in text]
        if not hits:
            return ""
        numbers.append(max(hits, key=lambda i: len(rows[i][wording])))
    return f"{kind} {numbers}"


def _need(param: str, term: str, text: str) -> Need:
    settings, rest = _settings(text)
    pick = ""
    for rule, words in lexicon.RULES.items():
        if any(re.search(rf"(?:read at|belongs to) the {word}", rest) for word in words):
            pick = rule
    for name, words in lexicon.PICKS.items():
        if any(word in rest for word in words):
            pick = name
    reciprocal = any(form.partition("{")[0].strip() in rest for form in lexicon.RECIPROCAL)
    return Need(param, term, settings, pick, _convention(rest), reciprocal)


def _settings(text: str) -> tuple[tuple[Setting, ...], str]:
    """Options that a text asks for, and the text without them."""
    found = []
    for role in lexicon.ROLES.values():
        match = re.search(rf"a {role} of ([\d.e+-]+) ({_UNIT_PATTERN})", text)
        if match:
            found.append(Setting("number", role, float(match[1]), match[2]))
            text = text.replace(match[0], "")
    for rule, words in lexicon.RULES.items():
        if any(re.search(rf"(?:computed for|with respect to) the {word}", text) for word in words):
            found.append(Setting("element", rule))
    found += [Setting("mode", m) for m in _MEANINGS if re.search(rf"(?:where|that) {m}", text)]
    return tuple(found), text


_MEANINGS = tuple(meaning for group in lexicon.MODES.values() for meaning in group)
_UNITS = {word: (family, unit.symbol) for family, units in lexicon.UNITS.items() for unit in units
          for word in (unit.symbol, unit.words)}  # fmt: skip
_UNIT_PATTERN = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))


def _convention(text: str) -> Convention:
    found = re.search(rf"(?:in|of|to) ({_UNIT_PATTERN})(?!\w)", text)
    if not found:
        return Convention()
    family, unit = _UNITS[found[1]]
    for polarity, directions in enumerate(lexicon.POLARITIES):
        for sense, direction in enumerate(directions):
            if re.search(rf"(?:positive|plus sign|acts) {direction}", text):
                return Convention(family, unit, polarity, sense)
    return Convention(family, unit)


def _choice(param: str, annotation: str, text: str) -> Choice:
    if annotation == "Element":
        return Choice(param, "element")
    if annotation == "float":
        role = next((r for r in lexicon.ROLES.values() if r in text), None)
        unit = re.search(rf"(?:in|of) ({_UNIT_PATTERN})(?!\w)", text)
        given = re.search(r"([\d.]+) unless given|, ([\d.]+) is taken|default ([\d.]+)\)", text)
        if role is None or unit is None or given is None:
            raise UnreadableError(f"{param}: role, unit or default: {text!r}")
        return Choice(
            param,
            "number",
            default=float(next(filter(None, given.groups()))),
            role=role,
            unit=_UNITS[unit[1]][1],
        )
    meanings = []
    for meaning in _MEANINGS:
        value = re.search(rf'"(\w+)"(?: means that| says that|,) {meaning}', text)
        if value:
            meanings.append((value[1], meaning))
    told = re.search(r'"(\w+)" if left out|by default "(\w+)"|"(\w+)" is the default', text)
    if not meanings or told is None:
        raise UnreadableError(f"{param}: values or default: {text!r}")
    return Choice(param, "mode", tuple(meanings), default=next(filter(None, told.groups())))


# --- questions --------------------------------------------------------------------------------


def solve(
    goal: str, descriptions: Mapping[str, str], manual: Manual
) -> tuple[Crystal, dict[str, Given | UnreadableError]]:
    """The plan of each property of a question, from its text and a manual alone."""
    crystal = read_crystal(goal)
    plans: dict[str, Given | UnreadableError] = {}
    for name, text in descriptions.items():
        try:
            plans[name] = plan(_wanted(text, manual), crystal, manual.by_term)
        except (UnreadableError, KeyError, StopIteration) as error:
            plans[name] = UnreadableError(f"{text!r}: {error!r}")
    return crystal, plans


def _wanted(text: str, manual: Manual) -> Wanted:
    settings, rest = _settings(text)
    lower = text.lower()
    named = re.match(r"The ([a-z]+ [a-z]+) of the crystal", text)
    phrase = _numbers(lower, _GLOSS, 1) or _numbers(lower, _USE, 1)
    term = named[1] if named else manual.phrases[phrase]
    return Wanted(term, settings, _convention(rest))


def read_crystal(goal: str) -> Crystal:
    """The crystal that a question describes."""
    a, b, c = (float(re.findall(rf"\b{axis} = ([\d.]+)", goal)[0]) for axis in "abc")
    angles = re.search(r"angles ([\d.]+), ([\d.]+), ([\d.]+)", goal)
    rows = re.findall(r"^([A-Z][a-z]?) ([\d.-]+) ([\d.-]+) ([\d.-]+)$", goal, re.MULTILINE)
    if angles is None:
        raise UnreadableError("the angles of the cell")
    alpha, beta, gamma = map(float, angles.groups())
    sites = tuple((element, (float(x), float(y), float(z))) for element, x, y, z in rows)
    return Crystal((a, b, c), (alpha, beta, gamma), sites)
