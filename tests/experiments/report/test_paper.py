"""What of a report goes into a paper: names, tests, LaTeX, CSV, figures, text."""

import csv
import re
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.files import read_json, write_json
from experiments.report.command import main as report
from experiments.report.figures import write_figure
from experiments.report.labels import run_names
from experiments.report.latex import escape_latex, latex_table
from experiments.report.published import beside_published, published_tables
from experiments.report.runs import has_intervals, load_runs
from experiments.stats import holm
from tests.support.rows import QUESTIONS, failed, row

WRONG = failed("1 is not 2")


def described(**changes):
    system = {"name": "reflect", "feedback_critic": True, "_target_": "a:B"}
    plain = {
        "system": "reflect",
        "retrieval": "none",
        "model": "m",
        "benchmark": "live",
    }
    config = {"system": system | changes, "out": f"runs/{len(changes)}"}
    return plain | {"config": config}


def test_two_rows_of_an_ablation_are_named_by_what_was_switched():
    names = run_names([described(), described(feedback_critic=False)], ["a", "b"])
    assert [name.label for name in names] == [
        "reflect (feedback_critic on)",
        "reflect (feedback_critic off)",
    ]
    assert [name.distinction for name in names] == [
        "feedback_critic on",
        "feedback_critic off",
    ]


def with_reranker(**reranker):
    plain = described()
    return plain | {"config": plain["config"] | {"reranker": reranker or None}}


def test_a_choice_is_named_and_its_keys_where_they_differ_besides():
    near = {"name": "proximity", "_target_": "a:B"}
    pair = [with_reranker(), with_reranker(**near, weight=1)]
    assert [name.distinction for name in run_names(pair, ["a", "b"])] == [
        "reranker none",
        "reranker proximity",
    ]
    three = [*pair, with_reranker(**near, weight=2)]
    assert [name.distinction for name in run_names(three, ["a", "b", "c"])] == [
        "reranker none, weight none",
        "reranker proximity, weight 1",
        "reranker proximity, weight 2",
    ]


def test_at_80_columns_no_name_is_cut(make_run, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    folders, model = [], "a-vendor-with-a-long-name/model-instruct-2026-11-variant-"
    for variant in "AB":
        folder = make_run(f"run-{variant}", [row(name) for name in QUESTIONS])
        summary = read_json(folder / "summary.json")
        write_json(folder / "summary.json", summary | {"model": model + variant})
        folders.append(str(folder))
    assert report([*folders, f"html={tmp_path / 'page.html'}"]) == 0
    printed = capsys.readouterr().out
    assert "…" not in printed
    letters = re.sub(
        r"[^\w/-]",
        "",
        "".join(
            line.split("│")[1] for line in printed.splitlines() if line.startswith("│")
        ),
    )
    assert model + "A" in letters
    assert model + "B" in letters


def test_runs_of_one_configuration_are_named_by_their_folders():
    names = run_names([described(), described()], ["first", "second"])
    assert [name.label for name in names] == ["reflect (first)", "reflect (second)"]


def test_a_value_that_is_chosen_stands_in_terminal_page_and_table(
    make_run,
    tmp_path,
    capsys,
):
    folders = []
    for critic in (True, False):
        folder = make_run(f"run-{critic}", [row(name) for name in QUESTIONS])
        summary = read_json(folder / "summary.json")
        summary["config"]["system"]["feedback_critic"] = critic
        write_json(folder / "summary.json", summary)
        folders.append(str(folder))
    page, table = tmp_path / "page.html", tmp_path / "t.tex"
    assert report([*folders, f"html={page}", "--latex", str(table)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for text in (printed, page.read_text()):
        assert "feedback_critic" in text
    assert r"feedback\_critic off" in table.read_text()


def test_p_values_are_corrected_after_holm():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.02, None, 0.9]) == [pytest.approx(0.04), None, pytest.approx(0.9)]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_corrected_values_are_larger_and_in_the_same_order(values):
    corrected = holm(values)
    assert all(a <= b <= 1 for a, b in zip(values, corrected, strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    ranked = [corrected[place] for place in order]
    assert ranked == sorted(ranked)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a_b & c%", r"a\_b \& c\%"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("5.0 ± 1", r"5.0 $\pm$ 1"),
        ("< 0.001", r"$<$ 0.001"),
        ("~^#$", r"\textasciitilde{}\textasciicircum{}\#\$"),
    ],
)
def test_text_is_no_latex(text, printed):
    assert escape_latex(text) == printed


@pytest.fixture
def outputs(make_run, tmp_path, capsys):
    """Two runs, and every file of their report."""
    good = make_run("good", [row(name, labels={"area": "slabs"}) for name in QUESTIONS])
    bad = make_run(
        "bad",
        [row(QUESTIONS[0]), *(row(name, **WRONG) for name in QUESTIONS[1:])],
        system={"name": "other"},
    )
    files = {
        kind: tmp_path / f"x.{kind}" for kind in ("tex", "svg", "pdf", "png", "csv")
    }
    words = [f"latex={files['tex']}", f"csv={files['csv']}"]
    words += [f"{kind}={files[kind]}" for kind in ("svg", "pdf", "png")]
    words += [f"html={tmp_path / 'x.html'}", "width=3.4", "--methods"]
    assert report([str(good), str(bad), *words]) == 0
    return files, capsys.readouterr().out


def test_latex_and_csv_have_intervals_and_tests(outputs):
    files, _ = outputs
    table = files["tex"].read_text()
    for told in (r"\toprule", r"\bottomrule", "$p$ (Holm)", r"runnable \%"):
        assert told in table
    assert "confidence interval" not in table  # of four questions there is none
    assert table.count(r"\begin{tabular}") == table.count(r"\end{tabular}") == 2
    lines = list(csv.DictReader(files["csv"].read_text().splitlines()))
    kinds = {
        kind: [x for x in lines if x["kind"] == kind] for kind in ("run", "comparison")
    }
    assert {line["run"] for line in kinds["run"]} == {"scripted", "other"}
    (test,) = kinds["comparison"]
    assert (test["run"], test["compared_with"]) == ("other", "scripted")
    assert float(test["p_holm"]) >= float(test["p"]) > 0
    assert float(test["value"]) < 0


def test_figures_are_as_wide_as_a_column_and_name_their_axis(outputs):
    files, _ = outputs
    picture = files["png"].read_bytes()
    width, _ = struct.unpack(">II", picture[16:24])
    assert width == round(3.4 * 300)
    assert files["pdf"].read_bytes().startswith(b"%PDF-")
    drawn = files["svg"].read_text()
    for told in ("properties (%)", "scripted", "other"):
        assert told in drawn
    assert "confidence interval" not in drawn  # of four questions there is none


def test_the_text_for_a_methods_section_names_what_was_used(outputs):
    _, printed = outputs
    text = " ".join(printed.split())
    for told in ("with seeds 0", "Limits per question", "answers were scored", "Holm"):
        assert told in text


def test_a_single_run_has_a_figure_on_its_page(make_run, tmp_path):
    rows = [row(name, labels={"area": name}) for name in QUESTIONS]
    folder = make_run("one", rows)
    assert report([str(folder), f"html={tmp_path / 'one.html'}"]) == 0
    page = (tmp_path / "one.html").read_text()
    assert "<h2>At a glance</h2>" in page
    assert "data:image/svg+xml;base64," in page


def test_a_figure_of_another_format_is_refused(make_run, tmp_path, capsys):
    folder = make_run("one", [row(QUESTIONS[0])])
    assert report([str(folder), f"svg={tmp_path / 'a.png'}"]) == 2
    assert "ends in .svg" in capsys.readouterr().err


def test_published_figures_are_shares_with_a_source_and_what_differs():
    for benchmark in (
        "mattools",
        "mattools_qa",
        "atomworld",
        "curie",
        "omnimatbench",
        "qmbench",
    ):
        tables = published_tables(benchmark)
        assert tables
        for table in tables:
            assert table.source
            assert table.table
            assert table.differs
            assert all(0 <= figure <= 100 for figure in table.rows.values())
    assert published_tables("live") == []


def test_a_run_stands_beside_the_published_figures_of_its_metric(make_run):
    scored = {"runnable": 1.0, "score": 0.5}
    folder = make_run("one", [row(name, values=scored) for name in QUESTIONS])
    summary = read_json(folder / "summary.json")
    summary["benchmark"] = "qmbench"
    summary["metrics"].append(
        summary["metrics"][2] | {"name": "score", "title": "score"}
    )
    write_json(folder / "summary.json", summary)
    _, lines = beside_published(load_runs([folder]))
    ours, best, *_ = lines
    assert ours[:4] == ["score", "scripted", "50.0", "4"]
    assert best[:2] == ["score", "GPT-5"]
    assert "arXiv" in best[4]
    assert "not released" in best[5]
    assert {line[0] for line in lines} == {"score"}  # none without images


def test_intervals_are_named_where_there_are_some(make_run, tmp_path):
    (few,) = load_runs([make_run("few", [row(name) for name in QUESTIONS])])
    more = tuple(row(f"{name}{n}") for name in QUESTIONS for n in range(2))
    many = replace(few, rows=more)
    assert not has_intervals([few])
    assert has_intervals([few, many])
    table = latex_table([many])
    assert "95\\,\\% confidence interval" in table
    assert re.search(r"100\.0 \[\d+\.\d, 100\.0\]", table)
    write_figure([many], tmp_path / "many.svg", 3.4)
    drawn = (tmp_path / "many.svg").read_text()
    assert "properties (%), 95 % confidence interval" in drawn
