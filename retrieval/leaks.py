"""Whether what is retrieved from holds what a benchmark must keep secret, as a table.

``matsmith leaks benchmark=live benchmark.level=scaffold,goal embedding=hashing`` looks,
in every source, for runs of 13 words that it shares with the reference code, the golds or
tests, and the texts of the questions. Import lines in a row are such a run and no leak: the
command prints the longest run of each kind, to be read.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from langchain_core.documents import Document

from indexes.embedding import HashingEmbedding, build_embedding
from matsmith.core.command import Command, Group
from matsmith.core.errors import UsageError
from retrieval.config import read_config
from retrieval.evaluate import ERRORS, Options, build, sources_of
from retrieval.gold import GoldSource
from retrieval.retriever import CorpusRetriever
from retrieval.tables import put

LENGTH = 13  # words of an n-gram, as in the contamination audits of GPT-3 (Brown et al. 2020)
_WORD = re.compile(r"\d+\.\d+|\w+")
SOURCES = ("llm_doc", "graph", "live", "llm_doc_semantic", "official_doc", "code")
_SHOWN = 200  # characters of a run that are printed


@dataclass(frozen=True)
class Overlap:
    """What one secret text shares with a corpus.

    Attributes
    ----------
    shared, total
        Different n-grams of the secret that stand in the corpus, and all it has.
    document
        Id of the document that holds most of them.
    longest
        The longest run of words in common, as text.
    """

    secret: str
    shared: int
    total: int
    document: str
    longest: str

    @property
    def words(self) -> int:
        """Length of the longest run."""
        return len(self.longest.split())


def words(text: str) -> list[str]:
    """Words and numbers, lower case; punctuation does not count."""
    return [match.lower() for match in _WORD.findall(text)]


def audit(
    documents: Iterable[Document], secrets: Mapping[str, str], *, length: int = LENGTH
) -> list[Overlap]:
    """Overlap of each secret text with the documents, the largest first."""
    texts = {name: words(text) for name, text in secrets.items()}
    owners: dict[tuple[str, ...], set[str]] = {}
    for name, sequence in texts.items():
        for gram in _grams(sequence, length):
            owners.setdefault(gram, set()).add(name)
    found: dict[str, set[tuple[str, ...]]] = {name: set() for name in texts}
    counts: dict[str, Counter[str]] = {name: Counter() for name in texts}
    for document in documents:
        for gram in set(_grams(words(document.page_content), length)):
            for name in owners.get(gram, ()):
                found[name].add(gram)
                counts[name][str(document.metadata["id"])] += 1
    overlaps = [
        Overlap(
            secret=name,
            shared=len(found[name]),
            total=len(set(_grams(sequence, length))),
            document=min((-n, d) for d, n in counts[name].items())[1] if counts[name] else "",
            longest=_longest(sequence, found[name], length),
        )
        for name, sequence in texts.items()
    ]
    return sorted(overlaps, key=lambda o: (-o.shared, o.secret))


def _grams(sequence: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(sequence[i : i + length]) for i in range(len(sequence) - length + 1)]


def _longest(sequence: Sequence[str], known: set[tuple[str, ...]], length: int) -> str:
    """The longest run of the sequence whose n-grams are all known."""
    best: tuple[int, int] = (0, 0)
    start: int | None = None
    for i, gram in enumerate([*_grams(sequence, length), ()]):
        if gram in known:
            start = i if start is None else start
        elif start is not None:
            best = max(best, (i - start + length - 1, start))
            start = None
    size, begin = best
    return " ".join(sequence[begin : begin + size])


@dataclass(frozen=True)
class Found:
    """What one source shares with the secrets of one kind (``reference``, ``gold``, ...).

    Attributes
    ----------
    total, sharing
        Secret texts of the kind, and those that share a run of words with the source.
    worst
        The one with the longest run.
    """

    questions: str
    source: str
    kind: str
    total: int
    sharing: int
    worst: Overlap


def find(
    questions: str, source: str, documents: Sequence[Document], secrets: Mapping[str, str]
) -> list[Found]:
    """One row per kind of secret, in order of appearance."""
    overlaps = audit(documents, secrets)
    rows = []
    for kind in dict.fromkeys(_kind(name) for name in secrets):
        own = [overlap for overlap in overlaps if _kind(overlap.secret) == kind]
        worst = max(own, key=lambda o: (o.words, o.secret))
        sharing = sum(overlap.shared > 0 for overlap in own)
        rows.append(Found(questions, source, kind, len(own), sharing, worst))
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
    longest = f" (longest: {row.worst.words} words)" if row.sharing else ""
    return f"{row.sharing} of {row.total}{longest}"


async def _rows(options: Options) -> list[Found]:
    found: list[Found] = []
    seen: set[tuple[str, str]] = set()
    for source in sources_of(options):
        # the same reference code belongs to every level of the questions
        secrets = {k: text for k, text in source.secrets().items() if (k, text) not in seen}
        seen |= set(secrets.items())
        for choice in options.retrieval.names:
            documents = await _documents(choice, source, options)
            found += find(source.name, choice, documents, secrets)
    return found


async def _documents(choice: str, source: GoldSource, options: Options) -> Sequence[Document]:
    """Everything that a retriever can return; with a graph also all that it stores."""
    retriever = await build(choice, source.packages, source.environment, options)
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
    folder = graph_folder(corpus, embedding or HashingEmbedding())
    return [*corpus.documents, *stored_texts(folder)]


def _kind(secret: str) -> str:
    return secret.rpartition("/")[2].split()[0]


async def _action(options: Options) -> int:
    if "retrieval" not in options.model_fields_set or options.retrieval.name == "sources":
        chosen = Group(",".join(SOURCES), options.retrieval.overrides)
        options = options.model_copy(update={"retrieval": chosen})
    rows = await _rows(options)
    text = markdown(rows)
    print(f"Texts that share a run of {LENGTH} words or more with a source\n\n{text}\n")
    for row in rows:
        if row.sharing:
            worst = row.worst
            print(f"{row.source}, {worst.secret}, {worst.document}:\n  {worst.longest[:_SHOWN]}")
    if options.write is not None:
        document = options.write.read_text(encoding="utf-8")
        options.write.write_text(put(document, "leaks", text), encoding="utf-8")
    if options.out is not None:
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


main = Command("matsmith leaks", str(__doc__), Options, _action, ERRORS)


if __name__ == "__main__":
    sys.exit(main())
