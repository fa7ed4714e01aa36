"""Written documentation as it is shared: who wrote what, when, about which source.

A file ``<distribution>-<version>.jsonl.gz`` holds one text a line. Those in ``docgen/written`` are
shipped, those in ``$MATSMITH_CACHE/written`` were imported; a text is used wherever the source of
the symbol is still the one that it was written about, whatever the version is called.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

from docgen.prompts import source_hash
from docgen.symbols import Library, digest

SHIPPED = Path(__file__).parent / "written"
SUFFIX = ".jsonl.gz"
Verdict = Literal["runs", "inputs", "fails", "none"]


class TextsError(Exception):
    """A file of texts cannot be used; says which, why and what to do."""


@dataclass(frozen=True)
class Text:
    """The documentation of one symbol.

    Attributes
    ----------
    source_hash
        See :func:`docgen.prompts.source_hash`.
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


@dataclass(frozen=True)
class Prewritten:
    """Texts that need not be written any more.

    Attributes
    ----------
    texts
        By qualified name, of symbols whose source is what the text was written about.
    outdated
        Qualified names of symbols that are there, but have changed since.
    """

    texts: Mapping[str, Text] = field(default_factory=dict)
    outdated: Sequence[str] = ()


def read_texts(path: Path) -> list[Text]:
    """The texts of a file, compressed or not.

    Raises
    ------
    TextsError
        When it is damaged.
    """
    try:
        data = path.read_bytes()
        plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return [_parse(line) for line in plain.decode().splitlines()]
    except (OSError, EOFError, zlib.error, ValueError, TypeError) as error:
        what = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise TextsError(
            f"{path}: not a file of written documentation ({what}); remove it or import it again"
        ) from None


def write_texts(path: Path, texts: Iterable[Text]) -> None:
    """Write a file whose bytes depend on the texts only; it appears whole or not at all."""
    rows = sorted(texts, key=lambda text: (text.qualname, text.source_hash, text.writer))
    lines = (json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(gzip.compress("".join(lines).encode(), compresslevel=9, mtime=0))
    fresh.replace(path)


def file_name(distribution: str, version: str | None) -> str:
    """How the file of a distribution is called."""
    return f"{distribution}-{version or '0'}{SUFFIX}"


def text_files(distributions: Iterable[str], folders: Sequence[Path]) -> list[Path]:
    """The files of some distributions, of whatever version, in the order of the folders."""
    wanted = {name.lower() for name in distributions}
    return [
        path
        for folder in folders
        for path in sorted(folder.glob(f"*{SUFFIX}"))
        if path.name.removesuffix(SUFFIX).rpartition("-")[0].lower() in wanted
    ]


def files_digest(files: Sequence[Path]) -> str:
    """SHA-256 of some files and their names, empty for none."""
    parts = [digest(path.name, path.read_bytes().hex()) for path in files]
    return digest(*parts) if parts else ""


def prewritten(library: Library, files: Sequence[Path]) -> Prewritten:
    """What some files hold about a library; the last one has the last word.

    Raises
    ------
    TextsError
        When a file is damaged.
    """
    known = {(t.qualname, t.source_hash): t for path in files for t in read_texts(path)}
    names = {name for name, _ in known} & library.symbols.keys()
    hashes = {name: source_hash(library.symbols[name]) for name in sorted(names)}
    fitting = {n: known[n, h] for n, h in hashes.items() if (n, h) in known}
    return Prewritten(fitting, [n for n in hashes if n not in fitting])


def render_text(text: Text) -> str:
    """The text; below an example that fails it says so."""
    if text.example != "fails":
        return text.text
    head, heading, rest = text.text.partition("\n## Example\n")
    return f"{head}{heading}(This example fails when it is run.)\n{rest}"


def _parse(line: str) -> Text:
    text = Text(**json.loads(line))
    if not all(isinstance(getattr(text, f.name), str) for f in fields(Text)[:-1]):
        raise ValueError("a field of a line is not text")
    return text
