"""Forms of answers: what they ask for, what they read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.answer_formats import MAX_CHARACTERS, Block, Choices, File, Json, Letters, Number, Text

FORMATS = [
    Letters(),
    Choices(),
    Block("cif"),
    File("POSCAR"),
    Text(),
    Number("eV"),
    Json({"a": "text"}),
    Json([{"a": 1}]),
]


@pytest.mark.parametrize(
    ("form", "reply", "value", "status"),
    [
        (Block("cif"), "<cif>\ndata_x\n</cif>", "data_x", "strict"),
        (Block("cif"), "<cif>no</cif> better: <cif>data_x</cif>", "data_x", "strict"),
        (Block("cif"), "Here:\n```\ndata_x\n```", "data_x", "repaired"),
        (Block("cif"), "<think><cif>draft</cif></think><cif>data_x</cif>", "data_x", "repaired"),
        (Block("cif"), "<cif>\n```cif\ndata_x\n```\n</cif>", "data_x", "strict"),
        (Block("cif"), "<cif>```\ndata_x\n```</cif>", "data_x", "strict"),
        (Block("cif"), "<cif>data_x</cif> as the tag <cif> says", "data_x", "strict"),
        (Block("cif"), "<cif>data_x</cif> in `<cif>` and `</cif>`", "data_x", "strict"),
        (Block("cif"), "In <cif> tags: <cif>data_x</cif>", "data_x", "repaired"),
        (File("POSCAR"), "<file>\n```\ncell\n 1.0\n```\n</file>", "cell\n 1.0", "strict"),
        (File("POSCAR"), "<file>cell</file> in <file> tags", "cell", "repaired"),
        (File("POSCAR"), "<file>\n\n 1.0\n</file>", "\n 1.0\n", "strict"),
        (File("a.cif"), "<file>x</file> or\n<file>\ndata_x\n</file>", "data_x\n", "repaired"),
        (File("a.cif"), "```cif\ndata_x\n```", "data_x\n", "repaired"),
        (Number("eV"), "<answer>1.5e-3</answer>", 0.0015, "strict"),
        (Number("eV"), "<answer>1,200 eV</answer>", 1200.0, "repaired"),
        (Number("eV"), "<answer>\N{MINUS SIGN}2 eV</answer>", -2.0, "repaired"),
        (Json({"a": "text"}), '<answer>{"a": 1, "b": 2}</answer>', {"a": 1, "b": 2}, "strict"),
        (Json({"a": "text"}), '```json\n{"a": 1}\n```', {"a": 1}, "repaired"),
        (Json([{"a": "text"}]), '[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}], "repaired"),
        (Json({"a": "text"}), '<answer>{"a": NaN}</answer>', {"a": None}, "strict"),
        (Choices(), "<answer>A, C</answer>", "AC", "strict"),
        (Choices(), "<answer>c a</answer>", "AC", "strict"),
        (Choices(), "<answer>AA</answer> no: <answer>[B, D, B]</answer>", "BD", "repaired"),
        (Choices(), "<answer>ACDA</answer>", "ACD", "strict"),
        (Choices(), "The answer is **B** because of the mirror plane.", "B", "repaired"),
        (Choices(), "A is wrong, so the answers are B and D.", "BD", "repaired"),
        (Choices(), "So \\boxed{\\text{A, B}}", "AB", "repaired"),
        (Choices(), "B", "B", "repaired"),
        (Choices(), "**Answer:** B, D", "BD", "repaired"),
        (Choices(), "Answer: **B**, **D**", "BD", "repaired"),
        (Choices(), "ANSWER: B", "B", "repaired"),
        (Choices(), "The final answer is (B, D).", "BD", "repaired"),
        (Choices(), "So options B and D are correct.", "BD", "repaired"),
        (Choices(), "Statements A, B, and D are all true", "ABD", "repaired"),
        (Choices(), "\\boxed{BD}", "BD", "repaired"),
        (Choices(), "$\\boxed{\\text{B, D}}$", "BD", "repaired"),
        (Choices(), "\\text{B, D}", "BD", "repaired"),
        (Choices(), "<answer>\\text{B, D}</answer>", "BD", "strict"),
        (Choices(), "<answer>**B**, **D**</answer>", "BD", "strict"),
        (Choices(), "<answer>(B), (D)</answer>", "BD", "strict"),
        (Choices(), "<answer>B: inversion, D: mirror</answer>", "BD", "strict"),
        (Choices(), "<answer>B) inversion\nD) mirror</answer>", "BD", "strict"),
        (Choices(), "<answer>The answer is B and D.</answer>", "BD", "strict"),
        (Choices(), "<think><answer>A</answer></think><answer>B</answer>", "B", "repaired"),
        (Text(), "<think>hm</think> It is cubic. ", "It is cubic.", "strict"),
    ],
)
def test_what_is_read(form, reply, value, status):
    found = form.read(reply)
    assert (found.value, found.status) == (value, status)


@pytest.mark.parametrize(
    ("form", "reply"),
    [
        (Block("cif"), "no block at all"),
        (Block("cif"), "<cif></cif>"),
        (File("a.cif"), "<file>" + "\u00e5" * (MAX_CHARACTERS // 2 + 1) + "</file>"),
        (File("a.cif"), "<file>\n \n</file>"),
        (File("a.cif"), "data_x, without any tags"),
        (Number("eV"), "<answer>1e999</answer>"),
        (Number("eV"), "<answer>two</answer>"),
        (Number("eV"), "it is 3"),
        (Json({"a": "text"}), '<answer>{"b": 1}</answer>'),
        (Json({"a": "text"}), "<answer>[1]</answer>"),
        (Json([{"a": "text"}]), '[{"a": 1}, {"b": 2}]'),
        (Json({"a": {"b": "text"}}), '<answer>{"a": 1}</answer>'),
        (Json({}), "[" * 200_000),
        (Json({}), '{"a":' * 1000 + "1" + "}" * 1000),
        (Choices(), "<answer></answer> A"),
        (Choices(), "<answer>A, E</answer>"),
        (Choices(), "<answer>none</answer>"),
        (Choices(), "<answer>bad</answer>"),
        (Choices(), "<answer>not B</answer>"),
        (Choices(), "Options B and D are not correct."),
        (Choices(), "<answer>B: inversion, E: mirror</answer>"),
        (Choices(), "\\boxed{BE}"),
        (Choices(), "The answer is Big."),
        (Choices(), "A holds, and B holds as well, because of the mirror plane."),
        (Choices(), "<answer>" + "A," * 600_000 + "</answer>"),
        (Choices(), "<answer>" + "A," * 1000 + "Z</answer>"),
        (Text(), "x" * (MAX_CHARACTERS + 1)),
        (Text(), "<think>never closed"),
    ],
)
def test_what_is_not_an_answer(form, reply):
    assert form.read(reply) is None


@given(st.text(alphabet='ABCD<answer>/.[]{}":,01 \n*xyz`cif'))
def test_readings_are_plain_data(reply):
    for form in FORMATS:
        found = form.read(reply)
        assert found is None or json.loads(json.dumps(found.value)) == found.value


def test_the_instruction_of_a_format_can_be_followed():
    assert Block("cif").read("<cif>data_x</cif>").status == "strict"
    assert "<cif>" in Block("cif").instruction
    assert "in eV" in Number("eV").instruction
    shape = Json({"a": "what it is"}).instruction
    assert Json({"a": "what it is"}).read(shape).status == "strict"


@pytest.mark.parametrize(
    ("reply", "value", "status"),
    [
        (r'<answer>["\\sigma", "a"]</answer>', ["\\sigma", "a"], "strict"),
        (r'<answer>["\sigma = \frac{1}{2}", "\"q\""]</answer>', ["\\sigma = \frac{1}{2}", '"q"'],
         "repaired"),
        (r'<answer>["\cdot \\cdot"]</answer>', ["\\cdot \\cdot"], "repaired"),
    ],
)  # fmt: skip
def test_latex_with_single_backslashes_is_json_as_it_was_meant(reply, value, status):
    reading = Json(["", ""]).read(reply)
    assert (reading.value, reading.status) == (value, status)
