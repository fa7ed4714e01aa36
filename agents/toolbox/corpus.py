"""The documents that tools search, on the host and as the module ``docs`` in the sandbox."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from agents.toolbox import library as library_file
from agents.toolbox.library import Documents
from retrieval.base import Retriever
from sandbox.base import Mount

DOCS = "docs"  # the module in the sandbox


def library_of(retriever: Retriever | None) -> Documents | None:
    """The documents behind a retriever; ``None`` where it has no corpus. Made once for each."""
    return _library(cast("Hashable", retriever))


@lru_cache(maxsize=8)
def _library(retriever: Any) -> Documents | None:
    corpus = getattr(retriever, "corpus", None)
    if corpus is None:
        return None
    return Documents([(d.page_content, d.metadata) for d in corpus.documents], corpus.aliases)


async def settled(retriever: Any) -> Any:
    """The retriever itself, when it has been made (:class:`agents.runtime.Late`)."""
    ready = getattr(retriever, "ready", None)
    return retriever if ready is None else await ready()


def corpus_of(retriever: Retriever | None, targets: Sequence[str]) -> Path | None:
    """Folder of the corpus that code may read, unless an input file has the module's name."""
    corpus = getattr(retriever, "corpus", None)
    taken = any(target.partition("/")[0] in {DOCS, f"{DOCS}.py"} for target in targets)
    return None if corpus is None or taken else Path(corpus.folder)


def corpus_mounts(folder: Path | None) -> list[Mount]:
    """The module and the documents that it reads."""
    if folder is None:
        return []
    files = [folder / name for name in ("documents.jsonl", "manifest.json")]
    module = Mount(Path(library_file.__file__), f"{DOCS}/__init__.py")
    return [module, *(Mount(file, f"{DOCS}/{file.name}") for file in files)]
