"""One HTML page that opens offline and leads from every number to what was executed.

Everything a model wrote is hostile text: jinja2 escapes all of it, the page's one script
(``page.js``) sets text and never HTML, and the Content-Security-Policy refuses any other.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from pygments.formatters import HtmlFormatter

from experiments.report import plots
from experiments.report.cells import money
from experiments.report.lines import legend
from experiments.report.runs import Run, load_runs
from experiments.report.steps import describe_steps
from experiments.report.tables import (
    COMPARISON_HEADINGS,
    comparison_lines,
    counted,
    leaderboard,
    metrics_of,
    seed_spreads,
)
from experiments.report.texts import INLINE, Texts
from experiments.rows import Row
from experiments.store import write_text
from sandbox.colours import pieces

HERE = Path(__file__).parent

#: Lines of two codes that are compared; the time grows with their square.
COMPARED = 2000

#: Kind of a piece of code or of a line of a difference -> class of its colour.
COLOURS = {
    "comment": "c", "string": "s", "number": "m", "keyword": "k", "function": "nf", "class": "nc",
    "decorator": "nd", "inserted": "gi", "deleted": "gd", "place": "gu",
}  # fmt: skip

KINDS = {
    "correct": "all correct",
    "partial": "partly right",
    "wrong": "wrong",
    "broken": "not runnable",
    "unknown": "no verdict",
}
#: Questions shown of a run that has very many.
SHOWN = 300

_TONES = {"correct": "good", "partial": "some", "wrong": "bad", "broken": "bad", "unknown": ""}


def write_report(folders: Sequence[Path], target: Path) -> None:
    """Write the page about one or several runs.

    Parameters
    ----------
    folders
        Run folders.
    target
        The HTML file; replaced atomically.

    Raises
    ------
    UsageError
        When a folder is not a run folder or is damaged.
    """
    runs = load_runs(folders)
    pages = {}
    if len(runs) > 1:
        # The steps are in each run's own page: together they would be too much for one.
        own = {run.label: run.folder / "report.html" for run in runs}
        pages = {
            label: quote(os.path.relpath(page, target.parent))
            for label, page in own.items()
            if page.exists()
        }
    write_text(target, render(runs, pages))


def render(runs: Sequence[Run], pages: Mapping[str, str]) -> str:
    """Return the page as text.

    Parameters
    ----------
    runs
        What the page is about.
    pages
        Links to the pages that hold their steps.
    """
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=False,
    )
    css = (HERE / "page.css").read_text(encoding="utf-8") + _highlight_css()
    js = (HERE / "page.js").read_text(encoding="utf-8")
    texts = Texts()
    many = len(runs) > 1 or any(len(run.summary["seeds"]) > 1 for run in runs)
    ids = _question_ids(runs)
    chosen = _sample(ids)
    questions = [_question(runs, key, pages, many=many) for key in chosen]
    headings, board = leaderboard(runs)
    return environment.get_template("page.html.j2").render(
        title=_title(runs),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        css=Markup(css),  # noqa: S704 -- our own file, no input
        css_hash=content_hash(css),
        js=Markup(js),  # noqa: S704 -- our own file, no input
        js_hash=content_hash(js),
        texts=texts,
        long=lambda text: _long(str(text), texts),
        runs=runs,
        many=many,
        asked=len(ids),
        metrics=metrics_of(runs),
        given=[(run.label, given) for run in runs if (given := _given(run))],
        headings=headings,
        board=board,
        forest=plots.forest(_forest_lines(runs), about="shares with 95 % intervals"),
        comparison_headings=COMPARISON_HEADINGS,
        comparisons=comparison_lines(runs),
        heatmap=plots.heatmap(runs),
        key=legend([run.label for run in runs]) if len(runs) > 1 else "",
        spend=[plots.over_budget(runs, "tokens"), plots.over_budget(runs, "calls")],
        areas=[(label, plot) for label in plots.LABELS if (plot := plots.areas(runs, label))],
        failures=plots.failures(runs),
        questions=questions,
        kinds=[
            {"name": kind, "text": text, "count": count}
            for kind, text in KINDS.items()
            if (count := sum(kind in question["kinds"] for question in questions))
        ],
        facts=[_facts(run) for run in runs],
    )


def content_hash(text: str) -> Markup:
    """What a Content-Security-Policy allows by."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(f"sha256-{digest}")  # noqa: S704 -- base64 of a file of ours


def _long(text: str, texts: Texts) -> Markup:
    """A text as it stands, or by its number where it is long."""
    if len(text) <= INLINE:
        return Markup("<pre>{}</pre>").format(text)
    return Markup('<pre data-text="{}"></pre>').format(texts.add(text))


def _highlight_css() -> str:
    formatters: list[Any] = [
        HtmlFormatter(nobackground=True, style=style)
        for style in ("default", "github-dark")  # readable on the ground of code, light and dark
    ]
    light, dark = (formatter.get_style_defs(".highlight") for formatter in formatters)
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _title(runs: Sequence[Run]) -> str:
    benchmarks = sorted({str(run.summary["benchmark"]) for run in runs})
    systems = sorted({str(run.summary["system"]) for run in runs})
    return f"{', '.join(systems)} on {', '.join(benchmarks)}"


def _sample(ids: Sequence[str]) -> list[str]:
    """All questions, or the same ones every time of very many, from anywhere among them."""
    if len(ids) <= SHOWN:
        return list(ids)
    chosen = set(sorted(ids, key=lambda key: zlib.crc32(key.encode()))[:SHOWN])
    return [key for key in ids if key in chosen]


def _given(run: Run) -> list[tuple[str, ...]]:
    """How often each choice was right and given, where answers are choices."""
    counts = {
        name: Counter(row.artefacts[name] for row in run.scored if name in row.artefacts)
        for name in ("right", "given")
    }
    choices = sorted(counts["right"] | counts["given"])
    if not choices:
        return []
    return [("", *choices), *((name, *(str(count[choice]) for choice in choices))
                              for name, count in counts.items())]  # fmt: skip


def _forest_lines(runs: Sequence[Run]) -> list[tuple[str, Any]]:
    if len(runs) > 1:
        return [(run.label, run.interval(run.primary)) for run in runs]
    return [
        (metric.title, run.interval(metric))
        for run in runs
        for metric in run.metrics
        if metric.bounded
    ]


def _question_ids(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(row.question_id for run in runs for row in run.rows))


def _question(
    runs: Sequence[Run], question_id: str, pages: Mapping[str, str], *, many: bool
) -> dict[str, Any]:
    answers: list[dict[str, Any]] = []
    prompt, area = "", ""
    for run in runs:
        for row in (row for row in run.rows if row.question_id == question_id):
            trajectory = run.trajectory(row)
            prompt = prompt or trajectory["question"]["prompt"]
            area = area or row.labels.get("area", "")
            answer = _answer(run, row, trajectory, pages.get(run.label))
            if many and answers:
                answer["diff_to"] = answers[0]["name"]
                answer["diff"] = _diff(answers[0]["source"], answer["source"])
            answers.append(answer)
    return {
        "id": question_id,
        "area": area.replace("_", " "),
        "prompt": prompt,
        "answers": answers,
        "kinds": [kind for kind in KINDS if any(answer["kind"] == kind for answer in answers)],
    }


def _answer(run: Run, row: Row, trajectory: Mapping[str, Any], page: str | None) -> dict[str, Any]:
    kind = _kind(row)
    seeds = run.summary["seeds"]
    passed = f"{row.passed_count}/{row.parts}"
    return {
        "name": run.label + (f", seed {row.seed}" if len(seeds) > 1 else ""),
        "kind": kind,
        "tone": _TONES[kind],
        "verdict": passed if kind in ("correct", "partial", "wrong") else KINDS[kind],
        "error": row.error,
        "figures": run.figures(row),
        "properties": _parts(row, trajectory["question"]["formats"]),
        "values": [(name, "unknown" if value is None else f"{value:.4g}")
                   for name, value in row.values.items()],
        "reply": None if trajectory["code"] else trajectory["answer"],
        "source": trajectory["code"] or "",
        "code": _highlighted(pieces(trajectory["code"])) if trajectory["code"] else None,
        "diff": None,
        "execution": _execution(trajectory["execution"]),
        "stop_reason": row.stop_reason,
        "spent": f"{row.calls} model calls, {row.prompt_tokens + row.completion_tokens:,} tokens, "
        f"{money(row.cost_usd)}, {row.seconds:.1f} s",
        "count": len(trajectory["steps"]),
        "steps": [] if page else describe_steps(trajectory["steps"]),
        "page": page and f"{page}#q-{row.question_id}",
    }  # fmt: skip


def _kind(row: Row) -> str:
    if not row.scored:
        return "unknown"
    if row.values.get("runnable") == 0:
        return "broken"
    if row.all_correct:
        return "correct"
    return "partial" if row.passed_count else "wrong"


def _parts(row: Row, formats: Mapping[str, str]) -> list[dict[str, str]]:
    """Verdict by part; all that were asked for where there is none."""
    verdicts = row.passed if row.passed is not None else dict.fromkeys(formats)
    return [
        {
            "name": name,
            "format": formats.get(name, ""),
            "verdict": "unknown" if passed is None else "passed" if passed else "failed",
            "reason": row.reasons.get(name, ""),
            "tone": "" if passed is None else "good" if passed else "bad",
        }
        for name, passed in verdicts.items()
    ]


def _execution(execution: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if execution is None:
        return None
    shown = dict(execution)
    if execution["outcome"] != "ok":
        shown["result"] = ""
    if shown["error"]:
        shown["error"] = str(shown["error"])[-20_000:]
    return shown


def _highlighted(parts: Iterable[tuple[str, str]]) -> Markup:
    marked = [
        Markup('<span class="{}">{}</span>').format(COLOURS[kind], text) if kind else escape(text)
        for kind, text in parts
    ]
    return Markup('<div class="highlight"><pre>{}</pre></div>').format(Markup("").join(marked))


def _diff(first: str, second: str) -> Markup | None:
    one, two = first.splitlines(), second.splitlines()
    if len(one) + len(two) > COMPARED:
        return None
    lines = list(difflib.unified_diff(one, two, lineterm="", n=3))[2:]
    kinds = {"+": "inserted", "-": "deleted", "@": "place"}
    parts = [(kinds.get(line[:1], ""), f"{line}\n") for line in lines]
    return _highlighted(parts) if parts else Markup('<p class="soft">none</p>')


def _facts(run: Run) -> list[tuple[str, str]]:
    summary = run.summary
    facts = [
        ("folder", str(run.folder)),
        ("configuration hash", summary["config_hash"]),
        ("seeds", f"{summary['seeds']}; {run.primary.title}: {seed_spreads(run)} %"),
        ("sandbox", ", ".join(summary["sandbox_tier"]) or "-"),
        ("machines", counted(summary.get("machines", {})) or "-"),
        ("model calls", f"{summary['calls']} ({summary['cached_calls']} more from the cache)"),
        ("executions by the agent", str(summary["executions"])),
        ("tokens", f"{summary['prompt_tokens']:,} prompt, {summary['completion_tokens']:,} reply"),
        ("cost", money(summary["cost_usd"])),
        (
            "format errors",
            f"{summary['format_errors']} (and {summary['format_repaired']} repaired)",
        ),
        ("outcomes", counted(summary["outcomes"])),
        ("stop reasons", counted(summary["stop_reasons"])),
    ]
    for environment, versions in summary["packages"].items():
        named = ", ".join(f"{name} {version}" for name, version in versions.items())
        facts.append((f"environment {environment}", named))
    facts += [(f"config: {key}", str(value)) for key, value in summary["config"].items()]
    return facts
