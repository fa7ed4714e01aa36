"""What is shown of an answer, in its order: on a terminal, in a notebook and on a page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agents.assistant.answers import Answer, Value
from agents.assistant.second_opinion import split_unit
from agents.base import Usage
from foundation.terminal import coloured, pieces, printable

SOURCES = 12  # that are listed
CALLS = 8  # that are named
ROWS, COLUMNS = 40, 8  # of a table of records
SAID = 4  # values that the first line says
_DISTRIBUTIONS = (
    "pymatgen",
    "pymatgen-core",
    "pymatgen-analysis-defects",
    "matminer",
    "phonopy",
)
_HEADS = {
    "needs_input": "Needs input",
    "explained": "In words",
    "no_code": "No answer",
    "failed": "The code failed",
    "stopped": "Stopped",
    "broken": "Infrastructure error",
}

Kind = Literal[
    "head", "text", "note", "table", "soft", "code", "error", "files", "list"
]


@dataclass(frozen=True)
class AnswerBlock:
    """One part of an answer; its text is of hostile origin."""

    kind: Kind
    text: str  # or the title of what has rows
    rows: Sequence[Sequence[str]] = ()
    head: bool = False  # whether the first row is one


def blocks(answer: Answer, folder: Path | None = None) -> Iterator[AnswerBlock]:
    """The first line is the answer; below it all to believe it. Its files lie in ``folder``."""
    failed = answer.text or f"{answer.outcome or ''}"
    head = _HEADS.get(answer.kind, "")
    yield AnswerBlock(
        "head", sentence(answer.values) if answer.works else f"{head}: {failed}"
    )
    if answer.works and answer.text:  # some values, and what the others lack
        yield AnswerBlock("note", f"needs input: {answer.text}")
    if answer.said:
        yield AnswerBlock("text", answer.said)
    yield from (AnswerBlock("note", note) for note in answer.notes)
    if answer.values:
        yield from _tables(answer)
        yield AnswerBlock("soft", behind(answer))
    if answer.error:
        yield AnswerBlock("error", answer.error)
    if answer.files:
        at = [f.name if folder is None else str(folder / f.name) for f in answer.files]
        yield AnswerBlock(
            "files",
            "Files",
            [
                (name, f"{file.size:,} bytes  sha256 {file.sha256[:12]}")
                for name, file in zip(at, answer.files, strict=True)
            ],
        )
    if answer.code is not None:
        there = [
            f"{n} {answer.versions[n]}" for n in _DISTRIBUTIONS if n in answer.versions
        ]
        ran = f"executed in the {answer.tier} sandbox on {', '.join(there)}: {answer.outcome}"
        yield AnswerBlock(
            "code",
            f"Code ({ran if answer.outcome else 'not executed'})",
            [[answer.code]],
        )
    if answer.sources:
        found = [f"{s.name}  {s.distribution} {s.version}" for s in answer.sources]
        more = [f"{len(found) - SOURCES} more"] if len(found) > SOURCES else []
        listed = [[text] for text in found[:SOURCES] + more]
        yield AnswerBlock("list", "Sources (what the code uses)", listed)
    if answer.tried:
        tried = [[f"{number}. {text}"] for number, text in enumerate(answer.tried, 1)]
        yield AnswerBlock("list", "Tried", tried)
    model = answer.model or "no model"
    yield AnswerBlock("soft", f"{model}: {spent(answer.usage)}, {answer.seconds:.1f} s")


def sentence(values: Sequence[Value]) -> str:
    """The values in words, with the digits that one reads."""
    said = [(_words(value), text) for value in values if (text := quantity(value))][
        :SAID
    ]
    if not said:
        named = ", ".join(_words(value) for value in values[:SAID])
        return f"Worked out: {named}."
    if len(values) == 1:
        return f"The {said[0][0]} is {said[0][1]}."
    left = len(values) - len(said)
    more = f"; and {left} more" if left else ""
    listed = "; ".join(f"{name}: {text}" for name, text in said)
    return f"{listed[:1].upper()}{listed[1:]}{more}."


def quantity(value: Value) -> str:
    """A plain value with its unit; empty for what is no single number or short text."""
    text = _digits(value.value)
    if isinstance(value.value, list) and 0 < len(value.value) <= SAID:
        parts = [_digits(item) for item in value.value]
        text = ", ".join(parts) if all(parts) else ""
    return f"{text} {value.unit}" if text and value.unit else text


def _digits(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        short = f"{value:.5g}"
        return f"{value:.0f}" if "e+0" in short and abs(value) < 1e9 else short
    return (
        str(value)
        if isinstance(value, int)
        or (isinstance(value, str) and 0 < len(value) < 80 and "\n" not in value)
        else ""
    )


def _words(value: Value) -> str:
    """The name of a value without the unit at its end."""
    return (
        split_unit(value.name)[0]
        if value.unit
        else value.name.replace("_", " ").strip()
    )


def _tables(answer: Answer) -> Iterator[AnswerBlock]:
    """Lists of records as tables of their own; the other values with all digits."""
    head = sentence(answer.values)
    plain = [v for v in answer.values if _records(v.value) is None]
    if any(v.text.strip("'") not in head for v in plain):
        rows = [(v.name, f"{v.text}{f' {v.unit}' if v.unit else ''}") for v in plain]
        yield AnswerBlock("table", "", rows)
    for value in answer.values:
        if (rows_ := _records(value.value)) is not None:
            unit = f" ({value.unit})" if value.unit else ""
            more = f", the first {ROWS} of {len(value.value)}" * (
                len(value.value) > ROWS
            )
            yield AnswerBlock("table", f"{value.name}{unit}{more}", rows_, head=True)


def _records(value: Any) -> list[list[str]] | None:
    """Rows of a list of flat dicts, the first one the names; ``None`` where it is none."""
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(r, dict) for r in value)
    ):
        return None
    names = list(dict.fromkeys(str(key) for record in value for key in record))
    flat = all(
        not isinstance(item, dict | list)
        for record in value
        for item in record.values()
    )
    if not flat or not 0 < len(names) <= COLUMNS:
        return None
    cells = [[record.get(name, "") for name in names] for record in value[:ROWS]]
    shown = [["" if c is None else _digits(c) or str(c) for c in row] for row in cells]
    return [names, *shown]


def behind(answer: Answer) -> str:
    """What ran and what was read, in one line; units are as the model states them."""
    names = [".".join(source.name.rsplit(".", 2)[-2:]) for source in answer.sources]
    more = f" and {len(names) - CALLS} more" if len(names) > CALLS else ""
    parts = [f"computed with {', '.join(names[:CALLS])}{more}"] if names else []
    if answer.read:
        parts.append(f"read {', '.join(answer.read)}")
    if any(value.unit for value in answer.values):
        parts.append("units as stated by the model (unverified)")
    return "; ".join(parts)


def spent(usage: Usage) -> str:
    """Calls, tokens and cost in words."""
    cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    replies = "reply" if usage.cached_calls == 1 else "replies"
    cached = f", {usage.cached_calls} cached {replies} (/retry bypasses the cache)"
    about = " (estimated)" if usage.estimated else ""
    calls = f"{usage.calls} call{'s' * (usage.calls != 1)}{cached if usage.cached_calls else ''}"
    return f"{calls}, {usage.tokens} tokens{about}, {cost}"


def safe(text: str) -> str:
    """Text that neither drives the terminal nor is read as markup."""
    return escape(printable(text))


_MARKUP: dict[Kind, str] = {
    "head": "[bold]{}[/bold]",
    "note": "[bold yellow]![/bold yellow] {}",
    "soft": "[dim]{}[/dim]",
    "table": "[bold]{}[/bold]",
    "code": "\n[bold]{}[/bold]",
    "list": "\n[bold]{}[/bold]",
    "files": "\n[bold]{}[/bold]",
}


def print_answer(answer: Answer, console: Console, folder: Path | None = None) -> None:
    """An answer on a terminal; for ``folder`` see `blocks`."""
    for block in blocks(answer, folder):
        if block.text:
            console.print(_MARKUP.get(block.kind, "{}").format(safe(block.text)))
        if block.kind == "code":
            console.print(coloured(block.rows[0][0]))
        elif block.head:
            table = Table(*map(safe, block.rows[0]), box=None, pad_edge=False)
            for row in block.rows[1:]:
                table.add_row(*map(safe, row))
            console.print(table)
        else:
            for row in block.rows:
                console.print(
                    (": " if block.kind == "table" else "  ").join(map(safe, row))
                )


WEB = Path(__file__).parent / "web"
_PAGES = Environment(
    loader=FileSystemLoader(WEB), autoescape=True, undefined=StrictUndefined
)
_PAGES.globals |= {"json": json.dumps, "pieces": pieces}


def answer_html(answer: Answer) -> Markup:
    """What is shown of an answer, as one ``<div>``; pictures stand before the code."""
    shown = list(blocks(answer))
    kinds = [block.kind for block in shown]
    first = next(
        (n for n, kind in enumerate(kinds) if kind in {"files", "code"}), len(kinds)
    )
    page = _PAGES.get_template("answer.html")
    text = page.render(blocks=shown, figures=answer.figures, first=first)
    return Markup(text)  # noqa: S704 -- the template escapes all that it is given


def notebook_html(answer: Answer) -> str:
    """The answer with its own style sheet."""
    style = (WEB / "answer.css").read_text(encoding="utf-8")
    return f"<style>{style}</style>{answer_html(answer)}"


@dataclass(frozen=True)
class CrystalView:
    """The crystals of an answer in a frame of a notebook, to be turned and saved."""

    page: str

    def _repr_html_(self) -> str:
        # The frame runs nothing but our scripts, and reaches neither the notebook nor a network.
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{html.escape(self.page)}"'
            ' style="width: 100%; height: 440px; border: 0"></iframe>'
        )


def crystal_view(answer: Answer) -> CrystalView | None:
    """What :func:`matsmith.view` shows; ``None`` for an answer without a crystal."""
    figures = [figure for figure in answer.figures if figure.structure.get("kinds")]
    if not figures:
        return None
    page = _PAGES.get_template("view.html").render(
        figures=figures,
        css=Markup((WEB / "page.css").read_text(encoding="utf-8")),  # noqa: S704 -- ours
        scripts=[
            Markup((WEB / name).read_text(encoding="utf-8"))  # noqa: S704 -- ours
            for name in ("3Dmol-min.js", "structure.js")
        ],
    )
    return CrystalView(page)


#: How a notebook shows an answer; set here, for `answers` lies below all that shows them.
Answer._repr_html_ = notebook_html  # type: ignore[attr-defined]
