"""Built indexes on disk: each lies beside its corpus and is rebuilt when it does not fit it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from indexes.corpus import Corpus, building, replaced_folder
from indexes.lexical import Bm25Index, TfidfIndex

_log = logging.getLogger(__name__)
FORMAT = 1  # of the indexed texts and tokens; raise it when either changes

Index = TypeVar("Index", TfidfIndex, Bm25Index)
LexicalKind = Literal["tfidf", "bm25"]


def lexical_index(corpus: Corpus, kind: LexicalKind) -> TfidfIndex | Bm25Index:
    """The lexical index of a corpus, loaded when it fits, else built and stored."""
    if kind == "tfidf":
        return _load_or_build(corpus, kind, TfidfIndex.load, TfidfIndex.build)
    return _load_or_build(corpus, kind, Bm25Index.load, Bm25Index.build)


def indexed_texts(corpus: Corpus) -> list[str]:
    """What is indexed of each document: its text, and the other names of its symbol.

    The names under which a method is inherited stand here, so that a question about a
    subclass finds the method where it is defined.
    """
    names: dict[str, list[str]] = {}
    for alias, qualname in corpus.aliases.items():
        names.setdefault(qualname, []).append(alias)
    return [
        f"{document.page_content}\n{_other_names(names.get(document.metadata['qualname'], ()))}"
        for document in corpus.documents
    ]


def _other_names(aliases: Sequence[str]) -> str:
    """Owner and name of each alias, without repetition (modules say nothing about meaning)."""
    return " ".join(dict.fromkeys(".".join(alias.split(".")[-2:]) for alias in aliases))


def _load_or_build(
    corpus: Corpus,
    kind: LexicalKind,
    load: Callable[[Path], Index],
    build: Callable[[Sequence[str]], Index],
) -> Index:
    folder = corpus.folder.parent.parent / "indexes" / f"{corpus.folder.name}-{kind}"
    stamp = {"format": FORMAT, "documents": corpus.manifest.documents_digest}
    with building(folder):
        if folder.exists():
            try:
                if json.loads((folder / "stamp.json").read_text()) == stamp:
                    return load(folder)
                reason = "the corpus has changed"
            except (OSError, ValueError, KeyError, TypeError) as error:
                reason = f"damaged: {error}"
            _log.warning("index %s does not fit (%s): building it again", folder, reason)
        index = build(indexed_texts(corpus))
        with replaced_folder(folder) as fresh:
            index.save(fresh)
            (fresh / "stamp.json").write_text(json.dumps(stamp))
        return index
