"""Tables and the page, from real runs; hostile text stays text."""

import base64
import csv
import hashlib
import html.parser
import io
import itertools
import json
import re
import time
import zlib
from urllib.parse import unquote

import pytest
from rich.console import Console

from agents.drawing import structure_svg
from experiments.files import read_json, write_json
from experiments.report import command as report_command
from experiments.report.groups import count_failures, over_budget
from experiments.report.page import Texts, write_report
from experiments.report.runs import load_runs
from experiments.report.show import main as show
from experiments.report.tables import (
    comma_separated,
    comparisons,
    leaderboard,
    markdown,
    money,
    print_table,
    spreadsheet,
)
from experiments.run.store import figures_path, trajectory_path
from foundation.errors import UsageError
from tests.support import chromium
from tests.support.paths import DATA
from tests.support.rows import HOSTILE, INFRA, QUESTIONS, failed, row, trajectory

DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
    "gg=="
)


VOID = {"meta", "input", "br", "img"}
OF_RUNS = DATA / "of_runs"


class Page(html.parser.HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag


@pytest.fixture
def two_runs(make_run):
    first = [
        row("cubic"),
        row("formula", **failed("off by 3 % (tolerance 0.1 %)"), cost_usd=0.5),
        row("lists", **INFRA, error=HOSTILE),
        row(
            "plain",
            **failed("exception: ValueError: " + HOSTILE),
            outcome="exception",
            values={"runnable": 0.0},
        ),
    ]
    second = [row(question) for question in QUESTIONS]
    return [
        make_run("first", first),
        make_run("second", second, system={"name": "other"}),
    ]


def board_of(runs):
    headings, lines = leaderboard(runs)
    return [dict(zip(headings, line, strict=True)) for line in lines]


def unpacked(text):
    """The long texts of a page, as the browser would put them together."""
    packed = re.search(
        r'<script type="text/plain" id="texts">([A-Za-z0-9+/=]*)</script>', text
    )[1]
    plain = json.loads(zlib.decompress(base64.b64decode(packed)))
    return [
        "\n".join(
            "\n".join(plain["lines"][first : first + count])
            for first, count in zip(ranges[::2], ranges[1::2], strict=True)
        )
        for ranges in plain["texts"]
    ]


def page_of(runs, folder):
    write_report(runs, folder / "page.html")
    return (folder / "page.html").read_text()


def test_the_page_is_well_formed_and_hostile_text_stays_text(two_runs, tmp_path):
    write_report(two_runs[:1], two_runs[0] / "report.html")
    for runs in (two_runs[:1], two_runs):
        text = page_of(runs, tmp_path)
        page = Page(text)
        assert page.open == []
        assert not page.tags & {"iframe", "object", "link", "base", "form"}
        assert not [
            a for a in page.attributes if a[1].startswith("on") or a[1] == "style"
        ]
        plots = [a[2] for a in page.attributes if a[1] == "src"]
        assert all(plot.startswith("data:image/svg+xml;base64,") for plot in plots)
        links = {a[2] for a in page.attributes if a[1] == "href"}
        assert links <= {f"first/report.html#q-{question}" for question in QUESTIONS}
        assert "alert(1)" in text
        assert ("meta", "http-equiv", "Content-Security-Policy") in page.attributes
        assert "default-src 'none'; style-src 'sha256-" in text
        assert not re.search(r"https?://", text)
        # Two scripts: the packed texts, and ours, which the policy names by its hash.
        (ours,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        assert text.count("<script") == 2
        digest = base64.b64encode(hashlib.sha256(ours.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'\"" in text
        assert "innerHTML" not in ours


def test_long_texts_are_kept_once_and_whole(make_run, tmp_path):
    lines = [f"line {number} {HOSTILE}" for number in range(40)]
    prompts = ["\n".join(lines[:30]), "\n".join(["first", *lines[5:], "", "last"])]
    texts = Texts()
    assert [texts.add(prompt) for prompt in (*prompts, prompts[0])] == [0, 1, 0]
    assert (
        unpacked(f'<script type="text/plain" id="texts">{texts.packed()}</script>')
        == prompts
    )
    folder = make_run("long", [row("cubic")])
    plain = trajectory(prompts[0])
    plain["execution"]["stdout"] = "short"
    write_json(trajectory_path(folder, "cubic", 0), plain)
    text = page_of([folder], tmp_path)
    assert prompts[0].encode("utf-8", "replace").decode() not in text
    number = int(
        re.search(r'Prompt</summary><div class="in"><pre data-text="(\d+)">', text)[1]
    )
    assert unpacked(text)[number] == prompts[0]
    assert "<pre>short</pre>" in text


@pytest.mark.parametrize("line", ["", "same", " ", "a b c"])
def test_many_equal_lines_take_no_time(line):
    text = "\n".join([line] * 50_000)
    started = time.process_time()
    Texts().add(f"{text}\nx\n{text}")
    assert time.process_time() - started < 20


@chromium.needed
@pytest.mark.long
def test_nothing_covers_or_sticks_out_and_long_texts_and_figures_are_shown(
    make_run, tmp_path
):
    """In light and dark, on a screen and on a phone."""
    runs = []
    for name in ("single", "a_system_whose_name_is_longer_than_any_column"):
        rows = [
            row(
                question,
                seed=seed,
                labels={"area": area, "kind": "bulk modulus (Voigt)"},
                prompt_tokens=50 * 3**seed,
                calls=1 + seed,
                **(failed("None") if seed % 2 else {}),
            )
            for question, area in zip(
                QUESTIONS, ("surfaces", "x" * 60, "a b", ""), strict=True
            )
            for seed in range(6)
        ]
        runs.append(make_run(name, rows, system={"name": name}, seeds=6))
    write_report(runs, tmp_path / "page.html", [[{"depth": "1"}], [{"depth": "2"}]])
    seen = make_run("seen", [row("cubic")])
    hostile = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script>'
    drawn = structure_svg([[4, 0, 0], [0, 4, 0], [0, 0, 4]], ["Na"], [[0, 0, 0]])
    figures = {
        "<b>target": drawn,
        "odd": f"{hostile}</svg>",
        "dot": f"data:image/png;base64,{DOT}",
    }
    figures_path(seen, "cubic", 0).parent.mkdir()
    write_json(figures_path(seen, "cubic", 0), figures)
    write_json(trajectory_path(seen, "cubic", 0), trajectory("<b>long</b>\n" * 100))
    write_report([seen], tmp_path / "seen.html")
    opened = "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
    with chromium.browser(tmp_path / "profile") as tab:
        for width, dark in itertools.product((1400, 400), (False, True)):
            tab.open((tmp_path / "page.html").as_uri(), width=width, dark=dark)
            tab.wait("document.getElementById('no-texts') === null")
            tab.evaluate(opened)
            ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (ground != "rgb(255, 255, 255)") == dark
            assert tab.evaluate(chromium.FAULTS) == []
        tab.open(f"{(tmp_path / 'seen.html').as_uri()}#q-cubic", width=1400, dark=False)
        tab.wait("document.getElementById('no-texts') === null")
        prompt = "document.querySelector('#q-cubic details pre').textContent"
        tab.evaluate(opened)
        tab.wait(f"{prompt}.length > 0")
        assert tab.evaluate(prompt) == "<b>long</b>\n" * 100
        listed = "Array.from(document.querySelectorAll('#q-cubic figure'), (e) => {})"
        sources = tab.evaluate(listed.format("e.firstChild.src"))
        captions = tab.evaluate(listed.format("e.textContent"))
        assert tab.complaints() == []
    assert [unquote(s).removeprefix("data:image/svg+xml,") for s in sources] == [
        *figures.values()
    ]
    assert captions == [*figures]


def test_every_table_shows_calls_and_what_is_left_without_faulty_properties(
    two_runs, make_run, tmp_path, capsys
):
    refused = row(
        "cubic", seed=1, **failed("None"), reply_faults={"length": 1, "refusal": 1}
    )
    folder = make_run("seeds", [row("cubic"), refused], seeds=2)
    summary = read_json(folder / "summary.json")
    assert summary["faulty"] == {}
    write_json(folder / "summary.json", summary | {"faulty": {"cubic": ["x"]}})
    (run,) = load_runs([folder])
    assert run.sound(run.rows[0]) == (0, 0)
    print_table([folder], Console(width=80))
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "50.0 ± 70.7 (2 seeds) %",
        "calls",
        "replies that are not answers: length 1, refusal 1",
        "pass@1 50.0, pass^1 50.0; pass@2 100.0, pass^2 0.0",
        "without 1 property with a known-faulty reference: - (0/0)",
    ):
        assert words in shown
    board = board_of([run])[0]
    assert board["over seeds %"] == "50.0 ± 70.7 (2 seeds)"
    assert board["without faulty %"] == "- (0/0)"
    assert board["model calls"] == str(summary["calls"])
    assert "| model calls | " in markdown([run])
    assert "without faulty %" not in markdown(
        load_runs(two_runs)
    )  # nothing is known to be faulty
    assert "<th>without faulty %</th>" in page_of([folder], tmp_path)
    lines = list(csv.DictReader(io.StringIO(comma_separated([run]))))
    assert [line["model_calls"] for line in lines] == [
        str(one.calls) for one in run.rows
    ]
    assert [line["sound"] for line in lines] == ["0", "0"]


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "{}", '{"question": 1, "steps": [2]}']
)
def test_a_damaged_trajectory_costs_only_its_own_steps(two_runs, tmp_path, damage):
    trajectory_path(two_runs[0], "cubic", 0).write_text(damage)
    text = page_of(two_runs[:1], tmp_path)
    assert text.count("the record of this answer is damaged") == 1
    assert all(f'id="q-{question}"' in text for question in QUESTIONS)


def test_at_equal_budgets_an_answer_that_took_more_is_wrong(make_run):
    cheap = [row(q, prompt_tokens=99) for q in QUESTIONS]
    dear = [
        row(q, prompt_tokens=99 + 300 * i, calls=1 + i) for i, q in enumerate(QUESTIONS)
    ]
    runs = load_runs(
        [make_run("cheap", cheap), make_run("dear", dear, system={"name": "other"})]
    )
    assert over_budget(runs, "tokens")[0] == (
        ["tokens per answer", "100", "200", "400", "800", "1,600"],
        [
            ["scripted", *["100.0"] * 5],
            ["other", "25.0", "25.0", "50.0", "75.0", "100.0"],
        ],
    )
    assert over_budget(runs, "calls")[0][1][1] == ["other", "25.0", "50.0", "100.0"]
    assert over_budget(runs[:1], "tokens") == (([], []), "")


def test_formulas_are_text_and_numbers_stay_numbers():
    cells = [
        "=1+1",
        "+cmd|'/c calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r\n=1",
        "a\x1b[2Jb",
        " =1",
    ]
    out = io.StringIO()
    csv.writer(out).writerow(map(spreadsheet, cells))
    for cell in next(csv.reader(io.StringIO(out.getvalue()))):
        assert not cell.startswith(("=", "+", "-", "@"))
        assert all(sign.isprintable() for sign in cell)
    for number in (-1.5, -3, "-1.5", "+2", "1e-3", "", "plain text", True):
        assert spreadsheet(number) == number


def test_failures_get_names():
    cases = {
        "None": "is None",
        "missing key": "missing from the dict",
        "[0]: off by 3 % (tolerance 0.1 %)": "number outside the tolerance",
        "expected list of 3, got 2": "wrong length",
        "['a'] is missing": "wrong keys or members",
        "expected int, got str": "wrong type",
        "expected 'Ga', got 'N'": "another value",
    }
    for reason, kind in cases.items():
        assert dict(count_failures([row(**failed(reason))])) == {kind: 1}
    broken = failed(
        "exception: numpy.linalg.LinAlgError: no",
        outcome="exception",
        values={"runnable": 0.0},
    )
    assert dict(count_failures([row(**broken)])) == {"raised LinAlgError": 1}
    assert count_failures([row(), row(**INFRA)]) == {}


def test_infrastructure_is_in_no_denominator_and_unknown_in_every_table(
    two_runs, tmp_path
):
    runs = load_runs(two_runs)
    assert runs[0].summary["answers"] == runs[0].summary["metrics"][0]["total"] == 3
    assert sum(count_failures(runs[0].scored).values()) == 2
    first, second = board_of(runs)
    known = {"system": "scripted", "cost": "unknown", "without verdict": "1 failed"}
    assert {key: first[key] for key in known} == known
    assert first["properties %"].endswith("(1/3)")
    assert second["properties %"] == "100.0 (4/4)"  # no interval of four
    assert [money(cost) for cost in (None, 0.0, 0.25)] == ["unknown", "$0", "$0.2500"]
    ((_, *compared),) = comparisons(runs)[1]
    assert compared == ["3", "66.7", "0.500", "0.500"]  # points, of three questions
    text = page_of(two_runs, tmp_path)
    assert "1 answers failed because a component did" in text
    assert "no verdict" in text


def test_the_commands(two_runs, tmp_path, capsys):
    """A report in every form; one trajectory in a terminal, which it does not control."""
    files = {kind: tmp_path / f"a.{kind}" for kind in ("html", "csv", "md")}
    words = [
        f"html={files['html']}",
        f"answers={files['csv']}",
        f"markdown={files['md']}",
    ]
    page = two_runs[0].parent / "comparison-0.html"
    page.write_text("what a sweep leaves beside its runs")
    assert report_command.main([*map(str, two_runs), str(page), *words]) == 0
    assert "Paired comparisons" in capsys.readouterr().out
    lines = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert len(lines) == 8
    unknown = next(line for line in lines if line["outcome"] == "infra")
    assert (
        unknown["runnable"] == unknown["criteria_passed"] == unknown["cost_usd"] == ""
    )
    table = files["md"].read_text().splitlines()
    assert table[0].startswith("| system |")
    assert len([line for line in table if "| none |" in line]) == 2
    with pytest.raises(UsageError, match="is not a run folder"):
        load_runs([tmp_path])

    assert show([str(two_runs[0]), "cubic", "full=true"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "alert(1)",
        "final code",
        "retrieved 2 documents",
        "checked the returned values",
    ):
        assert words in shown
    assert "\x1b[31m" not in shown
    assert "\x00" not in shown
    assert show([str(two_runs[0]), "nonsense"]) == 2
    assert "cubic-0" in capsys.readouterr().err


def test_scores_are_broken_down_by_what_questions_are_labelled_with(make_run, tmp_path):
    rows = [
        row(
            question,
            labels={"action": "move", "atoms": size},
            **failed("AtomCountMismatch"),
        )
        for question, size in zip(
            QUESTIONS, ("9-16", "1-8", "> 64", "33-64"), strict=True
        )
    ]
    text = page_of([make_run("labelled", rows)], tmp_path)
    assert "<h2>By action</h2>" not in text  # there is only one
    assert (
        "AtomCountMismatch"
        in text.partition("Failure reasons")[2].partition("Questions")[0]
    )
    table = text.partition("<h2>By atoms</h2>")[2].partition("<h2>")[0]
    places = [
        table.index(f"<span>{name}</span>")
        for name in ("1-8", "9-16", "33-64", "&gt; 64")
    ]
    assert places == sorted(places)
