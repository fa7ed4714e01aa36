"""MatTools QA: letters, files, generated questions, questions by rules."""

import json
import re
from collections import Counter

import pytest

from agents.answer_formats import Letters
from docgen.library import build_library
from docgen.sources import SourceFile
from experiments.benchmarks.mattools.qa.questions import (
    LETTERS,
    MASK,
    QAError,
    QAQuestion,
    fault,
    read_questions,
)
from experiments.benchmarks.mattools.qa.rules import RulesWriter
from experiments.benchmarks.mattools.qa.wording import (
    answering_prompt,
    generation_prompt,
    read_generated,
)

CHOICES = {"A": "norm", "B": "inv", "C": "dot", "D": "det"}
QUESTION = QAQuestion(f"x = np.{MASK}(y)", CHOICES, "A", "code", "a.py/f")


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
        prompt = answering_prompt(QAQuestion("What?", choices, "A"))
        assert all(prompt.count(f"<choice>{key}. {CHOICES[key]}</choice>") == 1 for key in LETTERS)


@pytest.mark.parametrize(
    ("changes", "kind", "reason"),
    [
        ({}, "code", None),
        ({"question": "x = y"}, "code", "MASK"),
        ({"choices": CHOICES | {"B": " norm "}}, "code", "distinct"),
        ({"choices": {"A": "x"}}, "code", "exactly the choices"),
        ({"correct_answer": "E"}, "code", "one letter"),
        ({"question": " "}, None, "empty"),
        ({"question": "According to the given document, what is x?"}, "doc", "document"),
        ({"question": "What documents a class?"}, "doc", None),
    ],
)
def test_validation(changes, kind, reason):
    found = fault(QAQuestion(**(vars(QUESTION) | changes)), kind=kind)
    assert found is None if reason is None else reason in found


def block(number, question, choices, answer):
    listed = "\n".join(f"<choice>{choice}</choice>" for choice in choices)
    return (
        f"<question{number}>{question}</question{number}>\n<answer_choices{number}>\n{listed}\n"
        f"</answer_choices{number}>\n<correct_answer{number}>{answer}</correct_answer{number}>\n"
    )


def test_replies_of_a_generator():
    good = ["A. norm", "B. inv", "C. dot", "D. det"]
    reply = (
        block(1, f"np.{MASK}(x)", good, "A")
        + block(2, "no mask", good, "A")
        + block(3, f"{MASK} twice", ["A. x", "B. x", "C. y", "D. z"], "A")
        + block(4, f"{MASK} not a letter", good, "norm")
        + block(5, f"{MASK} letter with text", good, "C. dot")
    )
    valid, rejected = read_generated(reply, kind="code", source="a.py/f")
    assert [(q.choices["B"], q.correct_answer) for q in valid] == [("inv", "A"), ("inv", "C")]
    assert len(rejected) == 3
    assert read_generated("I cannot.", kind="code", source="")[1]
    assert "a/b.py" in generation_prompt(
        "code", package="lib", path="a/b.py", content="def f(): {path}"
    )


def test_files_in_every_form_give_the_same_questions(tmp_path):
    plain = [vars(QUESTION) | {"question": f"{i} {MASK} ü" * 50} for i in range(3000)]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in plain))
    array = tmp_path / "array.json"
    array.write_text(json.dumps(plain, indent=2, ensure_ascii=False))
    published = tmp_path / "published.json"
    source = {"metadata": {"code_source_file": "a.py", "name": "f"}, "page_content": "]," * 999}
    bare = [{key: row[key] for key in ("question", "choices", "correct_answer")} for row in plain]
    published.write_text(json.dumps([{"source": source, "questions": bare[:5]},
                                     {"source": source, "questions": bare[5:]}]))  # fmt: skip
    first = list(read_questions(lines))
    assert len(first) == 3000
    assert list(read_questions(array)) == first
    found = list(read_questions(published))
    assert [(q.question, q.choices) for q in found] == [(q.question, q.choices) for q in first]
    assert found[0].source == "a.py/f"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"question": "x"}\n', "line 1"),
        ('[{"question": "x"}]', "item 1"),
        ("[1, 2", "line 1 column"),
        (json.dumps(vars(QUESTION) | {"correct_answer": "Z"}) + "\n", "not a letter"),
        ("not json\n", "line 1"),
    ],
)
def test_faults_of_a_file_are_named(tmp_path, text, where):
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(QAError, match=where):
        list(read_questions(path))


# --- rules -------------------------------------------------------------------------------------

SOURCE = '''
"""A module."""
import numpy as np


def volume(cell: list[float]) -> float:
    """Compute the volume of a cell."""
    return float(np.linalg.det(cell))


def area(cell: list[float], plane: int) -> float:
    """Compute the area of a face of it."""
    return np.linalg.norm(np.cross(cell[0], cell[1]))


def inverse(matrix: list[float]) -> np.ndarray:
    """Invert a matrix of the metric kind."""
    return np.linalg.inv(matrix) + np.linalg.pinv(matrix)


def density(mass: float, cell: list[float]) -> float:
    """Divide a mass by a volume of space."""
    # µ is no ASCII
    x = "µµ"; result = mass / volume(cell)
    return result


def diameter(cell: list[float]) -> str:
    """Find the longest distance in a body."""
    return str(np.linalg.svd(cell))
'''


def library():
    return build_library([SourceFile("lib", "lib.py", "lib", "1", SOURCE, False)])


def test_rules_mask_what_was_called_and_take_the_rest_from_its_namespace():
    found = library()
    writer = RulesWriter(found)
    questions = [q for symbol in found.symbols.values() for q in writer.questions(symbol)]
    for question in questions:
        assert fault(question, kind=question.kind) is None
    code = {q.source: q for q in questions if q.kind == "code"}
    masked = code["lib.py/lib.volume"]
    assert masked.choices[masked.correct_answer] == "det"
    assert set(masked.choices.values()) <= {"det", "norm", "inv", "pinv", "svd"}
    assert f"np.linalg.{MASK}(cell)" in masked.question
    assert f"{MASK} = " not in masked.question
    assert f"mass / {MASK}(cell)" in code["lib.py/lib.density"].question
    doc = {q.choices[q.correct_answer] for q in questions if q.kind == "doc"}
    assert doc >= {"Compute the volume of a cell.", "density", "cell"}
    # The description names it: no question.
    assert not any("is for this: Compute the volume" in q.question for q in questions)
    for question in questions:  # no choice is told by the question
        words = set(re.findall(r"\w+", question.question))
        assert not words & set(question.choices.values()), question


USES = '''
"""A module."""
import logging
logger = logging.getLogger()


class Cell:
    """A cell of a crystal."""

    def __init__(self, sites, volume, mass, charge, label):
        self.sites, self.volume, self.mass = sites, volume, mass
        self.charge, self.label = charge, label

    def density(self):
        """Divide the mass of it by what it fills.

        The mass is in grams.
        """
        logger.info("dividing")
        return self.mass / self.span()

    def span(self):
        """Tell how much room it takes."""
        return self.volume

    def shift(self, vector):
        """Args: vector."""
        return self.turn(self.span())

    def turn(self, angle):
        """Turn all sites by an angle."""
        return self.stretch(angle)

    def stretch(self, factor):
        """Stretch it along its axis."""
        return self.shift(factor)
'''


def test_rules_leave_no_trace_of_the_answer():
    found = build_library([SourceFile("lib", "lib.py", "lib", "1", USES, False)])
    writer = RulesWriter(found)
    questions = [q for symbol in found.symbols.values() for q in writer.questions(symbol)]
    answers = {(q.source.rpartition(".")[2], q.choices[q.correct_answer]): q for q in questions
               if q.kind == "code"}  # fmt: skip
    attribute = answers["density", "mass"]
    # Masked in the docstring as well; wrong choices are attributes, not methods.
    assert attribute.question.count(MASK) == 4
    assert set(attribute.choices.values()) < {"sites", "volume", "mass", "charge", "label"}
    call = answers["turn", "stretch"]
    assert set(call.choices.values()) <= {"density", "span", "shift", "stretch"}
    assert not any(name in ("info", "getLogger") for _, name in answers)  # any level would do
    assert not any("Args" in text for q in questions for text in q.choices.values())


def test_rules_are_deterministic_and_spread_the_letters():
    first, second = (
        [q for symbol in lib.symbols.values() for q in RulesWriter(lib).questions(symbol)]
        for lib in (library(), library())
    )
    assert first == second
    assert len(Counter(q.correct_answer for q in first)) == 4
