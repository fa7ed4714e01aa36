"""Knowledge graph of a corpus: LightRAG with NetworkX storage, everything it needs injected.

Built from the symbol graph without any model call.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from lightrag import LightRAG, QueryParam
from lightrag.utils import EmbeddingFunc, Tokenizer
from numpy.typing import NDArray

from docgen import render
from docgen.replies import first_paragraph
from docgen.symbols import FIRST, Entry, Symbol
from indexes import RetrievalError
from indexes.corpus import Corpus, index_folder
from indexes.vectors import Embedding

for _chatty in ("lightrag", "nano-vectordb"):  # what a reply lacks is counted by us
    logging.getLogger(_chatty).setLevel(logging.ERROR)
_FORMAT = 2
GraphMode = Literal["local", "global", "hybrid", "mix", "naive"]

_DESCRIPTION = 600  # characters of the description of a symbol
_CHUNK = 6_000  # characters of a document that are kept as its chunk
_CALLS = 12  # call relations per symbol
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+|[A-Za-z]+_\w+|[A-Z][a-z]+[A-Z]\w*")
#: What relates a symbol to others, the strongest first: verb, weight, names of the others.
_RELATED: Sequence[tuple[str, float, Callable[[Symbol], Sequence[str]]]] = (
    ("inherits from", 3.0, lambda symbol: symbol.bases),
    ("has member", 2.0, lambda symbol: [m.qualname for m in symbol.members]),
    ("needs", 2.0, lambda symbol: symbol.types),
    ("calls", 1.0, lambda symbol: symbol.calls[:_CALLS]),
)


class ByteTokenizer:
    """Four bytes of UTF-8 are a token: exact, stateless, thread-safe, without downloads.

    English text has about four characters per token, so the counts are fair estimates.
    """

    def encode(self, content: str) -> list[int]:
        """Tokens of a text."""
        data = content.encode("utf-8", errors="surrogatepass")
        # the leading 1 keeps zero bytes
        return [
            int.from_bytes(b"\x01" + data[i : i + 4], "big")
            for i in range(0, len(data), 4)
        ]

    def decode(self, tokens: list[int]) -> str:
        """The text of tokens."""
        parts = (
            token.to_bytes((token.bit_length() + 7) // 8, "big")[1:] for token in tokens
        )
        return b"".join(parts).decode("utf-8", errors="replace")


class GraphIndex:
    """LightRAG over the documents of a corpus."""

    def __init__(self, rag: LightRAG, corpus: Corpus) -> None:
        self._rag = rag
        self._place = {e.qualname: i for i, e in enumerate(corpus.entries)}

    async def query(self, query: str, mode: GraphMode, depth: int) -> list[list[int]]:
        """Ask the graph; no answer is generated.

        Positions of documents found as entities, as ends of relations and as chunks of text, each
        best first.
        The keywords that LightRAG would ask a model for are the identifiers of the query (low
        level) and the query itself (high level). Whatever fails is a `RetrievalError`.
        """
        identifiers = list(dict.fromkeys(_IDENTIFIER.findall(query)))
        param = QueryParam(
            mode=mode,
            top_k=depth,
            chunk_top_k=depth,
            hl_keywords=[query],
            ll_keywords=identifiers or [query],
            enable_rerank=False,
            max_entity_tokens=1_000_000,
            max_relation_tokens=1_000_000,
            max_total_tokens=3_000_000,
        )
        try:
            answer = await self._rag.aquery_data(query, param)
        except Exception as error:
            raise RetrievalError(f"the graph query failed: {error}") from error
        data = answer.get("data") or {}
        relations = data.get("relationships", [])
        names = (
            [entity["entity_name"] for entity in data.get("entities", [])],
            [r[end] for r in relations for end in ("src_id", "tgt_id")],
            [c["content"].partition("\n")[0] for c in data.get("chunks", [])],
        )
        return [
            [self._place[n] for n in dict.fromkeys(f) if n in self._place]
            for f in names
        ]

    async def close(self) -> None:
        """Write and release the storages."""
        await self._rag.finalize_storages()


async def graph_index(corpus: Corpus, embedding: Embedding) -> GraphIndex:
    """The graph of a corpus, loaded when it fits, else built.

    A broken build (`RetrievalError`) is never left behind.
    """
    name = embedding.name
    building = index_folder(corpus, f"graph-symbols-{name}", _FORMAT, embedding=name)
    async with building as place:
        if not place.marked:
            content = symbol_graph(corpus.entries)
            if not content["entities"]:
                raise RetrievalError(
                    f"the graph of {corpus.folder.name} has no nodes: no documents"
                )
            rag = await _open(place.path, embedding)
            try:
                await rag.ainsert_custom_kg(content)
            except Exception as error:
                raise RetrievalError(f"building the graph failed: {error}") from error
            finally:
                await rag.finalize_storages()
            place.mark()
        return GraphIndex(await _open(place.path, embedding), corpus)


async def _open(folder: Path, embedding: Embedding) -> LightRAG:
    try:
        size = len((await embedding.embed(["dimension"]))[0])
    except Exception as error:
        raise RetrievalError(f"embedding failed: {error}") from error

    async def embed(texts: list[str]) -> NDArray[np.float32]:
        return np.asarray(await embedding.embed(texts), dtype=np.float32)

    rag = LightRAG(
        working_dir=str(folder),
        workspace=folder.name,  # its storages are shared by name within a process
        tokenizer=Tokenizer("bytes", ByteTokenizer()),
        embedding_func=EmbeddingFunc(
            embedding_dim=size, max_token_size=8192, func=embed
        ),
        llm_model_func=_no_completion,
        entity_extract_max_gleaning=0,
        enable_llm_cache=False,
        vector_db_storage_cls_kwargs={"cosine_better_than_threshold": 0.05},
    )
    await rag.initialize_storages()
    return rag


def symbol_graph(entries: Sequence[Entry]) -> dict[str, list[dict[str, Any]]]:
    """Entities, relations and chunks in LightRAG's custom form, from the symbols of a corpus."""
    symbols = [entry for entry in entries if isinstance(entry, Symbol)]
    chunks, entities = [], []
    for symbol in symbols:
        what = first_paragraph(symbol.section(FIRST))
        description = f"{what}\nsignature: {render.signature(symbol)}"
        origin = {"source_id": symbol.qualname, "file_path": symbol.qualname}
        chunks.append({"content": render.document(symbol)[:_CHUNK], **origin})
        entities.append(
            {
                "entity_name": symbol.qualname,
                "entity_type": symbol.kind,
                "description": description[:_DESCRIPTION],
                **origin,
            }
        )
    relationships = [
        {
            "src_id": source,
            "tgt_id": target,
            "description": f"{_short(source)} {verb} {_short(target)}",
            "keywords": f"{verb} {_short(source)} {_short(target)}",
            "weight": weight,
            "source_id": source,
            "file_path": source,
        }
        for source, target, verb, weight in _relations(symbols)
    ]
    return {"chunks": chunks, "entities": entities, "relationships": relationships}


def _relations(symbols: Sequence[Symbol]) -> Iterator[tuple[str, str, str, float]]:
    """Each pair once, by its strongest relation."""
    names = {symbol.qualname for symbol in symbols}
    seen: set[frozenset[str]] = set()
    for verb, weight, related in _RELATED:
        for symbol in symbols:
            for target in (name for name in related(symbol) if name in names):
                pair = frozenset((symbol.qualname, target))
                if len(pair) == 2 and pair not in seen:
                    seen.add(pair)
                    yield symbol.qualname, target, verb, weight


def _short(qualname: str) -> str:
    return ".".join(qualname.split(".")[-2:])


async def _no_completion(*_: Any, **__: Any) -> str:
    raise RetrievalError("a graph that is built must not need a model")
