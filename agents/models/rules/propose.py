"""Expressions that may give a wanted property, best first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from keyword import iskeyword

from agents.models.rules.infer import Scope
from agents.models.rules.knowledge import Member, Parameter, compatible, element, kind_of, plain
from agents.models.rules.reading import Wanted
from agents.models.rules.words import (
    agreement,
    covered,
    likeness,
    name_words,
    pieces,
    stem,
    text_words,
)

HOP = 0.15  # what every further step of a chain costs
MINIMUM = 0.35  # what a guess must reach to be tried
# Methods that change their object, or write or convert it: asking one for a value spoils the rest.
_CHANGES = re.compile(
    r"(from|as|to|set|add|make|remove|apply|insert|append|replace|translate|rotate|sort|merge|"
    r"perturb|scale|write|show|plot|save|pop|clear|extend|update|delete|relax)(_|$)"
)
_SPELT = {stem(w) for w in ("representation", "repr", "printed")}
_TEXT = _SPELT | {stem(w) for w in ("string", "description")}
_COUNT = {stem(w) for w in ("number", "count", "num", "many", "length", "size", "total")}


@dataclass(frozen=True)
class Way:
    """One expression for a property."""

    expression: str
    score: float
    needs: str = ""  # an import that the expression needs


def propose(wanted: Wanted, scope: Scope) -> list[Way]:
    """Expressions over the variables of the setup code, best first, each once."""
    ways = list(_given(wanted, scope))
    objects = [(name, kind) for name, kind in scope.types.items() if not name.startswith("_")]
    for position, (name, annotation) in enumerate(objects):
        recent = 0.1 * (position + 1) / len(objects)
        for way in _of_object(wanted, name, annotation, scope):
            ways.append(Way(way.expression, way.score + recent))  # noqa: PERF401
    ways.extend(_calls(wanted, scope) if objects else ())
    ways.sort(key=lambda way: (-way.score, len(way.expression), way.expression))
    best: dict[str, Way] = {}
    for way in ways:
        if way.score >= MINIMUM:
            best.setdefault(way.expression, way)
    return list(best.values())


def _given(wanted: Wanted, scope: Scope) -> Iterator[Way]:
    """The question's code already has it, under the property's name."""
    last = wanted.name.rpartition(".")[2]
    for name, annotation in scope.types.items():
        if name in {wanted.name, last}:
            yield Way(name, 5.0)
        elif agreement(name_words(name), wanted.words) > 0.9:
            yield Way(name, 2.0 + compatible(wanted.kind, annotation))


def _of_object(wanted: Wanted, name: str, annotation: str, scope: Scope) -> Iterator[Way]:
    own = name_words(name) + name_words(plain(annotation))
    rest = _without(wanted.words, own)
    mention = 0.3 * covered(name_words(name), wanted.words + tuple(wanted.about))
    inner = element(annotation)
    if inner and scope.symbol(inner) is not None and wanted.kind in {"list", "", "dict"}:
        for way in _members(wanted, "x", inner, rest, scope, depth=1, many=True):
            yield Way(f"[{way.expression} for x in {name}]", way.score + mention)
    if scope.symbol(annotation) is not None:
        for way in _members(wanted, name, annotation, rest, scope, depth=2):
            yield Way(way.expression, way.score + mention)
    elif kind_of(annotation) in {"", "object"}:
        for guess, score in _guesses(wanted.name, own):
            yield Way(f"{name}.{guess}", score + mention)
    if wanted.kind == "str" and _TEXT & (set(wanted.words) | wanted.about):
        said = bool(_SPELT & (set(wanted.words) | wanted.about))
        yield Way(f"str({name})", (0.6 if said else 0.35) + mention)
    if wanted.kind == "int" and _COUNT & set(wanted.words) and (inner or annotation == "list"):
        yield Way(f"len({name})", 0.7 + mention)
    named = agreement(name_words(name), wanted.words)
    if compatible(wanted.kind, annotation) > 0 and named > 0.5:
        yield Way(name, 0.2 + named)


def _without(words: Iterable[str], own: Iterable[str]) -> tuple[str, ...]:
    """Words of a property that do not only name the object it belongs to."""
    pool = list(own)
    return tuple(w for w in words if not any(likeness(w, other) for other in pool))


def _guesses(name: str, own: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Names that an attribute would have if it were called like the property."""
    left = [piece for piece in pieces(name) if _without([stem(piece)], own)] or [*pieces(name)]
    whole = "_".join(left)
    if any(iskeyword(piece) or not piece.isidentifier() for piece in left):
        return
    yield whole, 0.55
    yield f"get_{whole}()", 0.5
    yield f"{whole}()", 0.45
    if len(left) > 1:
        yield left[-1], 0.4
        yield "_".join(left[:-1]), 0.38


def _members(
    wanted: Wanted,
    owner: str,
    annotation: str,
    rest: tuple[str, ...],
    scope: Scope,
    *,
    depth: int,
    many: bool = False,
) -> Iterator[Way]:
    symbol = scope.symbol(annotation)
    for member in symbol.members if symbol else ():
        if member.name.startswith("_"):
            continue
        expression = _access(owner, member, scope)
        if expression is None:
            continue
        score = _alike(wanted, member, rest)
        returns = member.signature.returns
        fit = 0.0 if many else compatible(wanted.kind, returns)
        yield Way(expression, score + 0.3 * fit)
        if wanted.kind == "int" and kind_of(returns) == "list" and _COUNT & set(wanted.words):
            yield Way(f"len({expression})", score + 0.2)
        further = scope.symbol(returns)
        if depth > 1 and further is not None and kind_of(returns) == "object" and score > 0.2:
            left = _without(rest, name_words(member.name)) or rest
            for way in _members(wanted, expression, returns, left, scope, depth=depth - 1):
                yield Way(way.expression, 0.5 * score + way.score - HOP)


def _alike(wanted: Wanted, member: Member, rest: tuple[str, ...]) -> float:
    words = tuple(w for w in name_words(member.name) if w not in {"get", "is", "to", "calculat"})
    if not words:
        return 0.0
    about = text_words(member.text)
    named = max(agreement(words, wanted.words), agreement(words, rest) if rest else 0.0)
    return (
        named + 0.3 * covered(words, wanted.about) + 0.3 * covered(wanted.about, about | set(words))
    )


def _access(owner: str, member: Member, scope: Scope) -> str | None:
    """Expression that reads a member; ``None`` when it needs arguments nobody has."""
    if not member.callable:
        return f"{owner}.{member.name}"
    names = {parameter.name for parameter in member.signature.parameters}
    changes = _CHANGES.match(member.name) or names & {"in_place", "inplace"}
    if "class" in member.kind or changes:
        return None
    arguments = _fill(member.signature.parameters, scope, owner)
    return None if arguments is None else f"{owner}.{member.name}({arguments})"


def _fill(parameters: Iterable[Parameter], scope: Scope, owner: str = "") -> str | None:
    """Arguments for the required parameters, the likeliest variables; ``None`` for none."""
    return next(iter(_fillings(parameters, scope, owner)), None)


def _fillings(
    parameters: Iterable[Parameter], scope: Scope, owner: str = "", limit: int = 3
) -> list[str]:
    """Likely arguments for the required parameters: variables of that name or of that type."""
    taken = owner.partition(".")[0]
    partial: list[tuple[float, dict[str, str]]] = [(0.0, {})]
    for parameter in parameters:
        if not parameter.required:
            continue
        options = _variables(parameter, scope, taken)
        grown = [
            (total + score, {**chosen, parameter.name: variable})
            for total, chosen in partial
            for score, variable in options
            if variable not in chosen.values()
        ]
        partial = sorted(grown, key=lambda item: -item[0])[:limit]
    return [", ".join(f"{p}={v}" for p, v in chosen.items()) for _, chosen in partial]


def _variables(parameter: Parameter, scope: Scope, owner: str) -> list[tuple[float, str]]:
    want = plain(parameter.annotation)
    ranked = []
    for variable, have in scope.types.items():
        if variable == owner:
            continue
        words = tuple(w for w in name_words(variable) if not w.isdigit())
        score = agreement(words, name_words(parameter.name))
        score += 0.5 if variable == parameter.name else 0.0
        if want and plain(have):
            same = plain(have) == want or (
                kind_of(have) == kind_of(parameter.annotation) != "object"
            )
            score += 1.0 if same and kind_of(have) in {"object", "list"} else 0.0
        if score >= 0.8:
            ranked.append((score, variable))
    return sorted(ranked, key=lambda item: -item[0])[:3]


def _calls(wanted: Wanted, scope: Scope) -> Iterator[Way]:
    """Documented functions whose required arguments the setup code has."""
    for symbol in scope.knowledge.symbols.values():
        if symbol.kind != "function":
            continue
        if symbol.name.startswith("_"):
            continue
        local = next((a for a, q in scope.imports.items() if q.endswith("." + symbol.name)), None)
        words, about = name_words(symbol.name), text_words(symbol.summary)
        score = agreement(words, wanted.words) + 0.3 * covered(words, wanted.about)
        score += 0.3 * covered(wanted.about, about)
        score += 0.3 * compatible(wanted.kind, symbol.signature.returns)
        score += 0.4 if local else 0.0
        module = symbol.qualname.rpartition(".")[0]
        needs = "" if local else f"from {module} import {symbol.name}"
        for position, arguments in enumerate(_fillings(symbol.signature.parameters, scope)):
            if arguments:
                call = f"{local or symbol.name}({arguments})"
                yield Way(call, score - 0.05 * position, needs)
