"""What writers of documentation suspect: errors of the library, docstrings that disagree.

``python -m docgen review package=pymatgen.analysis.defects`` lists it with file and line;
``format=markdown`` writes it as the text of an issue upstream. These are suspicions by a reader of
the code, not findings: look before you file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.table import Table

from docgen.library import read_library
from docgen.replies import section_of
from docgen.sources import SourceError
from docgen.symbols import Library, Symbol
from docgen.texts import SHIPPED, Text, TextsError, prewritten, text_files
from sandbox.command import Commas, run
from sandbox.environments import cache_folder, site_packages

Kind = Literal["error", "docstring"]
#: What the instructions of :mod:`docgen.prompts` ask a writer to begin such a note with.
_MARKED: tuple[tuple[str, Kind], ...] = (
    ("**Suspected error:**", "error"),
    ("**Docstring differs:**", "docstring"),
)
#: How texts from a prompt without these marks say it.
_SAID: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (
        re.compile(
            r"\b(?:(?:looks?|appears?|seems?)(?: to be)? (?:a |like a )?"
            r"(?:bug|mistake|slip|wrong|inverted|swapped|unintended)"
            r"|bug|by mistake|wrong value|never (?:advances|assigned|used|reached)"
            r"|two things differ|(?:do|does) not work as|the (?:call|method) (?:always )?fails"
            r"|not the true|exceeds the true|(?:do|does) \*{0,2}not\*{0,2} follow"
            r"|opposite of|whereas the code|is never defined)\b",
            re.IGNORECASE,
        ),
        "error",
    ),
    (
        re.compile(
            r"\b(?:(?:docstring|annotation|signature|type hint|error message)s?\b[^.;]{0,80}?\b"
            r"(?:promises?|says?|claims?|names?|mentions?|describes?|lists?|states?|disagrees?"
            r"|annotated|wrong|but|although)"
            r"|(?:despite|in spite of|contrary to|unlike|although) (?:its|the) "
            r"(?:docstring|annotation|name|signature)"
            r"|as the docstring (?:does not|claims)|the docstring)",
            re.IGNORECASE,
        ),
        "docstring",
    ),
)
_ITEM = re.compile(r"^(?:[-*]|\d+\.) |\n\n", re.MULTILINE)


class Options(BaseModel):
    """Arguments of ``python -m docgen review``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: Annotated[tuple[str, ...], Commas] = Field(description="import names, comma-separated")
    file: Path | None = Field(None, description="texts to look at, not shipped and imported ones")
    env: str = Field("live", description="sandbox environment that holds the packages")
    kind: Literal["all", "error", "docstring"] = Field("all", description="all, error, docstring")
    format: Literal["table", "markdown"] = Field("table", description="table, markdown")


@dataclass(frozen=True)
class Finding:
    """One note of a writer.

    Attributes
    ----------
    kind
        ``error``: the code looks wrong; ``docstring``: docstring or annotation and code disagree.
    """

    symbol: Symbol
    kind: Kind
    note: str
    writer: str

    @property
    def place(self) -> str:
        """File and lines, relative to the folder that holds the package."""
        return f"{self.symbol.path}:{self.symbol.first_line}-{self.symbol.last_line}"


def review(library: Library, texts: Sequence[Text]) -> list[Finding]:
    """What the notes of some texts flag, suspected errors first, then by file and line."""
    found = [
        Finding(library.symbols[text.qualname], kind, note, text.writer)
        for text in texts
        for kind, note in flagged(text.text)
    ]
    order = sorted(found, key=lambda f: (f.symbol.path, f.symbol.first_line))
    return sorted(order, key=lambda f: f.kind != "error")


def flagged(text: str) -> Iterator[tuple[Kind, str]]:
    """The notes of a text that flag something, each once."""
    items = _ITEM.split(section_of(text, "Notes")) + _ITEM.split(section_of(text, "Details"))
    for note in (" ".join(item.split()) for item in items):
        for mark, kind in _MARKED:
            if note.startswith(mark):
                yield kind, note.removeprefix(mark).strip()
                break
        else:
            for pattern, kind in _SAID:
                if pattern.search(note):
                    yield kind, note
                    break


def markdown(findings: Sequence[Finding], library: Library) -> str:
    """The text of an issue upstream."""
    versions = ", ".join(
        f"{name} {version or ''}".strip() for name, version in library.versions.items()
    )
    lines = [f"Found by reading the source of {versions}; none of it was tested.", ""]
    titles: dict[Kind, str] = {
        "error": "The code looks wrong",
        "docstring": "Docstring or annotation and code disagree",
    }
    for kind, title in titles.items():
        of_kind = [finding for finding in findings if finding.kind == kind]
        if of_kind:
            lines += [f"## {title}", ""]
            lines += [f"- [ ] `{f.symbol.qualname}` (`{f.place}`): {f.note}" for f in of_kind]
            lines.append("")
    return "\n".join(lines).rstrip()


def _action(options: Options) -> int:
    library = read_library(options.package, site_packages(options.env)).public()
    folders = [SHIPPED, cache_folder() / "written"]
    files = [options.file] if options.file else text_files(library.versions, folders)
    given = prewritten(library, files)
    findings = [
        finding
        for finding in review(library, list(given.texts.values()))
        if options.kind in {"all", finding.kind}
    ]
    if options.format == "markdown":
        print(markdown(findings, library))
        return 0
    shown = Table("kind", "where", "symbol", "note", box=None, padding=(0, 2, 0, 0))
    for finding in findings:
        shown.add_row(finding.kind, finding.place, finding.symbol.name, finding.note)
    Console().print(shown, markup=False)
    errors = sum(finding.kind == "error" for finding in findings)
    print(
        f"{len(given.texts)} texts: {errors} suspected errors, "
        f"{len(findings) - errors} disagreements of docstring and code"
    )
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m docgen review``."""
    return run(
        "docgen review", str(__doc__), Options, _action, arguments, errors=(SourceError, TextsError)
    )
