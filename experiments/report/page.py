"""One HTML page that opens offline and leads from every number to what was executed.

Everything a model wrote is hostile text: jinja2 escapes all of it, the page's one script
(``page.js``) sets text and never HTML, and the Content-Security-Policy refuses any other.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from pygments.formatters import HtmlFormatter

from experiments.report import choice, plots
from experiments.report.cells import money
from experiments.report.runs import Run, load_runs, properties, runnable, whole
from experiments.report.steps import describe_steps
from experiments.report.tables import (
    COMPARISON_HEADINGS,
    HEADINGS,
    comparison_lines,
    leaderboard,
    seed_spreads,
    told,
)
from experiments.report.texts import INLINE, Texts
from experiments.store import Row, write_text
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
    "whole": "whole",
    "partial": "partly right",
    "wrong": "all wrong",
    "broken": "not runnable",
    "unknown": "no verdict",
}
_TONES = {"whole": "good", "partial": "some", "wrong": "bad", "broken": "bad", "unknown": ""}


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
    ConfigError
        When a folder is no run folder or damaged.
    """
    letters = [folder for folder in folders if choice.is_choice(folder)]
    runs = load_runs([folder for folder in folders if folder not in letters])
    pages = {}
    if len(runs) > 1:
        # The steps are in each run's own page: together they would be too much for one.
        own = {run.label: run.folder / "report.html" for run in runs}
        pages = {
            label: quote(os.path.relpath(page, target.parent))
            for label, page in own.items()
            if page.exists()
        }
    write_text(target, render(runs, pages, choice.load_choice_runs(letters)))


def render(
    runs: Sequence[Run], pages: Mapping[str, str], letters: Sequence[choice.ChoiceRun] = ()
) -> str:
    """Return the page as text.

    Parameters
    ----------
    runs
        Of benchmarks that ask for code.
    pages
        Links to the pages that hold their steps.
    letters
        Of benchmarks that ask for a letter.
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
    questions = [_question(runs, key, pages, many=many) for key in _question_ids(runs)]
    spend, unit = _spend(runs)
    headings, board = told(HEADINGS, leaderboard(runs))
    return environment.get_template("page.html.j2").render(
        title=_title([*runs, *letters]),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        css=Markup(css),  # noqa: S704 -- our own file, no input
        css_hash=_hash(css),
        js=Markup(js),  # noqa: S704 -- our own file, no input
        js_hash=_hash(js),
        texts=texts,
        long=lambda text: _long(str(text), texts),
        all_runs=[*runs, *letters],
        runs=runs,
        many=many,
        letters=letters and _letters(letters),
        headings=headings,
        board=board,
        forest=plots.forest(_forest_lines(runs), about="shares with 95 % intervals"),
        comparison_headings=COMPARISON_HEADINGS,
        comparisons=comparison_lines(runs),
        heatmap=plots.heatmap(runs),
        spend=plots.against_spend(runs, spend, unit),
        areas=plots.areas(runs, "area"),
        failures=plots.failures(runs),
        questions=questions,
        kinds=[
            {"name": kind, "text": text, "count": count}
            for kind, text in KINDS.items()
            if (count := sum(kind in question["kinds"] for question in questions))
        ],
        facts=[_facts(run) for run in runs],
    )


def _hash(text: str) -> Markup:
    """What a Content-Security-Policy allows by."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(f"sha256-{digest}")  # noqa: S704 -- base64 of a file of ours


def _long(text: str, texts: Texts) -> Markup:
    """A text as it stands, or by its number where it is long."""
    if len(text) <= INLINE:
        return Markup("<pre>{}</pre>").format(text)
    return Markup('<pre data-text="{}"></pre>').format(texts.add(text))


def _highlight_css() -> str:
    formatter: Any = HtmlFormatter(nobackground=True, style="friendly")
    return str(formatter.get_style_defs(".highlight"))


def _title(runs: Sequence[Run | choice.ChoiceRun]) -> str:
    benchmarks = sorted({str(run.summary["benchmark"]) for run in runs})
    systems = sorted({str(run.summary["system"]) for run in runs})
    return f"{', '.join(systems)} on {', '.join(benchmarks)}"


def _letters(runs: Sequence[choice.ChoiceRun]) -> dict[str, Any]:
    """The part of the page about multiple-choice runs."""
    lines = [
        (f"{run.label}, {rule}" if len(runs) > 1 else rule, run.interval(rule))
        for run in runs
        for rule in ("strict", "lenient")
    ]
    return {
        "headings": choice.HEADINGS,
        "board": choice.board(runs),
        "forest": plots.forest(lines, about="accuracy with 95 % intervals"),
        "comparison_headings": choice.COMPARISON_HEADINGS,
        "comparisons": choice.comparisons(runs),
        "breakdown_headings": choice.BREAKDOWN_HEADINGS,
        "kinds": choice.by_kind(runs),
        "areas": choice.by_area(runs),
        "runs": [
            {
                "label": run.label,
                "table": choice.letter_table(run),
                "answers": choice.shown_answers(run),
                "facts": [
                    ("folder", str(run.folder)),
                    *((key, str(run.summary[key])) for key in ("questions_file", "questions_digest",
                      "config_hash", "calls", "prompt_tokens", "completion_tokens", "seconds")),
                    *((f"config: {key}", str(v)) for key, v in run.summary["config"].items()),
                ],
            }
            for run in runs
        ],
    }  # fmt: skip


def _forest_lines(runs: Sequence[Run]) -> list[tuple[str, Any]]:
    if not runs:
        return []
    if len(runs) > 1:
        return [(run.label, run.interval(properties)) for run in runs]
    run = runs[0]
    measures = {"properties": properties, "runnable": runnable, "whole questions": whole}
    return [(name, run.interval(measure)) for name, measure in measures.items()]


def _spend(runs: Sequence[Run]) -> tuple[dict[str, float], str]:
    """Dollars per answer where every price is known and not zero, else tokens per answer."""
    costs = {run.label: run.summary["cost_usd"] for run in runs}
    answers = {run.label: max(1, run.summary["answers"]) for run in runs}
    if all(costs.values()):
        return {label: costs[label] / answers[label] for label in costs}, "US dollars per answer"
    return {
        run.label: run.summary["tokens"] / answers[run.label] for run in runs
    }, "tokens per answer"


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
    counted = f"{row.passed_count}/{row.properties}"
    return {
        "name": run.label + (f", seed {row.seed}" if len(seeds) > 1 else ""),
        "kind": kind,
        "tone": _TONES[kind],
        "verdict": counted if kind in ("whole", "partial", "wrong") else KINDS[kind],
        "error": row.error,
        "properties": [_property(row, name, form) for name, form in
                       trajectory["question"]["formats"].items()],
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
    if not row.runnable:
        return "broken"
    if row.whole:
        return "whole"
    return "partial" if row.passed_count else "wrong"


def _property(row: Row, name: str, form: str) -> dict[str, str]:
    if row.passed is None:
        return {"name": name, "format": form, "verdict": "unknown", "reason": "", "tone": ""}
    passed = row.passed.get(name, False)
    return {
        "name": name,
        "format": form,
        "verdict": "passed" if passed else "failed",
        "reason": row.reasons.get(name, ""),
        "tone": "good" if passed else "bad",
    }


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
        ("seeds", f"{summary['seeds']}; properties: {seed_spreads(run)} %"),
        ("sandbox", ", ".join(summary["sandbox_tier"]) or "-"),
        ("model calls", f"{summary['calls']} ({summary['cached_calls']} more from the cache)"),
        ("executions by the agent", str(summary["executions"])),
        ("tokens", f"{summary['prompt_tokens']:,} prompt, {summary['completion_tokens']:,} reply"),
        ("cost", money(summary["cost_usd"])),
        (
            "format errors",
            f"{summary['format_errors']} (and {summary['format_repaired']} repaired)",
        ),
        ("outcomes", _counts(summary["outcomes"])),
        ("stop reasons", _counts(summary["stop_reasons"])),
    ]
    for environment, versions in summary["packages"].items():
        named = ", ".join(f"{name} {version}" for name, version in versions.items())
        facts.append((f"environment {environment}", named))
    facts += [(f"config: {key}", str(value)) for key, value in summary["config"].items()]
    return facts


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
