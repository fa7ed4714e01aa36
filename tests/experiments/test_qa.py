"""MatTools QA: letters and files."""

import json
from collections import Counter

import pytest

from agents.answer_formats import Letters
from experiments.benchmarks.mattools.qa import (
    LETTERS,
    SAMPLE,
    QAError,
    answering_prompt,
    read_questions,
)

CHOICES = {"A": "norm", "B": "inv", "C": "dot", "D": "det"}
QUESTION = {"question": "x = np.[MASK](y)", "choices": CHOICES, "correct_answer": "A",
            "kind": "code", "source": "a.py/f"}  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "strict", "lenient"),
    [
        ("<answer>B</answer>", "B", "B"),
        ("\n <answer> B </answer>\n", "B", "B"),
        ("<answer>b</answer>", None, "B"),
        ("<answer>B. inv</answer>", None, "B"),
        ("I think so. <answer>C</answer>", None, "C"),
        ("<answer>C</answer> or <answer>D</answer>", None, "D"),
        ("<answer>C", None, "C"),
        ("B", None, "B"),
        ("(D)", None, "D"),
        ("**C**", None, "C"),
        ("B. inv", None, "B"),
        ("The answer is C.", None, "C"),
        ("The correct answer: D", None, "D"),
        ("Not A; the answer is B", None, "B"),
        (r"So \boxed{C}", None, "C"),
        ("A or B", None, None),
        ("A norm is what one needs here", None, None),
        ("Cannot say", None, None),
        ("", None, None),
        ("Answer your answer here", None, None),
    ],
)
def test_letters(reply, strict, lenient):
    found = Letters().read(reply)
    assert (found and found.value) == lenient
    assert (found is not None and found.status == "strict") == (strict is not None)


def test_the_prompt_gives_each_letter_once():
    lettered = {key: f"{key}. {text}" for key, text in CHOICES.items()}
    for choices in (CHOICES, lettered):
        prompt = answering_prompt({"question": "What?", "choices": choices})
        assert all(prompt.count(f"<choice>{key}. {CHOICES[key]}</choice>") == 1 for key in LETTERS)


def test_files_in_every_form_give_the_same_questions(tmp_path):
    plain = [QUESTION | {"question": f"{i} [MASK] ü" * 5} for i in range(30)]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in plain))
    array = tmp_path / "array.json"
    array.write_text(json.dumps(plain, indent=2, ensure_ascii=False))
    published = tmp_path / "published.json"
    source = {"metadata": {"code_source_file": "a.py", "name": "f"}, "page_content": "]," * 9}
    bare = [{key: row[key] for key in ("question", "choices", "correct_answer")} for row in plain]
    published.write_text(json.dumps([{"source": source, "questions": bare[:5]},
                                     {"source": source, "questions": bare[5:]}]))  # fmt: skip
    first = list(read_questions(lines))
    assert len(first) == 30
    assert list(read_questions(array)) == first
    found = list(read_questions(published))
    assert [q["question"] for q in found] == [q["question"] for q in first]
    assert found[0] == first[0] | {"kind": ""}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"question": "x"}\n', "json:1: not a question"),
        ('[{"question": "x"}]', "item 1"),
        ("[1, 2", "json:1: is no JSON"),
        (json.dumps(QUESTION | {"correct_answer": "Z"}) + "\n", "not a letter"),
        ("not json\n", "json:1: is no JSON"),
    ],
)
def test_faults_of_a_file_are_named(tmp_path, text, where):
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(QAError, match=where):
        list(read_questions(path))


def test_the_shipped_sample_is_valid_and_its_letters_are_spread():
    questions = list(read_questions(SAMPLE))
    assert len(questions) == 300
    assert {tuple(one["choices"]) for one in questions} == {LETTERS}
    assert {len(set(one["choices"].values())) for one in questions} == {4}
    assert all("[MASK]" in one["question"] for one in questions if one["kind"] == "code")
    counts = Counter(one["correct_answer"] for one in questions)
    assert min(counts.values()) > 0.8 * 300 / len(LETTERS)
