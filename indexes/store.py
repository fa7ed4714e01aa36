"""Built indexes on disk: each lies beside its corpus and is rebuilt when it does not fit it."""

from __future__ import annotations

import json
import logging
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexes.corpus import Corpus, building, replaced_folder

if TYPE_CHECKING:
    from indexes.lexical import TfidfIndex

_log = logging.getLogger(__name__)
FORMAT = 2  # of the indexed texts and tokens; raise it when either changes

_RELATIONS = re.compile(r"^## Relations\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def lexical_index(corpus: Corpus) -> TfidfIndex:
    """The lexical index of a corpus, loaded when it fits, else built and stored."""
    from indexes.lexical import TfidfIndex  # noqa: PLC0415 -- scikit-learn takes seconds

    folder = index_folder(corpus, "tfidf")
    stamp = {"format": FORMAT, "documents": corpus.manifest.documents_digest}
    with building(folder):
        if folder.exists():
            reason = "the corpus has changed"
            if stamp_of(folder) == stamp:
                try:
                    return TfidfIndex.load(folder)
                except (OSError, ValueError, KeyError, TypeError) as error:
                    reason = f"damaged: {error}"
            _log.warning("index %s is out of date (%s): rebuilding it", folder, reason)
        index = TfidfIndex.build(indexed_texts(corpus))
        with replaced_folder(folder) as fresh:
            index.save(fresh)
            (fresh / "stamp.json").write_text(json.dumps(stamp))
        return index


def index_folder(corpus: Corpus, name: str) -> Path:
    """Where an index of a corpus lies."""
    return corpus.folder.parent.parent / "indexes" / f"{corpus.folder.name}-{name}"


def stamp_of(folder: Path) -> Any:
    """What an index says it was made of; ``None`` when there is none, or it cannot be read."""
    try:
        return json.loads((folder / "stamp.json").read_text())
    except (OSError, ValueError):
        return None


def start_over(folder: Path) -> None:
    """An empty folder; an index that did not match its corpus is removed."""
    if folder.exists():
        _log.warning("index %s does not match its corpus: rebuilding it", folder)
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def indexed_texts(corpus: Corpus) -> list[str]:
    """What is indexed of each document: its text without the names of related symbols.

    A document that lists its callers is otherwise found for what they do.
    """
    return [_RELATIONS.sub("", document.page_content) for document in corpus.documents]
