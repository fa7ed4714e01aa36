"""Whether what is retrieved from holds what a benchmark must keep secret, as a table.

``python -m retrieval.leaks benchmark=live level=scaffold,goal embedding=hashing`` looks,
in every source, for runs of 13 words that it shares with the reference code, the golds or
tests, and the texts of the questions. Import lines in a row are such a run and no leak: the
command prints the longest run of each kind, to be read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from langchain_core.documents import Document

from indexes.audit import LENGTH, Overlap, audit
from indexes.embedding import HashingEmbedding, build_embedding
from retrieval.config import read_config
from retrieval.evaluate import ERRORS, Options, build, sources_of
from retrieval.gold import GoldSource
from retrieval.retriever import CorpusRetriever
from retrieval.tables import put
from sandbox.command import Group, UsageError, run

SOURCES = ("llm_doc", "graph", "live", "llm_doc_semantic", "official_doc", "code")
_SHOWN = 200  # characters of a run that are printed


@dataclass(frozen=True)
class Found:
    """What one source shares with the secrets of one kind (``reference``, ``gold``, ...).

    Attributes
    ----------
    total, sharing
        Secret texts of the kind, and those that share a run of words with the source.
    words
        Length of the longest run.
    run, secret, document
        That run, whose it is, and where it stands.
    """

    questions: str
    source: str
    kind: str
    total: int
    sharing: int
    words: int
    run: str
    secret: str
    document: str


def find(
    questions: str, source: str, documents: Sequence[Document], secrets: Mapping[str, str]
) -> list[Found]:
    """One row per kind of secret, in order of appearance."""
    overlaps = audit(documents, secrets)
    rows = []
    for kind in dict.fromkeys(_kind(name) for name in secrets):
        of_kind = [overlap for overlap in overlaps if _kind(overlap.secret) == kind]
        worst = max(of_kind, key=lambda o: (len(o.longest.split()), o.secret))
        rows.append(
            Found(
                questions=questions,
                source=source,
                kind=kind,
                total=len(of_kind),
                sharing=sum(1 for overlap in of_kind if overlap.shared),
                words=len(worst.longest.split()),
                run=worst.longest,
                secret=worst.secret,
                document=_first(worst),
            )
        )
    return rows


def markdown(rows: Sequence[Found]) -> str:
    """Sources by kinds of secrets; a cell is ``sharing of total (longest run)``."""
    columns = list(dict.fromkeys((row.questions, row.kind) for row in rows))
    cells = {(row.source, row.questions, row.kind): row for row in rows}
    sources = list(dict.fromkeys(row.source for row in rows))
    lines = [
        f"| source | {' | '.join(f'{questions}: {kind}' for questions, kind in columns)} |",
        f"|{'---|' * (len(columns) + 1)}",
    ]
    for source in sources:
        shown = [_cell(cells.get((source, *column))) for column in columns]
        lines.append(f"| `{source}` | {' | '.join(shown)} |")
    return "\n".join(lines)


def _cell(row: Found | None) -> str:
    if row is None:
        return ""
    longest = f" (longest: {row.words} words)" if row.sharing else ""
    return f"{row.sharing} of {row.total}{longest}"


async def _rows(options: Options) -> list[Found]:
    found: list[Found] = []
    seen: set[tuple[str, str]] = set()
    for source in sources_of(options):
        # the same reference code belongs to every level of the questions
        secrets = {k: text for k, text in source.secrets().items() if (k, text) not in seen}
        seen |= set(secrets.items())
        for choice in options.retrievers:
            documents = await _documents(choice, source, options)
            found += find(source.name, choice, documents, secrets)
    return found


async def _documents(choice: str, source: GoldSource, options: Options) -> Sequence[Document]:
    """Everything that a retriever can return; with a graph also all that it stores."""
    retriever = await build(choice, source, options)
    if not isinstance(retriever, CorpusRetriever):
        raise UsageError(f"retrieval={choice}: has no corpus to search")
    corpus = retriever.corpus
    name, _, mode = choice.partition(":")
    config = read_config(
        {**Group(name, options.retrieval.overrides).read("retrieval"), "name": name}
    )
    if (mode or config.mode) != "graph":
        return corpus.documents
    from indexes.graph import graph_folder, stored_texts  # noqa: PLC0415 - LightRAG is slow to import

    embedding = build_embedding(options.embedding.read("embedding"))
    folder = graph_folder(corpus, embedding or HashingEmbedding(), config.graph.build)
    return [*corpus.documents, *stored_texts(folder)]


def _kind(secret: str) -> str:
    return secret.rpartition("/")[2].split()[0]


def _first(overlap: Overlap) -> str:
    return overlap.documents[0] if overlap.documents else ""


async def _action(options: Options) -> int:
    if "retrieval" not in options.model_fields_set or options.retrieval.name == "sources":
        chosen = Group(",".join(SOURCES), options.retrieval.overrides)
        options = options.model_copy(update={"retrieval": chosen})
    rows = await _rows(options)
    text = markdown(rows)
    print(f"Texts that share a run of {LENGTH} words or more with a source\n\n{text}\n")
    for row in rows:
        if row.sharing:
            print(f"{row.source}, {row.secret}, {row.document}:\n  {row.run[:_SHOWN]}")
    if options.write is not None:
        document = options.write.read_text(encoding="utf-8")
        options.write.write_text(put(document, "leaks", text), encoding="utf-8")
    if options.out is not None:
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m retrieval.leaks``."""
    program = "python -m retrieval.leaks"
    return run(program, str(__doc__), Options, _action, arguments, errors=ERRORS)


if __name__ == "__main__":
    sys.exit(main())
