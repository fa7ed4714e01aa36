"""Built indexes on disk: each lies beside its corpus and is rebuilt when it does not fit it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from indexes.corpus import Corpus, building, replaced_folder

if TYPE_CHECKING:
    from indexes.lexical import LexicalIndex

_log = logging.getLogger(__name__)
FORMAT = 2  # of the indexed texts and tokens; raise it when either changes

_RELATIONS = re.compile(r"^## Relations\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)

Index = TypeVar("Index", bound="LexicalIndex")
LexicalKind = Literal["tfidf", "bm25"]


def lexical_index(corpus: Corpus, kind: LexicalKind) -> LexicalIndex:
    """The lexical index of a corpus, loaded when it fits, else built and stored."""
    # scikit-learn takes seconds to import
    from indexes.lexical import Bm25Index, TfidfIndex  # noqa: PLC0415

    if kind == "tfidf":
        return _load_or_build(corpus, kind, TfidfIndex.load, TfidfIndex.build)
    return _load_or_build(corpus, kind, Bm25Index.load, Bm25Index.build)


def indexed_texts(corpus: Corpus) -> list[str]:
    """What is indexed of each document: its text without the names of related symbols.

    A document that lists its callers is otherwise found for what they do.
    """
    return [_RELATIONS.sub("", document.page_content) for document in corpus.documents]


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
            _log.warning("index %s is out of date (%s): rebuilding it", folder, reason)
        index = build(indexed_texts(corpus))
        with replaced_folder(folder) as fresh:
            index.save(fresh)
            (fresh / "stamp.json").write_text(json.dumps(stamp))
        return index
