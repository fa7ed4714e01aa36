"""A corpus: the documents of one source over some packages, cached; and where its indexes lie."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from filelock import AsyncFileLock, FileLock, Timeout
from pydantic import TypeAdapter

from docgen import prose, render
from docgen.symbols import Chunk, Entry, Symbol
from indexes.checksums import CHECKSUMS, damage, write_checksums
from indexes.pages import ALIASES, PAGES, Documents, Page
from indexes.table import SymbolTable

_log = logging.getLogger(__name__)

_PAGES_FORM = 2  # raised when pages say other things of the same entries
_DOCUMENTS, _MANIFEST, _STAMP = "documents.jsonl", "manifest.json", "stamp.json"
_UNFINISHED = "unfinished"  # lies in the folder of an index until it is complete
_MARKS = (_STAMP, _UNFINISHED)
#: What the folder of a corpus is not named by.
_STALE = (("sources_digest", "source files changed"), ("code", "code changed"))


@cache
def code_digest() -> str:
    """SHA-256 of the source of ``docgen`` and ``indexes``."""
    sha = hashlib.sha256()
    for folder in (Path(__file__).parents[1] / name for name in ("docgen", "indexes")):
        for path in sorted(folder.rglob("*.py")):
            sha.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return sha.hexdigest()


@dataclass(frozen=True)
class Manifest:
    """What a corpus was made of. Two corpora with equal manifests hold the same documents.

    Attributes
    ----------
    source
        ``llm_doc``, ``llm_doc_semantic``, ``official_doc`` or ``code``.
    packages, versions
        Import names asked for, and the version of every distribution that they come from.
    sources_digest
        SHA-256 over the source files.
    writer
        Name of the model that writes what was not written before; ``None`` where no model is
        involved.
    settings
        What else decides the documents (chunk size, embedding, ...).
    code
        SHA-256 of our own code that makes documents: facts that are read or laid out in another
        way, or stored so, are other documents.
    documents, documents_digest
        Number of documents, and SHA-256 of the file that holds them.
    writers, examples
        How many documents each writer wrote, and how many examples run, fail, lack inputs or were
        not checked; see :class:`docgen.texts.WrittenText`.
    """

    source: str
    packages: tuple[str, ...]
    versions: Mapping[str, str | None]
    sources_digest: str
    writer: str | None
    settings: Mapping[str, Any]
    documents: int = 0
    documents_digest: str = ""
    writers: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, int] = field(default_factory=dict)
    code: str = field(default_factory=code_digest)


@dataclass(frozen=True)
class Corpus:
    """Symbols with their documents, or chunks; and other names of the symbols.

    Attributes
    ----------
    aliases
        Import path -> qualified name of an entry.
    folder
        Where the corpus lies; indexes over it are kept beside it.
    """

    manifest: Manifest
    entries: Sequence[Entry]
    aliases: Mapping[str, str]
    folder: Path

    @cached_property
    def table(self) -> SymbolTable:
        """The entries by name."""
        return SymbolTable(self.entries, self.aliases)

    @cached_property
    def pages(self) -> Documents:
        """What tools show of the entries."""
        return Documents(map(entry_page, self.entries), self.aliases)


def entry_page(entry: Entry) -> Page:
    """What tools show of an entry."""
    return Page(**_page_fields(entry))


def _page_fields(entry: Entry) -> dict[str, Any]:
    return {
        **render.page(entry),
        "what": prose.what(entry),
        "definition": prose.definition(entry),
        "deprecated": prose.deprecation(entry),
    }


#: A line of a corpus is one of these under its name.
_FORMS: Mapping[str, TypeAdapter[Entry]] = {
    "symbol": TypeAdapter(Symbol),
    "chunk": TypeAdapter(Chunk),
}


def _line_of(entry: Entry) -> str:
    form = "symbol" if isinstance(entry, Symbol) else "chunk"
    fields = _FORMS[form].dump_python(entry, exclude_defaults=True)
    return json.dumps({form: fields}, ensure_ascii=False) + "\n"


def _entry_of(line: bytes) -> Entry:
    ((form, fields),) = json.loads(line).items()
    return _FORMS[form].validate_python(fields)


def corpus_folder(cache: Path, manifest: Manifest) -> Path:
    """Folder of a corpus: one per source, packages, versions, writer and settings."""
    key = json.dumps(
        [
            manifest.packages,
            dict(manifest.versions),
            manifest.writer,
            dict(manifest.settings),
        ],
        sort_keys=True,
    )
    short = hashlib.sha256(key.encode()).hexdigest()[:12]
    return (
        cache
        / "corpora"
        / f"{manifest.source}-{_slug('-'.join(manifest.packages))}-{short}"
    )


def read_corpus(cache: Path, wanted: Manifest) -> Corpus | None:
    """A cached corpus, or ``None`` when there is none or it is damaged or stale (logged)."""
    folder = corpus_folder(cache, wanted)
    if not folder.exists():
        return None
    try:
        about = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        stored = TypeAdapter(Manifest).validate_python(about["manifest"])
        if reasons := [
            why for key, why in _STALE if getattr(stored, key) != getattr(wanted, key)
        ]:
            _log.warning(
                "corpus %s is out of date (%s): rebuilding it",
                folder,
                "; ".join(reasons),
            )
            return None
        payload = (folder / _DOCUMENTS).read_bytes()
        if hashlib.sha256(payload).hexdigest() != stored.documents_digest:
            raise ValueError(f"{_DOCUMENTS} does not match its checksum")  # noqa: TRY301
        if about["checksum"] != _about_checksum(about["manifest"], about["aliases"]):
            raise ValueError(f"{_MANIFEST} does not match its checksum")  # noqa: TRY301
        entries = [_entry_of(line) for line in payload.splitlines()]
        return Corpus(stored, entries, dict(about["aliases"]), folder)
    except (OSError, ValueError, TypeError, KeyError) as error:
        _log.warning("corpus %s is damaged (%s): rebuilding it", folder, error)
        return None


def write_corpus(
    cache: Path,
    manifest: Manifest,
    entries: Sequence[Entry],
    aliases: Mapping[str, str],
) -> Corpus:
    """Store a corpus; it appears whole or not at all."""
    folder = corpus_folder(cache, manifest)
    payload = "".join(map(_line_of, entries)).encode("utf-8", errors="backslashreplace")
    symbols = [entry for entry in entries if isinstance(entry, Symbol)]
    finished = replace(
        manifest,
        documents=len(entries),
        documents_digest=hashlib.sha256(payload).hexdigest(),
        writers=_counted(symbol.writer for symbol in symbols),
        examples=_counted(symbol.example for symbol in symbols),
    )
    described, named = asdict(finished), dict(aliases)
    about = {
        "manifest": described,
        "aliases": named,
        "checksum": _about_checksum(described, named),
    }
    with replaced_folder(folder) as fresh:
        (fresh / _DOCUMENTS).write_bytes(payload)
        (fresh / _MANIFEST).write_text(json.dumps(about, indent=1), encoding="utf-8")
    return Corpus(finished, list(entries), dict(aliases), folder)


def _about_checksum(manifest: object, aliases: object) -> str:
    text = json.dumps([manifest, aliases], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


Made = tuple[Sequence[Entry], Mapping[str, str]]
"""Entries and aliases."""


async def stored_together(
    cache: Path, manifest: Manifest, make: Callable[[], Awaitable[Made]]
) -> Corpus:
    """The cached corpus, or else the one that is made now."""
    async with building_together(corpus_folder(cache, manifest)):
        return read_corpus(cache, manifest) or write_corpus(
            cache, manifest, *await make()
        )


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """A fresh folder that takes the place of ``folder`` when the block ends without error."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield fresh
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=".old-", dir=folder.parent))
            folder.rename(old / folder.name)
            fresh.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        else:
            fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def building(folder: Path) -> Iterator[None]:
    """Lets one process at a time build ``folder``; the others wait for it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f".{folder.name}.lock"):
        yield  # the system releases it when the process is killed


@asynccontextmanager
async def building_together(folder: Path) -> AsyncIterator[None]:
    """Like :func:`building`, for code that awaits meanwhile: tasks wait for each other too."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = AsyncFileLock(folder.parent / f".{folder.name}.lock", run_in_executor=False)
    try:
        held = await lock.acquire(timeout=0)
    except Timeout:
        _log.warning("waiting for another process that is building %s", folder)
        held = await lock.acquire(poll_interval=0.1)
    async with held:
        yield


@dataclass(frozen=True)
class IndexFolder:
    """Where an index of a corpus lies, beside it.

    Attributes
    ----------
    marked
        Whether it was marked as complete, and all its files match their checksums.
    """

    path: Path
    marked: bool
    stamp: bytes

    def mark(self) -> None:
        """Note that the index is complete, and its checksums: later, it is used as it is."""
        self.mark_unfinished()
        (self.path / _UNFINISHED).unlink()

    def mark_unfinished(self) -> None:
        """Note what the index is made of, and the checksums of what there is so far."""
        (self.path / _UNFINISHED).touch()
        (self.path / _STAMP).write_bytes(self.stamp)
        write_checksums(self.path, leave_out=_MARKS)

    def begin_changes(self) -> None:
        """Note that files change from now on: they have no checksums until a mark."""
        (self.path / _UNFINISHED).touch()
        (self.path / _STAMP).write_bytes(self.stamp)
        (self.path / CHECKSUMS).unlink(missing_ok=True)


@asynccontextmanager
async def index_folder(
    corpus: Corpus, name: str, form: int, *, resumable: bool = False, **more: str
) -> AsyncIterator[IndexFolder]:
    """The folder of an index; one that is damaged or made of anything else is removed.

    ``form`` is raised when the same documents are indexed in another way; ``more`` is what else
    decides the index. An unfinished index is removed, too, unless it is ``resumable``. Others
    wait while the block runs.
    """
    parent = corpus.folder.parent.parent / "indexes"
    folder = parent / f"{corpus.folder.name}-{_slug(name, 80)}"
    about = {"format": form, "documents": corpus.manifest.documents_digest, **more}
    stamp = json.dumps(about).encode()
    async with building_together(folder):
        if folder.exists() and (fault := _fault(folder, stamp, resumable=resumable)):
            _log.warning("index %s %s: rebuilding it", folder, fault)
            shutil.rmtree(folder)
        marked = folder.exists() and not (folder / _UNFINISHED).exists()
        folder.mkdir(parents=True, exist_ok=True)
        yield IndexFolder(folder, marked, stamp)


def _fault(folder: Path, stamp: bytes, *, resumable: bool) -> str | None:
    """Why the folder of an index cannot be used."""
    file = folder / _STAMP
    if not file.is_file() or file.read_bytes() != stamp:
        return "does not match its corpus"
    if (folder / CHECKSUMS).exists():
        wrong = damage(folder, leave_out=_MARKS)
        return None if wrong is None else f"is damaged ({wrong})"
    if resumable and (folder / _UNFINISHED).exists():
        return None
    return "has no checksums"


async def written_pages(corpus: Corpus) -> Path:
    """The folder with the pages of a corpus and its aliases, for code in the sandbox."""
    async with index_folder(corpus, "pages", _PAGES_FORM) as place:
        if not place.marked:
            with (place.path / PAGES).open("w", encoding="utf-8") as file:
                for entry in corpus.entries:
                    file.write(json.dumps(_page_fields(entry)) + "\n")
            aliases = json.dumps(dict(corpus.aliases))
            (place.path / ALIASES).write_text(aliases, encoding="utf-8")
            place.mark()
    return place.path


def indexed_texts(corpus: Corpus) -> list[str]:
    """What is indexed of each entry."""
    return [render.indexed(entry) for entry in corpus.entries]


def _counted(values: Iterable[str | None]) -> dict[str, int]:
    counts = Counter(value for value in values if value is not None)
    return dict(sorted(counts.items()))


def _slug(text: str, most: int = 40) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text)[:most].strip("-")
