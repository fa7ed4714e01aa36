"""Mutations of conventions: what only the documentation of the unseen library tells.

They are made before anything is renamed, in the words of the original, so that renaming need not
know of them.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.unseen.owners import Position, check
from experiments.unseen.questions import Script, Source, script_texts
from experiments.unseen.source import Library, UnseenError

#: What can be changed, in the order in which it is done.
KINDS = ("order",)
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
class Record:
    """What was changed.

    Attributes
    ----------
    permuted
        Functions whose parameters changed places.
    kept
        How many functions that have two or more parameters keep them in place, by reason.
    """

    permuted: tuple[Permuted, ...] = ()
    kept: Mapping[str, int] | None = None

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
        return cls(tuple(permuted), content["kept"])


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
    record = Record()
    if "order" in kinds:
        material, record = _reorder(material, seed, overridden, words)
    return material, record


def _reorder(
    material: Material, seed: int, overridden: Collection[str], words: Collection[str]
) -> tuple[Material, Record]:
    # mypy and libcst are needed by this track only.
    from experiments.unseen.mutations_calls import CallReader, keep_unread  # noqa: PLC0415
    from experiments.unseen.mutations_order import apply_orders, choose_orders  # noqa: PLC0415
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
    reader = CallReader(result.types, signatures, words)
    calls: dict[str, dict[Position, frozenset[str]]] = {}
    for name, file in files.items():
        calls[name] = reader.read(file)
        keep_unread(signatures, ast.parse(texts[name]), calls[name])
    shown = {word for text in texts.values() for word in shown_calls(text)}
    shown |= {word for text in material.prose() for word in shown_in_prose(text)}
    for word in shown:
        for fullname in signatures.called(word):
            signatures.keep(fullname, "a text shows how it is called")
    reader.settle()
    orders = choose_orders(signatures, seed)
    done = {
        name: apply_orders(
            texts[name],
            name,
            functions=signatures.functions,
            orders=orders,
            calls=calls[name],
            masks=script.masks if (script := material.scripts.get(name)) else {},
        )
        for name in texts
    }
    scripts = {name: Script(done[name].text, done[name].masks) for name in material.scripts}
    permuted = [
        Permuted(
            signatures.functions[name].module,
            signatures.functions[name].qualname,
            tuple(parameter.name for parameter in signatures.functions[name].parameters),
            order,
        )
        for name, order in sorted(orders.items())
    ]
    kept = Counter(
        signatures.kept[name]
        for name, function in signatures.functions.items()
        if len(function.parameters) > 1 and name in signatures.kept
    )
    return (
        Material(
            tuple(_with_texts(lib, {n: d.text for n, d in done.items()})
                  for lib in material.libraries),
            tuple(_with_scripts(source, scripts) for source in material.sources),
            scripts[_WARMUP].text,
        ),
        Record(tuple(permuted), dict(kept.most_common())),
    )  # fmt: skip


def _with_texts(library: Library, texts: Mapping[str, str]) -> Library:
    modules = {name: replace(m, text=texts[name]) for name, m in library.modules.items()}
    return replace(library, modules=modules)


def _with_scripts(source: Source, scripts: Mapping[str, Script]) -> Source:
    reference, scaffold = (scripts[name] for name in source.scripts)
    return replace(source, reference=reference, scaffold=scaffold)
