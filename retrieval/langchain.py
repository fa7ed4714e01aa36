"""LangChain at the edge: our hits as its documents, its documents as our chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from langchain_core.documents import Document

from docgen import render
from docgen.symbols import Chunk, Symbol
from retrieval.base import Hit

_OWN = ("id", "qualname", "kind", "path", "package", "version", "corpus", "covers")


def document_of(hit: Hit) -> Document:
    """A hit as a LangChain document; its metadata say what is known of the symbol."""
    entry = hit.entry
    metadata: dict[str, Any] = {
        "id": entry.id,
        "qualname": entry.qualname,
        "kind": entry.kind,
        "path": entry.path,
        "package": entry.package,
        "version": entry.version,
        "corpus": entry.corpus,
    }
    if isinstance(entry, Chunk):
        metadata |= {"covers": list(entry.covers), **entry.more}
    else:
        metadata |= _about(entry)
    if hit.score is not None:
        metadata["score"] = hit.score
    return Document(hit.text, metadata=metadata)


def _about(symbol: Symbol) -> dict[str, Any]:
    return {
        "import_path": symbol.import_path,
        "lines": [symbol.first_line, symbol.last_line],
        "signature": render.signature(symbol),
        "modifiers": list(symbol.modifiers),
        "raises": list(symbol.raises),
        "bases": list(symbol.bases),
        "types": list(symbol.types),
        "returns": symbol.returns,
        "calls": list(symbol.calls),
        "members": [member.qualname for member in symbol.members],
        "sections": dict(symbol.bodies),
        "inputs": {item.name: asdict(item) for item in symbol.inputs},
        "writer": symbol.writer,
        "written": symbol.written,
        "example": symbol.example,
    }


def chunks_of(documents: Iterable[Document], name: str) -> list[Chunk]:
    """The documents of a source of the user's own; those without ``qualname`` are numbered."""
    chunks = []
    for number, document in enumerate(documents):
        given = dict(document.metadata)
        own = {key: given.pop(key) for key in _OWN if key in given}
        numbered = f"{name}-{number}"
        named = "qualname" in own
        qualname = str(own.get("qualname", numbered))
        chunk = Chunk(
            id=str(own.get("id", numbered)),
            qualname=qualname,
            text=document.page_content,
            kind=str(own.get("kind", "document" if named else "chunk")),
            path=str(own.get("path", "")),
            package=str(own.get("package", "")),
            version=own.get("version", ""),
            corpus=str(own.get("corpus", "")),
            covers=tuple(own.get("covers", (qualname,) if named else ())),
            more=given,
        )
        chunks.append(chunk)
    return chunks
