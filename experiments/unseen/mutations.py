"""Mutations of conventions: what only the documentation of the unseen library tells.

They are made before anything is renamed, in the words of the original, so that renaming need not
know of them.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.unseen.owners import Position, check
from experiments.unseen.questions import Script, Source, script_texts
from experiments.unseen.source import Library, UnseenError

if TYPE_CHECKING:
    from experiments.unseen.mutations_calls import Call
    from experiments.unseen.mutations_signatures import Signatures

#: What can be changed, in the order in which it is done.
KINDS = ("defaults", "order")
RECORD = "mutations.json"
_WARMUP = "warmup"
_FENCED = re.compile(r"```.*?```", re.DOTALL)


def parse(text: str) -> tuple[str, ...]:
    """Read ``none``, ``order`` or ``order+defaults`` (a comma is as good as a plus).

    Raises
    ------
    UnseenError
        For anything else.
    """
    words = tuple(text.replace(",", "+").split("+"))
    if words == ("none",):
        return ()
    if not set(words) <= set(KINDS) or len(set(words)) != len(words):
        msg = f"mutate={text}: choose none, or one or more of {', '.join(KINDS)}, joined by +"
        raise UnseenError(msg)
    return tuple(kind for kind in KINDS if kind in words)


@dataclass(frozen=True)
class Permuted:
    """A function whose parameters changed places; all names are the old ones."""

    module: str
    qualname: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Redefined:
    """A parameter whose default became another; names are the old ones, values as in the source."""

    module: str
    qualname: str
    parameter: str
    before: str
    after: str


@dataclass(frozen=True)
class Record:
    """What was changed.

    Attributes
    ----------
    kinds
        What was asked for.
    permuted
        Functions whose parameters changed places.
    kept
        How many functions that have two or more parameters keep them in place, by reason.
    defaults
        Parameters whose defaults became others.
    given
        How often the references give one of these parameters, and how often they give it its old
        default: there, a model that trusts what it remembers leaves it out and is wrong.
    """

    kinds: tuple[str, ...] = ()
    permuted: tuple[Permuted, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    defaults: tuple[Redefined, ...] = ()
    given: tuple[int, int] = (0, 0)

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Record:
        """Read what :meth:`save` wrote."""
        content: dict[str, Any] = json.loads(path.read_text())
        permuted = [
            Permuted(p["module"], p["qualname"], tuple(p["before"]), tuple(p["after"]))
            for p in content["permuted"]
        ]
        defaults = [Redefined(**entry) for entry in content["defaults"]]
        return cls(
            tuple(content["kinds"]),
            tuple(permuted),
            content["kept"],
            tuple(defaults),
            (content["given"][0], content["given"][1]),
        )


@dataclass(frozen=True)
class Material:
    """All code that must stay in step.

    Attributes
    ----------
    libraries
        The packages.
    sources
        The questions.
    warmup
        What the sandbox imports first.
    """

    libraries: tuple[Library, ...]
    sources: tuple[Source, ...]
    warmup: str

    @property
    def modules(self) -> dict[str, str]:
        """Source of the libraries by module name."""
        return {name: m.text for library in self.libraries for name, m in library.modules.items()}

    @property
    def scripts(self) -> dict[str, Script]:
        """Code that uses the libraries, by the name that it has for the type checker."""
        found = {name: s for source in self.sources for name, s in source.scripts.items()}
        return {**found, _WARMUP: Script(self.warmup, {})}

    @property
    def texts(self) -> dict[str, str]:
        """All code by module name."""
        return {**self.modules, **script_texts(self.sources), _WARMUP: self.warmup}

    def prose(self) -> list[str]:
        """Texts that are shown with the questions; their code is among the scripts."""
        return [
            text
            for source in self.sources
            for text in (
                source.spec.goal,
                _FENCED.sub("", source.spec.scaffold),
                *(prop.description for prop in source.spec.properties),
            )
        ]


def mutate(
    material: Material,
    kinds: Collection[str],
    *,
    seed: int,
    overridden: Collection[str],
    words: Collection[str],
) -> tuple[Material, Record]:
    """Change conventions of the libraries, and all code that uses them.

    Parameters
    ----------
    kinds
        Some of :data:`KINDS`.
    seed
        Another seed is another change.
    overridden
        Members that the libraries' classes override of classes of others.
    words
        Words of everything that the libraries import.

    Raises
    ------
    UnseenError
        When mypy is not installed or cannot read the code.
    """
    if not kinds:
        return material, Record()
    record = Record(kinds=tuple(kind for kind in KINDS if kind in kinds))
    if "defaults" in kinds:
        material, defaults, given = _redefine(material, seed, overridden, words)
        record = replace(record, defaults=defaults, given=given)
    if "order" in kinds:
        material, permuted, kept = _reorder(material, seed, overridden, words)
        record = replace(record, permuted=permuted, kept=kept)
    return material, record


def _read(
    material: Material, overridden: Collection[str], words: Collection[str], *, every: bool
) -> tuple[Signatures, dict[str, dict[Position, Call]]]:
    """All functions, marked where they must not change, and all calls by module.

    Parameters
    ----------
    every
        Whether each call counts, or only those with positional arguments.
    """
    # mypy and libcst are needed by this track only.
    from experiments.unseen.mutations_calls import CallReader, keep_unread  # noqa: PLC0415
    from experiments.unseen.mutations_signatures import (  # noqa: PLC0415
        keep_ordered_fields,
        read_signatures,
    )
    from experiments.unseen.mutations_texts import shown_calls, shown_in_prose  # noqa: PLC0415

    texts = material.texts
    result = check(texts)
    files = {name: result.files[name] for name in texts}
    signatures = read_signatures(files, list(material.modules), overridden=overridden)
    keep_ordered_fields(signatures, texts.values())
    reader = CallReader(result.types, signatures, words, every=every)
    calls: dict[str, dict[Position, Call]] = {}
    for name, file in files.items():
        calls[name] = reader.read(file)
        keep_unread(signatures, ast.parse(texts[name]), calls[name], every=every)
    shown = {word for text in texts.values() for word in shown_calls(text)}
    shown |= {word for text in material.prose() for word in shown_in_prose(text)}
    for word in shown:
        for fullname in signatures.called(word):
            signatures.keep(fullname, "a text shows how it is called")
    reader.settle()
    return signatures, calls


def _reorder(
    material: Material, seed: int, overridden: Collection[str], words: Collection[str]
) -> tuple[Material, tuple[Permuted, ...], dict[str, int]]:
    from experiments.unseen.mutations_order import apply_orders, choose_orders  # noqa: PLC0415

    signatures, calls = _read(material, overridden, words, every=False)
    functions = signatures.functions
    orders = choose_orders(signatures, seed)
    done = {
        name: apply_orders(
            text,
            name,
            functions=functions,
            orders=orders,
            calls=calls[name],
            masks=script.masks if (script := material.scripts.get(name)) else {},
        )
        for name, text in material.texts.items()
    }
    permuted = [
        Permuted(
            functions[name].module,
            functions[name].qualname,
            functions[name].names,
            order,
        )
        for name, order in sorted(orders.items())
    ]
    kept = Counter(
        signatures.kept[name]
        for name, function in functions.items()
        if len(function.parameters) > 1 and name in signatures.kept
    )
    scripts = {name: Script(done[name].text, done[name].masks) for name in material.scripts}
    changed = replace(
        material,
        libraries=_with_texts(material.libraries, {name: d.text for name, d in done.items()}),
        sources=tuple(_with_scripts(source, scripts) for source in material.sources),
        warmup=scripts[_WARMUP].text,
    )
    return changed, tuple(permuted), dict(kept.most_common())


def _redefine(
    material: Material, seed: int, overridden: Collection[str], words: Collection[str]
) -> tuple[Material, tuple[Redefined, ...], tuple[int, int]]:
    from experiments.unseen.mutations_defaults import (  # noqa: PLC0415
        apply_defaults,
        choose_defaults,
        given_values,
        relied_on,
        spoken_of,
    )

    signatures, calls = _read(material, overridden, words, every=True)
    functions = signatures.functions
    for members in signatures.members().values():
        if len(members) > 1:
            for member in members:
                signatures.keep(member.fullname, "overridden, or overrides")
    # What a prompt or a reference relies on stays: the prompt goes on to determine the answer.
    relied = relied_on(functions, {name: calls[name] for name in material.scripts}.values())
    told = spoken_of(material.prose())
    relied |= {(full, p) for full, f in functions.items() for p in (*f.names, *f.by_name)
               if p in told}  # fmt: skip
    inside = {name: calls[name] for name in material.modules}
    relied |= relied_on(functions, inside.values(), spread=True)
    defaults = choose_defaults(signatures, material.modules, seed, relied)
    texts = {
        name: apply_defaults(text, name, functions=functions, defaults=defaults, calls=inside[name])
        for name, text in material.modules.items()
    }
    redefined = [
        Redefined(functions[full].module, functions[full].qualname, name, new.before, new.after)
        for full, of_function in sorted(defaults.items())
        for name, new in sorted(of_function.items())
    ]
    given = Counter(
        is_old
        for source in material.sources
        for is_old in given_values(
            source.reference.text, functions, defaults, calls[next(iter(source.scripts))]
        )
    )
    changed = replace(material, libraries=_with_texts(material.libraries, texts))
    return changed, tuple(redefined), (given.total(), given[True])


def _with_texts(libraries: Sequence[Library], texts: Mapping[str, str]) -> tuple[Library, ...]:
    return tuple(
        replace(library, modules={name: replace(module, text=texts[name])
                                  for name, module in library.modules.items()})
        for library in libraries
    )  # fmt: skip


def _with_scripts(source: Source, scripts: Mapping[str, Script]) -> Source:
    reference, scaffold = (scripts[name] for name in source.scripts)
    return replace(source, reference=reference, scaffold=scaffold)
