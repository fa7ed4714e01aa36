"""An answer as HTML, for a notebook and for the page of ``matsmith serve``.

Whatever a model or its code wrote is hostile: every text is escaped, a picture is an ``<img>`` of a
kind that cannot run anything, and there is neither script nor inline style.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from agents.assistant.answers import Answer, Figure, OutputFile, Value
from agents.assistant.show import in_words, spent
from sandbox.colours import pieces

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/svg+xml"})
DISTRIBUTIONS = ("pymatgen", "pymatgen-core", "pymatgen-analysis-defects", "matminer", "phonopy")
HEADINGS = {
    "answered": "Result",
    "needs_input": "Needs input",
    "no_code": "No code",
    "failed": "The code does not work",
    "stopped": "Stopped",
    "broken": "Not the model's doing",
}
#: Inks that can be read on light and on dark ground: a notebook does not say which it has.
STYLE = """\
.matsmith { font-size: 14px; line-height: 1.45; max-width: 860px; }
.matsmith h4 { font-size: 14px; margin: 10px 0 4px; }
.matsmith .soft { opacity: .75; font-size: 12.5px; margin: 4px 0; }
.matsmith .note { border-left: 4px solid #c98a12; padding: 2px 10px; margin: 4px 0; }
.matsmith table { border-collapse: collapse; margin: 4px 0; }
.matsmith td, .matsmith th { text-align: left; vertical-align: top; padding: 3px 14px 3px 0;
  border-bottom: 1px solid #8884; overflow-wrap: anywhere; background: none; }
.matsmith td.value { font-variant-numeric: tabular-nums; white-space: pre-wrap; }
.matsmith pre { background: #8881; padding: 8px 10px; border-radius: 5px; overflow-x: auto;
  font: 12.5px/1.45 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; margin: 4px 0; }
.matsmith figure { display: inline-block; margin: 6px 14px 6px 0; max-width: 100%; }
.matsmith figure img { max-width: min(100%, 420px); display: block; }
.matsmith figcaption { font-size: 12.5px; opacity: .75; }
.matsmith img.plot { background: #fff; }
.matsmith .comment { opacity: .7; font-style: italic; }
.matsmith .string { color: var(--string, #2a8a57); }
.matsmith .number { color: var(--number, #b0672a); }
.matsmith .keyword { color: var(--keyword, #3a7bd0); font-weight: 600; }
.matsmith .decorator { color: var(--decorator, #8d62b8); }
.matsmith .function, .matsmith .class { font-weight: 600; }
"""
_STYLE = Markup(STYLE)  # noqa: S704 -- our own


def answer_html(answer: Answer) -> Markup:
    """Values, notes, pictures, code, sources and what was spent, as one ``<div>``."""
    parts = [_heading(answer), *map(_note, answer.notes)]
    if answer.values:
        parts.append(_values(answer.values))
    if answer.text:
        parts.append(Markup("<p>{}</p>").format(answer.text))
    if answer.error:
        parts.append(Markup("<pre>{}</pre>").format(answer.error))
    parts += [_figure(figure) for figure in answer.figures if figure.mime in PICTURES]
    if answer.files:
        parts.append(_files(answer.files))
    if answer.code:
        parts.append(_code(answer))
    if answer.sources:
        listed = (f"{s.name}  {s.distribution} {s.version}  {s.path}:{s.line}"
                  for s in answer.sources)  # fmt: skip
        parts.append(_details("Sources", _list(listed)))
    if answer.tried:
        parts.append(_details("Tried", _list(answer.tried)))
    parts.append(
        Markup('<p class="soft">{}</p>').format(
            f"{answer.model or 'no model'}: {spent(answer.usage)}, {answer.seconds:.1f} s"
        )
    )
    return Markup('<div class="matsmith">{}</div>').format(Markup("").join(parts))


def notebook_html(answer: Answer) -> str:
    """The answer with its own style sheet."""
    return str(Markup("<style>{}</style>{}").format(_STYLE, answer_html(answer)))


def _heading(answer: Answer) -> Markup:
    return Markup("<h4>{}</h4>").format(HEADINGS[answer.kind])


def _note(note: str) -> Markup:
    return Markup('<p class="note">{}</p>').format(note)


def _values(values: Iterable[Value]) -> Markup:
    rows = Markup("").join(
        Markup('<tr><th>{}</th><td class="value">{}{}<div class="soft">{}</div></td></tr>').format(
            value.name, value.text, f" {value.unit}" if value.unit else "", in_words(value.origin)
        )
        for value in values
    )
    return Markup("<table>{}</table>").format(rows)


def _figure(figure: Figure) -> Markup:
    kind = "drawn" if figure.mime == "image/svg+xml" else "plot"  # a plot has inks for white
    return Markup(
        '<figure><img class="{0}" src="{1}" alt="{2}"><figcaption>{2}</figcaption></figure>'
    ).format(kind, figure.uri, figure.title)


def _files(files: Iterable[OutputFile]) -> Markup:
    rows = (f"{file.name}: {file.size:,} bytes, sha256 {file.sha256[:12]}" for file in files)
    return Markup("<h4>Files</h4>{}").format(_list(rows))


def _code(answer: Answer) -> Markup:
    ran = "not executed"
    if answer.outcome is not None:
        there = [name for name in DISTRIBUTIONS if name in answer.versions]
        on = ", ".join(f"{name} {answer.versions[name]}" for name in there)
        ran = f"executed in the {answer.tier} sandbox on {on}: {answer.outcome}"
    marked = Markup("").join(
        Markup('<span class="{}">{}</span>').format(kind, text) if kind else escape(text)
        for kind, text in pieces(str(answer.code))
    )
    return _details(f"Code ({ran})", Markup("<pre>{}</pre>").format(marked), opened=True)


def _details(title: str, inside: Markup, *, opened: bool = False) -> Markup:
    start = Markup("<details open>") if opened else Markup("<details>")
    return Markup("{}<summary>{}</summary>{}</details>").format(start, title, inside)


def _list(lines: Iterable[str]) -> Markup:
    items = Markup("").join(Markup("<li>{}</li>").format(line) for line in lines)
    return Markup("<ul>{}</ul>").format(items)
