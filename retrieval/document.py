"""The chunks of a text that comes with a question, as a corpus of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

from indexes.chunks import Text, split
from indexes.corpus import Corpus, Made, Manifest, stored

SOURCE = "question"


def document_corpus(name: str, text: str, cache: Path) -> Corpus:
    """The chunks of a text; each is looked up by the text's name and its number."""
    digest = hashlib.sha256(f"{name}\0{text}".encode("utf-8", "replace")).hexdigest()
    manifest = Manifest(SOURCE, (), {}, digest, None, {"text": digest})

    def make() -> Made:
        documents = split([Text(text, name, name, "", None)], SOURCE)
        for number, document in enumerate(documents, 1):
            part = f"{Path(name).stem}.part{number}"
            document.metadata |= {"qualname": part, "covers": [part]}
        return documents, {}

    return stored(cache, manifest, make)
