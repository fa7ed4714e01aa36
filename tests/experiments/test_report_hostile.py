"""The report of hostile texts: made in linear time, and inert wherever it is opened."""

import csv
import io
import time

import pytest

from experiments.benchmarks.question_format import QuestionError, data_files
from experiments.report.cells import spreadsheet
from experiments.report.texts import Texts


@pytest.mark.parametrize("line", ["", "same", " ", "a b c"])
def test_many_equal_lines_take_no_time(line):
    text = "\n".join([line] * 50_000)
    started = time.process_time()
    Texts().add(f"{text}\nx\n{text}")
    assert time.process_time() - started < 20


def test_formulas_are_text_and_numbers_stay_numbers():
    cells = ["=1+1", "+cmd|'/c calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r\n=1", "a\x1b[2Jb", " =1"]
    out = io.StringIO()
    csv.writer(out).writerow(map(spreadsheet, cells))
    for cell in next(csv.reader(io.StringIO(out.getvalue()))):
        assert not cell.startswith(("=", "+", "-", "@"))
        assert all(sign.isprintable() for sign in cell)
    for number in (-1.5, -3, "-1.5", "+2", "1e-3", "", "plain text", True):
        assert spreadsheet(number) == number


def test_a_link_of_a_question_reads_no_file_of_the_host(tmp_path):
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
