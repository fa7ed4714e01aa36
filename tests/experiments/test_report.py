"""Tables and the page, from real runs; hostile text stays text."""

import csv
import html.parser
import io
import re

import pytest

from experiments.config import ConfigError
from experiments.report import __main__ as report_command
from experiments.report import write_report
from experiments.report.cells import money
from experiments.report.runs import load_runs
from experiments.report.steps import describe_steps
from experiments.report.tables import comma_separated, comparisons, leaderboard, markdown
from experiments.report.taxonomy import count_failures
from experiments.show import main as show
from experiments.store import Store, write_json
from experiments.summary import summarise
from tests.experiments.test_store import INFRA, row
from tests.experiments.tiny import TinyBenchmark

QUESTIONS = ("cubic", "formula", "lists", "plain")
HOSTILE = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\x00\ud800"


class Page(html.parser.HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in {"meta", "input", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def trajectory(question, code="def f():\n    return {'x': 1}\n", **changes):
    return {
        "question": {"id": question, "prompt": f"Prompt {HOSTILE}", "formats": {"x": "int"}},
        "seed": 0,
        "steps": [
            {"kind": "retrieve", "retriever": "r", "query": HOSTILE,
             "hits": [{"id": "1", "name": HOSTILE, "score": 0.5}, {"name": None, "score": None}]},
            {"kind": "model", "purpose": HOSTILE, "reply": HOSTILE,
             "messages": [{"role": "human", "content": HOSTILE}]},
            {"kind": "parse", "status": "strict"},
            {"kind": "check", "findings": [HOSTILE]},
            {"kind": "execute", "outcome": "exception", "error": HOSTILE, "seconds": 0.1},
            {"kind": HOSTILE, "more": HOSTILE},
        ],
        "code": code + f"# {HOSTILE}\n",
        "stop_reason": "answered",
        "error": None,
        "execution": {"outcome": "ok", "result": HOSTILE, "stdout": HOSTILE, "stderr": "",
                      "error": None, "seconds": 0.1, "tier": "bubblewrap"},
        "verdict": {"passed": {"x": True}, "reasons": {"x": HOSTILE}},
    } | changes  # fmt: skip


@pytest.fixture
def make_run(tmp_path, configure):
    def make(name, rows, **changes):
        config = configure(out=str(tmp_path / name), **changes)
        questions = {r.question_id for r in rows}
        tasks = [task for task in TinyBenchmark().load() if task.question.id in questions]
        with Store(tmp_path / name, "h", config.plain()) as store:
            for one in rows:
                store.append(one, trajectory(one.question_id, seed=one.seed))
            summary = summarise(
                config, config_hash="h", llm=True, tasks=tasks, rows=store.lines(), packages={}
            )
        write_json(tmp_path / name / "summary.json", summary)
        return tmp_path / name

    return make


def failed(reason, **changes):
    return {"passed": {"x": False}, "reasons": {"x": reason}} | changes


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
            runnable=False,
        ),
    ]
    second = [row(question) for question in ("cubic", "formula", "lists", "plain")]
    return [
        make_run("first", first),
        make_run("second", second, system={"name": "other"}),
    ]


def test_the_page_is_well_formed_and_hostile_text_stays_text(two_runs, tmp_path):
    write_report(two_runs[:1], two_runs[0] / "report.html")
    for runs in (two_runs[:1], two_runs):
        write_report(runs, tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text()
        page = Page(text)
        assert page.open == []
        assert not page.tags & {"script", "img", "iframe", "object", "link", "base", "form"}
        assert not [a for a in page.attributes if a[1].startswith("on") or a[1] in {"src", "style"}]
        links = {a[2] for a in page.attributes if a[1] == "href"}
        assert links <= {f"first/report.html#q-{question}" for question in QUESTIONS}
        assert "alert(1)" in text
        assert ("meta", "http-equiv", "Content-Security-Policy") in page.attributes
        assert "default-src 'none'; style-src 'sha256-" in text
        assert not re.search(r"https?://", text)


def test_the_page_says_what_is_not_counted(two_runs, tmp_path):
    write_report(two_runs, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "1 answers failed for reasons of ours" in text
    assert "no verdict" in text


def test_numbers_of_the_leaderboard(two_runs):
    runs = load_runs(two_runs)
    first, second = leaderboard(runs)
    assert first[0] == "scripted"
    assert first[7] == "1/3"
    assert first[9] == "unknown"
    assert first[11] == "1 failed"
    assert second[5] == "100.0 [100.0, 100.0]"
    (pair,) = comparisons(runs)
    assert pair.questions == 3
    assert pair.difference.estimate == pytest.approx(2 / 3)
    assert pair.permutation == pytest.approx(0.5)
    assert pair.mcnemar == pytest.approx(0.5)


def test_infrastructure_is_not_in_any_denominator(two_runs):
    (run, _) = load_runs(two_runs)
    assert run.summary["answers"] == 3
    assert run.summary["properties_total"] == 3
    assert sum(count_failures(run.scored).values()) == 2


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
    broken = failed("exception: numpy.linalg.LinAlgError: no", outcome="exception", runnable=False)
    assert dict(count_failures([row(**broken)])) == {"raised LinAlgError": 1}
    assert count_failures([row(), row(**INFRA)]) == {}


def test_csv_has_every_answer_and_blanks_for_unknown(two_runs):
    lines = list(csv.DictReader(io.StringIO(comma_separated(load_runs(two_runs)))))
    assert len(lines) == 8
    unknown = next(line for line in lines if line["outcome"] == "infra")
    assert unknown["runnable"] == unknown["properties_passed"] == unknown["cost_usd"] == ""


def test_markdown_has_one_line_per_run(two_runs):
    text = markdown(load_runs(two_runs))
    assert text.splitlines()[0].startswith("| system |")
    assert len([line for line in text.splitlines() if "rules" in line]) == 2


def test_money():
    assert money(None) == "unknown"
    assert money(0.0) == "$0"
    assert money(0.25) == "$0.2500"


def test_the_command(two_runs, tmp_path, capsys):
    written = [f"--html={tmp_path / 'a.html'}", f"--csv={tmp_path / 'a.csv'}"]
    written.append(f"--markdown={tmp_path / 'a.md'}")
    assert report_command.main([*map(str, two_runs), *written]) == 0
    assert "Paired comparisons" in capsys.readouterr().out
    assert all((tmp_path / f"a.{kind}").stat().st_size for kind in ("html", "csv", "md"))
    assert report_command.main([str(tmp_path)]) == 2
    assert "is not a run folder" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="is not a run folder"):
        load_runs([tmp_path])


def test_show_prints_one_trajectory_and_controls_nothing(two_runs, capsys):
    assert show([str(two_runs[0]), "cubic", "--full"]) == 0
    shown = capsys.readouterr().out
    assert "alert(1)" in shown
    assert "final code" in shown
    assert "\x1b[31m" not in shown
    assert "\x00" not in shown
    assert show([str(two_runs[0]), "nonsense"]) == 2
    assert "cubic-0" in capsys.readouterr().err


def test_a_prompt_does_not_repeat_what_stood_in_the_one_before():
    common = "\n".join(f"line {number}" for number in range(40))
    steps = [
        {"kind": "model", "messages": [{"role": "human", "content": f"first\n{common}"}]},
        {"kind": "check", "findings": []},
        {"kind": "model", "messages": [{"role": "human", "content": f"{common}\nlast"}]},
    ]
    first, _, last = describe_steps(steps)
    assert first["blocks"][0]["text"] == f"first\n{common}"
    assert last["blocks"][0]["text"] == "[40 lines as in step 1]\nlast"
