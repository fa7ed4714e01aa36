"""Written documentation as it is shared: who wrote what, when, about which source.

A file ``<distribution>-<version>.jsonl.gz`` holds one text a line. Those in ``docgen/written`` are
shipped, those in ``$MATSMITH_CACHE/written`` were imported; a text is used wherever the source of
the symbol is still the one that it was written about, whatever the version is called.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from docgen.replies import read_sections
from docgen.symbols import Library, Section, Symbol, Verdict, digest
from foundation.errors import ActionableError
from foundation.jsonl import JsonLines, read_lines

SHIPPED = Path(__file__).parent / "written"
EXAMPLES = SHIPPED / "examples"  # files of the same form, with nothing but an example
Folder = Literal["written", "examples"]  # of the cache
SUFFIX = ".jsonl.gz"
VERSION = (
    "2"  # of the prompt that texts are written from: instructions and what it shows
)
FAILS = "\n(This example fails when it is run.)"


class TextsError(ActionableError):
    """A file of texts cannot be used; says which, why and what to do."""


@dataclass(frozen=True)
class WrittenText:
    """The documentation of one symbol.

    Attributes
    ----------
    source_hash
        See :func:`source_hash`.
    prompt
        Version of the prompt that it was written from.
    writer, date
        Name of the model, and the day (or month) it wrote.
    example
        What :mod:`docgen.check` found: ``runs``; ``inputs`` that only a user has are missing, but
        imports, names and arguments are right; ``fails``; there is ``none``. ``None``: not checked.
    """

    qualname: str
    source_hash: str
    prompt: str
    writer: str
    date: str
    text: str
    example: Verdict | None = None


class Checkpoint:
    """A JSONL file of texts, later lines win; what a killed run had finished stays finished.

    Several may append to it. A damaged line is written again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._done: dict[tuple[str, str, str], WrittenText] = {}
        for _, line in read_lines(path) if path.exists() else ():
            try:
                text = _checked(json.loads(line))
            except (ValueError, TypeError):
                continue
            self._done[text.qualname, text.source_hash, text.writer] = text

    def done(self, qualname: str, source_hash: str, writer: str) -> WrittenText | None:
        """The last text about this source, ``None`` when it must be written."""
        return self._done.get((qualname, source_hash, writer))

    def texts(self) -> list[WrittenText]:
        """Every text."""
        return list(self._done.values())

    def add(self, text: WrittenText) -> None:
        """Keep a text; it is in the file when this returns."""
        with closing(JsonLines(self.path)) as lines:
            lines.append(asdict(text))
        self._done[text.qualname, text.source_hash, text.writer] = text


def source_hash(symbol: Symbol) -> str:
    """Hash of the symbol's own source: another release with the same text has the same hash.

    Of a class the names of its members count too, of a module its docstring and those names.
    What other symbols are or say does not, nor how we lay out what is known.
    """
    own = f"{symbol.qualname}."
    members = sorted(m.name for m in symbol.members if m.qualname.startswith(own))
    return digest(symbol.kind, symbol.source or symbol.docstring, *members)


def read_texts(path: Path) -> list[WrittenText]:
    """The texts of a file, compressed or not; a damaged one is a `TextsError`."""
    try:
        data = path.read_bytes()
        plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return [_checked(json.loads(line)) for line in plain.splitlines()]
    except (OSError, EOFError, zlib.error, ValueError, TypeError) as error:
        what = (
            error.strerror if isinstance(error, OSError) and error.strerror else error
        )
        raise TextsError(
            f"{path}: not a file of written documentation ({what}); remove it or import it again"
        ) from None


def write_texts(path: Path, texts: Iterable[WrittenText]) -> None:
    """Write a file whose bytes depend on the texts only; it appears whole or not at all."""
    rows = sorted(
        texts, key=lambda text: (text.qualname, text.source_hash, text.writer)
    )
    lines = (json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(gzip.compress("".join(lines).encode(), compresslevel=9, mtime=0))
    fresh.replace(path)


def file_name(distribution: str, version: str | None) -> str:
    """How the file of a distribution is called."""
    return f"{distribution}-{version or '0'}{SUFFIX}"


def text_files(
    distributions: Iterable[str], cache: Path, kind: Folder = "written"
) -> list[Path]:
    """The files of some distributions, of whatever version: shipped ones, then those in a cache."""
    wanted = {name.lower() for name in distributions}
    return [
        path
        for folder in (SHIPPED if kind == "written" else EXAMPLES, cache / kind)
        for path in sorted(folder.glob(f"*{SUFFIX}"))
        if path.name.removesuffix(SUFFIX).rpartition("-")[0].lower() in wanted
    ]


def files_digest(files: Sequence[Path]) -> str:
    """SHA-256 of some files and their names, empty for none."""
    parts = [digest(path.name, path.read_bytes().hex()) for path in files]
    return digest(*parts) if parts else ""


def prewritten(
    library: Library, files: Sequence[Path]
) -> tuple[dict[str, WrittenText], list[str]]:
    """What some files hold about a library; the last one has the last word.

    Returns
    -------
    tuple
        Texts of symbols whose source is what the text was written about, and the names of those
        that are there, but have changed since.
    """
    texts = {(t.qualname, t.source_hash): t for path in files for t in read_texts(path)}
    names = {name for name, _ in texts} & library.symbols.keys()
    hashes = {name: source_hash(library.symbols[name]) for name in sorted(names)}
    fitting = {n: texts[n, h] for n, h in hashes.items() if (n, h) in texts}
    return fitting, [n for n in hashes if n not in fitting]


def best(texts: Iterable[WrittenText], names: Iterable[str]) -> dict[str, WrittenText]:
    """The example of each symbol: one that runs, of several the shortest."""
    examples_by_name: dict[str, WrittenText] = {}
    for text in sorted(
        texts, key=lambda t: (t.example != "runs", len(t.text), t.writer)
    ):
        examples_by_name.setdefault(text.qualname, text)
    return {name: examples_by_name[name] for name in names if name in examples_by_name}


def examples(library: Library, files: Sequence[Path]) -> dict[str, WrittenText]:
    """What files of examples hold about a library; one about another source counts as failed."""
    texts = (
        t for path in files for t in read_texts(path) if t.qualname in library.symbols
    )
    return best(
        (
            text
            if text.source_hash == source_hash(library.symbols[text.qualname])
            else replace(text, example="fails")
            for text in texts
        ),
        library.symbols,
    )


def documented(symbol: Symbol, text: WrittenText) -> Symbol:
    """The symbol with what was written about it; of an example that fails it says so."""
    return with_sections(symbol, read_sections(text.text), text)


def with_sections(
    symbol: Symbol, sections: Sequence[Section], text: WrittenText
) -> Symbol:
    """The symbol with sections of a document, and who wrote them."""
    if text.example == "fails":
        sections = [
            replace(s, text=f"{FAILS}{s.text}") if s.title == "Example" else s
            for s in sections
        ]
    return replace(
        symbol,
        sections=tuple(sections),
        writer=text.writer,
        written=text.date,
        prompt=text.prompt,
        example=text.example,
    )


def _checked(row: dict[str, Any]) -> WrittenText:
    text = WrittenText(**row)
    if not all(
        isinstance(getattr(text, f.name), str) for f in fields(WrittenText)[:-1]
    ):
        raise ValueError("a field of a line is not text")
    return text
