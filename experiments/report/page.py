"""One HTML page that opens offline and leads from every number to what was executed.

Everything a model wrote is hostile text: jinja2 escapes all of it, the page's one script
(``page.js``) sets text and never HTML, and the Content-Security-Policy refuses any other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import TemplateError
from markupsafe import Markup, escape

from experiments.files import write_text
from experiments.record import Row
from experiments.report.figures import run_figure
from experiments.report.groups import breakdown, failures, letters_given, over_budget
from experiments.report.plots import over_choices
from experiments.report.published import beside_published
from experiments.report.runs import Choices, Run, group_names, has_intervals, load_runs
from experiments.report.show import HERE, TEMPLATES
from experiments.report.tables import (
    comparisons,
    counted,
    leaderboard,
    metrics_of,
    passes,
    seed_spreads,
)
from experiments.stats import FEWEST
from foundation.errors import UsageError
from foundation.terminal import pieces

KINDS = {
    "correct": "all correct",
    "partial": "partly right",
    "wrong": "wrong",
    "broken": "not runnable",
    "unknown": "no verdict",
}
#: Labels of questions that the report breaks scores down by.
LABELS = (
    "area",
    "group",
    "kind",
    "action",
    "atoms",
    "cell",
    "type",
    "topics",
    "difficulty",
    "task",
    "words",
    "position",
    "subfield",
)
#: Questions shown of a run that has very many.
SHOWN = 300
#: Shorter texts are in the page as they are.
INLINE = 200

#: What a damaged record raises, read or shown.
_DAMAGE = (
    UsageError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    TemplateError,
)
_ANSWER = TEMPLATES.get_template("answer.html.j2")
_TONES = {
    "correct": "good",
    "partial": "some",
    "wrong": "bad",
    "broken": "bad",
    "unknown": "",
}


def write_report(
    folders: Sequence[Path],
    target: Path,
    values: Sequence[Choices] = (),
    *,
    published: bool = False,
) -> None:
    """Write the page about one or several run folders; ``target`` is replaced atomically.

    ``values`` are what was chosen for each run of a sweep; with ``published`` the figures of
    papers stand beside those of the runs.
    """
    runs = load_runs(folders, values)
    pages = {}
    if len(runs) > 1:
        # The steps are in each run's own page: together they would be too much for one.
        own = {run.label: run.folder / "report.html" for run in runs}
        pages = {
            label: quote(os.path.relpath(page, target.parent))
            for label, page in own.items()
            if page.exists()
        }
    write_text(target, render(runs, pages, published=published))


def render(
    runs: Sequence[Run], pages: Mapping[str, str], *, published: bool = False
) -> str:
    """Return the page as text; ``pages`` links to those that hold the steps, by label."""
    js, css = (
        (HERE / f"page.{kind}").read_text(encoding="utf-8") for kind in ("js", "css")
    )
    texts = Texts()
    many = len(runs) > 1 or any(len(run.summary["seeds"]) > 1 for run in runs)
    ids = list(dict.fromkeys(row.question_id for run in runs for row in run.rows))
    questions = [_question(runs, key, pages, texts) for key in _sample(ids)]
    headings, board = leaderboard(runs)
    labels = [label for label in LABELS if group_names(runs, label)[1:]]
    return TEMPLATES.get_template("page.html.j2").render(
        css=Markup(css),  # noqa: S704 -- our own file, no input
        css_hash=content_hash(css),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        title=" on ".join(
            ", ".join(sorted({str(run.summary[part]) for run in runs}))
            for part in ("system", "benchmark")
        ),
        js=Markup(js),  # noqa: S704 -- our own file, no input
        js_hash=content_hash(js),
        texts=texts,
        long=partial(_long, texts),
        runs=runs,
        many=many,
        asked=len(ids),
        metrics=metrics_of(runs),
        intervals=has_intervals(runs),
        fewest=FEWEST,
        headings=headings,
        board=board,
        breakdowns=[
            ("Paired comparisons", "pairs", comparisons(runs), ""),
            *((heading, "", ([], []), plot) for heading, plot in over_choices(runs)),
            *(
                [("At a glance", "", ([], []), run_figure(runs[0]))]
                if len(runs) == 1
                else []
            ),
            ("At equal budgets", "budgets", *over_budget(runs, "tokens")),
            ("At equal numbers of calls", "budgets", *over_budget(runs, "calls")),
            *(
                (f"By {label}", "groups", breakdown(runs, label), "")
                for label in labels
            ),
            ("Failure reasons", "", failures(runs), ""),
            ("Letters", "", letters_given(runs), ""),
            *(
                [("Published figures", "", beside_published(runs), "")]
                if published
                else []
            ),
        ],
        questions=questions,
        kinds=KINDS,
        seed_spreads=seed_spreads,
        passes=passes,
        counted=counted,
    )


class Texts:
    """The long texts of a page, once each, compressed.

    Prompts repeat each other's documents line by line, so a page keeps every distinct line once,
    and every text as ranges of line numbers; the browser puts it together when it is opened.
    """

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}
        self._texts: dict[str, tuple[int, list[int]]] = {}

    def add(self, text: str) -> int:
        """Keep a text; returns its number."""
        if text not in self._texts:
            self._texts[text] = len(self._texts), self._ranges(text)
        return self._texts[text][0]

    def _ranges(self, text: str) -> list[int]:
        """The text's lines as first, count, first, count, ..."""
        ranges: list[int] = []
        for line in text.split("\n"):
            number = self._lines.setdefault(line, len(self._lines))
            if ranges and ranges[-2] + ranges[-1] == number:
                ranges[-1] += 1
            else:
                ranges += [number, 1]
        return ranges

    def packed(self) -> str:
        """Everything as JSON, compressed, in base64: letters, digits, ``+``, ``/`` and ``=``."""
        texts = [ranges for _, ranges in self._texts.values()]
        plain = json.dumps(
            {"lines": list(self._lines), "texts": texts}, separators=(",", ":")
        )
        return base64.b64encode(zlib.compress(plain.encode("ascii"), 9)).decode()


def content_hash(text: str) -> Markup:
    """What a Content-Security-Policy allows by."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(f"sha256-{digest}")  # noqa: S704 -- base64 of a file of ours


def _long(texts: Texts, content: object) -> Markup:
    """A text as it stands, or by its number where it is long."""
    text = str(content)
    if len(text) <= INLINE:
        return Markup("<pre>{}</pre>").format(text)
    return Markup('<pre data-text="{}"></pre>').format(texts.add(text))


def _sample(ids: Sequence[str]) -> list[str]:
    """All questions, or the same ones every time of very many, from anywhere among them."""
    if len(ids) <= SHOWN:
        return list(ids)
    chosen = set(sorted(ids, key=lambda key: zlib.crc32(key.encode()))[:SHOWN])
    return [key for key in ids if key in chosen]


def _question(
    runs: Sequence[Run], question_id: str, pages: Mapping[str, str], texts: Texts
) -> dict[str, Any]:
    answers: list[dict[str, Any]] = []
    prompt, area = "", ""
    for run in runs:
        for row in (row for row in run.rows if row.question_id == question_id):
            page = pages.get(run.label)
            fill_in = partial(
                _ANSWER.render,
                row=row,
                texts=texts,
                long=partial(_long, texts),
                highlighted=_highlighted,
            )
            try:
                record = run.record(row)
                mismatch = run.mismatch(row)
                html = fill_in(
                    record=record,
                    figures=run.figures(row),
                    page=page,
                    error=mismatch or row.error,
                )
                prompt = prompt or record.question.prompt
            except _DAMAGE as error:
                damage = f"the record of this answer is damaged: {error!r}"
                html = fill_in(record=None, figures={}, page=None, error=damage)
            area = area or row.labels.get("area", "")
            kind = _kind(row)
            passed = f"{row.passed_count}/{row.criteria}"
            answers.append(
                {
                    "name": run.label
                    + (f", seed {row.seed}" if len(run.summary["seeds"]) > 1 else ""),
                    "kind": kind,
                    "tone": _TONES[kind],
                    "verdict": passed
                    if kind in ("correct", "partial", "wrong")
                    else KINDS[kind],
                    "html": Markup(html),  # noqa: S704 -- by our own template, which escapes
                }
            )
    return {
        "id": question_id,
        "area": area.replace("_", " "),
        "prompt": prompt,
        "answers": answers,
        "kinds": [
            kind for kind in KINDS if any(answer["kind"] == kind for answer in answers)
        ],
    }


def _kind(row: Row) -> str:
    if not row.scored:
        return "unknown"
    if row.values.get("runnable") == 0:
        return "broken"
    if row.all_correct:
        return "correct"
    return "partial" if row.passed_count else "wrong"


def _highlighted(code: str) -> Markup:
    marked = [
        Markup('<span class="{}">{}</span>').format(kind, text)
        if kind
        else escape(text)
        for kind, text in pieces(code)
    ]
    return Markup('<div class="highlight"><pre>{}</pre></div>').format(
        Markup("").join(marked)
    )
