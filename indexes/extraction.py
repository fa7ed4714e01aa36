"""A knowledge graph that a chat model extracts from documents, with LightRAG's prompts.

What the model calls an entity is mapped to the symbol that it means, by name and by import path;
what means no symbol stays an entity of its own. Every reply is on disk at once, so that a killed
extraction resumes where it stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from lightrag.constants import GRAPH_FIELD_SEP
from lightrag.operate import extract_entities

from docgen.checkpoint import Checkpoint, Written
from docgen.symbols import digest
from indexes.errors import GraphError

_log = logging.getLogger(__name__)
DESCRIPTION = 600  # characters of the description of an entity or a relation
_CONCURRENCY = 8  # requests in flight
_SOURCES = 8  # documents that an entity is traced back to
_RECORDS, _ENTITIES = 60, 30  # rows of a reply
_GUIDANCE = """\
- Class, Function, Method, Property, Module: a symbol of the library. Its name is written exactly \
as in the text, with the whole dotted path where the text gives it, never in title case.
- Quantity: a physical quantity or a result, with its unit where the text gives it.
- Concept: a method, a model or an idea of the field."""


@dataclass(frozen=True)
class Extractor:
    """The model that extracts, its name, and where its replies are kept.

    Replies are kept per model and prompt, so that a changed document is asked about again.
    """

    model: BaseChatModel
    name: str
    replies: Path


class SymbolNames:
    """Maps the names that a model uses to symbols."""

    def __init__(self, names: Iterable[str], aliases: Mapping[str, str]) -> None:
        self._known = frozenset(names)
        self._aliases = aliases
        self._short: dict[str, list[str]] = {}
        for name in sorted(self._known):
            self._short.setdefault(name.rpartition(".")[2], []).append(name)

    def symbol(self, name: str, source: str) -> str | None:
        """The symbol that ``name`` means in the document of ``source``; ``None``: no symbol.

        An exact path or alias; else the only symbol whose path ends so; else, of several, the only
        one in or beside ``source``.
        """
        wanted = name.strip("` ").removesuffix("()")
        path = self._aliases.get(wanted, wanted)
        if path in self._known:
            return path
        candidates = [
            candidate
            for candidate in self._short.get(wanted.rpartition(".")[2], ())
            if candidate.endswith(f".{wanted}")
        ]
        if len(candidates) > 1:
            near = (source, source.rpartition(".")[0])
            candidates = [c for c in candidates if c == source or c.rpartition(".")[0] in near]
        return candidates[0] if len(candidates) == 1 else None


@dataclass
class _Gathered:
    """What all documents say about one entity or relation."""

    kind: str = ""
    descriptions: dict[str, None] = field(default_factory=dict)
    keywords: dict[str, None] = field(default_factory=dict)
    sources: dict[str, None] = field(default_factory=dict)

    def add(self, item: Mapping[str, Any], source: str) -> None:
        self.kind = self.kind or str(item.get("entity_type", ""))
        self.descriptions[str(item["description"])] = None
        self.keywords[str(item.get("keywords", ""))] = None
        self.sources[source] = None

    def common(self) -> dict[str, Any]:
        """The fields that entities and relations have in LightRAG's custom form."""
        sources = list(self.sources)
        return {
            "description": "\n".join(self.descriptions)[:DESCRIPTION],
            "source_id": sources[0],
            "file_path": GRAPH_FIELD_SEP.join(sources[:_SOURCES]),
        }


async def extracted_graph(
    documents: Sequence[Document],
    aliases: Mapping[str, str],
    extractor: Extractor,
    *,
    characters: int,
    advance: Callable[[], object],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Entities and relations of documents, in LightRAG's custom form.

    Raises
    ------
    GraphError
        When a request fails (finished replies are kept), or no document gave an entity.
    """
    kinds = {str(d.metadata["qualname"]): str(d.metadata["kind"]) for d in documents}
    chunks: dict[str, Any] = {
        str(d.metadata["qualname"]): {"content": d.page_content[:characters]} for d in documents
    }
    try:
        with (checkpoint := Checkpoint(extractor.replies)).writer() as kept:
            config: dict[str, Any] = {
                "role_llm_funcs": {"extract": _asker(extractor, checkpoint, kept, advance)},
                "llm_model_max_async": _CONCURRENCY,
                "entity_extract_max_gleaning": 0,
                "entity_extract_max_records": _RECORDS,
                "entity_extract_max_entities": _ENTITIES,
                "addon_params": {"entity_types_guidance": _GUIDANCE},
            }
            extracted = await extract_entities(chunks, config)
    except Exception as error:
        raise GraphError(
            f"extracting the graph failed: {error}; finished replies are kept in "
            f"{extractor.replies}, the same command resumes"
        ) from error
    empty = sum(not nodes for nodes, _ in extracted)
    if empty == len(documents):
        raise GraphError(
            f"retrieval.graph.build=model: {extractor.name} extracted no entity from "
            f"{len(documents)} documents; let a language model write (writer=model), or set "
            "retrieval.graph.build=symbols"
        )
    if empty:
        _log.warning("the graph has no entity from %d of %d documents", empty, len(documents))
    return _merged(zip(chunks, extracted, strict=True), SymbolNames(kinds, aliases), kinds)


def _asker(extractor: Extractor, checkpoint: Checkpoint, kept: Any, advance: Any) -> Any:
    """LightRAG's model function: asks once per prompt, also over several runs."""

    async def ask(prompt: str, system_prompt: str | None = None, **_: Any) -> str:
        key = digest(f"{system_prompt}\0{prompt}")
        if (known := checkpoint.done("", key, extractor.name)) is not None:
            text = known.text
        else:
            reply = await extractor.model.ainvoke(
                [SystemMessage(system_prompt or ""), HumanMessage(prompt)], {"tags": ["graph"]}
            )
            text, usage = str(reply.text), reply.usage_metadata
            sent, received = (
                (usage["input_tokens"], usage["output_tokens"]) if usage else (None, None)
            )
            if text.strip():
                kept.append(
                    Written(
                        "",
                        key,
                        extractor.name,
                        text,
                        prompt_tokens=sent,
                        completion_tokens=received,
                    )
                )
        advance()
        return text

    return ask


def _merged(
    extracted: Iterable[tuple[str, tuple[Mapping[str, Any], Mapping[Any, Any]]]],
    names: SymbolNames,
    kinds: Mapping[str, str],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One entity per name and one relation per pair."""
    entities: dict[str, _Gathered] = {}
    relations: dict[tuple[str, str], _Gathered] = {}
    for source, (nodes, edges) in extracted:
        for name, items in nodes.items():
            entity = entities.setdefault(names.symbol(name, source) or name, _Gathered())
            for item in items:
                entity.add(item, source)
        for pair, items in edges.items():
            first, second = sorted(names.symbol(end, source) or end for end in pair)
            if first == second:
                continue
            for end in (first, second):  # LightRAG's rows may relate what they did not list
                if end not in entities:
                    entities.setdefault(end, _Gathered()).add(items[0], source)
            for item in items:
                relations.setdefault((first, second), _Gathered()).add(item, source)
    return (
        [
            {"entity_name": n, "entity_type": kinds.get(n) or e.kind or "concept", **e.common()}
            for n, e in entities.items()
        ],
        [
            {
                "src_id": first,
                "tgt_id": second,
                "keywords": ", ".join(filter(None, r.keywords)),
                "weight": float(len(r.sources)),
                **r.common(),
            }
            for (first, second), r in relations.items()
        ],
    )
