"""The report of hostile texts: made in linear time, and inert wherever it is opened."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import pytest

from experiments.benchmarks.question_format import QuestionError, data_files
from experiments.report import page
from experiments.report.cells import spreadsheet
from experiments.report.steps import REPEATED, describe_steps


def prompt_step(text: str) -> dict[str, object]:
    return {"kind": "model", "purpose": "p", "messages": [{"role": "human", "content": text}]}


def last_prompt(*texts: str) -> str:
    described = describe_steps([prompt_step(text) for text in texts])
    return str(described[-1]["blocks"][-1]["text"])


def test_repeated_lines_are_pointed_at() -> None:
    document = "\n".join(f"line {number}" for number in range(2 * REPEATED))
    short = "\n".join(f"line {number}" for number in range(REPEATED - 1))
    assert (
        last_prompt(document, f"new\n{document}\nend")
        == f"new\n[{2 * REPEATED} lines as in step 1]\nend"
    )
    pointer = f"[{2 * REPEATED} lines as in step 1]"
    assert last_prompt(document, f"new\n{document}\nend") == f"new\n{pointer}\nend"
    assert last_prompt(document, f"new\n{short}\nend") == f"new\n{short}\nend"
    first, second = document.splitlines()[:REPEATED], document.splitlines()[REPEATED:]
    swapped = "\n".join([*second, "between", *first])
    pointer = f"[{REPEATED} lines as in step 1]"
    assert last_prompt(document, swapped) == f"{pointer}\nbetween\n{pointer}"


@pytest.mark.parametrize("line", ["", "same", " ", "a b c"])
def test_many_equal_lines_take_no_time(line: str) -> None:
    text = "\n".join([line] * 50_000)
    started = time.process_time()
    describe_steps([prompt_step(text), prompt_step(f"{text}\nx\n{text}")])
    page._diff(text, text + "\nmore")
    page._diff("\n".join([line] * 999), "\n".join([line] * 900 + ["x"] * 99))
    assert time.process_time() - started < 20


def test_formulas_are_text_and_numbers_stay_numbers() -> None:
    cells = ["=1+1", "+cmd|'/c calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r\n=1", "a\x1b[2Jb", " =1"]
    out = io.StringIO()
    csv.writer(out).writerow(map(spreadsheet, cells))
    for cell in next(csv.reader(io.StringIO(out.getvalue()))):
        assert not cell.startswith(("=", "+", "-", "@"))
        assert all(sign.isprintable() for sign in cell)
    for number in (-1.5, -3, "-1.5", "+2", "1e-3", "", "plain text", True):
        assert spreadsheet(number) == number


def test_a_link_of_a_question_reads_no_file_of_the_host(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("k")
    for name, (link, target) in {
        "file": ("data/POSCAR", secret / "key"),
        "folder": ("data/more", secret),
        "data": ("data", secret),
    }.items():
        path = tmp_path / name / link
        path.parent.mkdir(parents=True)
        path.symlink_to(target)
        with pytest.raises(QuestionError, match="is a link"):
            data_files(tmp_path / name)
    honest = tmp_path / "honest" / "data"
    honest.mkdir(parents=True)
    (honest / "POSCAR").write_text("x")
    (honest / "CONTCAR").symlink_to("POSCAR")
    assert sorted(data_files(tmp_path / "honest")) == ["data/CONTCAR", "data/POSCAR"]
