"""Reading replies: the contract, its repairs, the other forms, and what is refused."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.answer import (
    MAX_CODE_CHARACTERS,
    CodeAnswer,
    UnreadableError,
    read_answer,
    same_code,
)
from agents.answer_formats import (
    MAX_CHARACTERS,
    Block,
    Choices,
    File,
    Json,
    Letters,
    Number,
    Reading,
    Text,
)
from tests.support.samples import table

CODE = "import math\n\ndef area():\n    return {'area': math.pi}"
STRICT = f"<answer><code>```python\n{CODE}\n```</code><name>area</name></answer>"


TWO = "def a():\n    return {}\n\ndef b():\n    return {}\n\ndef c(x):\n    return {}"
IMPORTS, FUNCTION = CODE.split("\n\n")
FENCES = f"```python\n{IMPORTS}\n```\n```python\n{FUNCTION}\n```"
TAGS = f"<code>{IMPORTS}</code><code>{FUNCTION}</code>"
FIRST = CODE.replace("math.pi", "math.no_such")
INNER = 'def f():\n    """Like\n    ```\n    f()\n    ```\n    """\n    return {}'
SKETCH = (
    "<answer><code>```python\ndef sketch():\n    return None\n```</code>"
    "<name>sketch</name></answer>"
)
#: What was only thought, before the answer.
THOUGHTS = [
    f"<think>First {SKETCH}, or not</think>",
    f"<Thinking>{SKETCH}</Thinking>\n",
    f"{SKETCH} no, that is wrong</think>",  # opened by the chat template
    f"<reasoning>maybe <think>{SKETCH}</reasoning>",
    f"{SKETCH}\nThat is wrong. Again:\n",
]

#: Reply; code, entry and status of what is read in it.
READ = [
    (f"Here it is.\n{STRICT}\nDone.", CODE, "area", "strict"),
    (f"Sure!\n```python\n{CODE}\n```\nHope that helps", CODE, "area", "repaired"),
    (f"<code>\n{CODE}\n</code>\n<name>area()</name>", CODE, "area", "repaired"),
    # Of several functions the named one is called, else the last that can be.
    (f"<code>\n{TWO}\n</code><name>a</name>", TWO, "a", "repaired"),
    (f"<code>\n{TWO}\n</code><name>b</name>", TWO, "b", "repaired"),
    (f"<code>\n{TWO}\n</code><name>c</name>", TWO, "b", "repaired"),
    (f"<code>\n{TWO}\n</code><name>none</name>", TWO, "b", "repaired"),
    (f"```python\n{TWO}\n```", TWO, "b", "repaired"),
    # Strictly the sketch would be the answer.
    *((f"{thought}{STRICT}", CODE, "area", "repaired") for thought in THOUGHTS),
    (f"<think>simple</think>{STRICT}", CODE, "area", "strict"),
    (f"{STRICT}\n<think>Was that right? {SKETCH}", CODE, "area", "strict"),
    # Code blocks of one answer are one program; what is written again replaces its first version.
    (f"First:\n{FENCES}\nRun:\n```bash\npip install x\n```", CODE, "area", "repaired"),
    (
        f"<answer><code>{FENCES}</code><name>area</name></answer>",
        CODE,
        "area",
        "repaired",
    ),
    (f"<answer>{TAGS}<name>area</name></answer>", CODE, "area", "repaired"),
    (
        f"```python\n{FIRST}\n```\nBetter:\n```python\n{CODE}\n```",
        CODE,
        "area",
        "repaired",
    ),
    (
        f"<answer><code>```python\n{INNER}\n```</code><name>f</name></answer>",
        INNER,
        "f",
        "strict",
    ),
    # A syntax error is an answer that will not run.
    (
        "<answer><code>```python\ndef f(:\n```</code><name>f</name></answer>",
        "def f(:",
        "f",
        "strict",
    ),
]


@pytest.mark.parametrize(("reply", "code", "entry", "status"), READ)
def test_what_is_read(reply, code, entry, status):
    assert read_answer(reply) == CodeAnswer(code, entry, status)


HUGE = "x = 1\n" * MAX_CODE_CHARACTERS
NO_CODE = [
    (
        "<code>\ndef f(x):\n    return {}\n</code><name>f</name>",
        "no top-level function without arguments",
    ),
    ("I would use pymatgen.", "holds no code"),
    ("", "holds no code"),
    (f"<think>{STRICT}", "holds no code"),
    ("```python\ndef f(:\n```", "syntax error"),
    (
        f"<answer><code>```python\n{HUGE}```</code><name>f</name></answer>",
        "longer than",
    ),
]


@pytest.mark.parametrize(("reply", "reason"), NO_CODE, ids=lambda text: text[:20])
def test_without_anything_to_call_nothing_is_guessed(reply, reason):
    with pytest.raises(UnreadableError, match=reason):
        read_answer(reply)


def test_strictly_nothing_is_repaired_and_thoughts_count():
    with pytest.raises(UnreadableError):
        read_answer(f"```python\n{CODE}\n```", strict=True)
    assert {
        read_answer(thought + STRICT, strict=True).entry for thought in THOUGHTS
    } == {"sketch"}


def test_the_same_draft_is_recognised():
    assert same_code(CODE, CODE + "\n\n# nothing new\n")
    assert not same_code(CODE, CODE.replace("pi", "e"))
    assert not same_code("def f(:", "def g(:")


FORMS = {
    "block": Block("cif"),
    "file": File("a.cif"),
    "text": Text(),
    "number": Number("eV"),
    "choices": Choices(),
    "object": Json({"a": "text"}),
    "list": Json([{"a": "text"}]),
    "pair": Json(["", ""]),
    "deep": Json({"a": {"b": "text"}}),
    "any": Json({}),
    "letters": Letters(),
}
REPLIES = table("replies")
LONG = {
    "file": ["<file>" + "\u00e5" * (MAX_CHARACTERS // 2 + 1) + "</file>"],
    "any": ["[" * 200_000, '{"a":' * 1000 + "1" + "}" * 1000],
    "choices": [
        "<answer>" + "A," * 600_000 + "</answer>",
        "<answer>" + "A," * 1000 + "Z</answer>",
    ],
    "text": ["x" * (MAX_CHARACTERS + 1)],
}


@pytest.mark.parametrize(
    ("form", "reply", "value", "status"),
    [(form, *row) for form, rows in REPLIES["read"].items() for row in rows],
)
def test_what_is_read_in_each_form(form, reply, value, status):
    assert FORMS[form].read(reply) == Reading(value, status)


@pytest.mark.parametrize("form", {**REPLIES["nothing"], **LONG})
def test_what_is_not_an_answer(form):
    replies = [*REPLIES["nothing"].get(form, []), *LONG.get(form, [])]
    assert [
        reply[:50] for reply in replies if FORMS[form].read(reply) is not None
    ] == []


def test_the_instruction_of_a_form_can_be_followed():
    assert FORMS["block"].read("<cif>data_x</cif>").status == "strict"
    assert "<cif>" in FORMS["block"].instruction
    assert "in eV" in FORMS["number"].instruction
    shape = Json({"a": "what it is"})
    assert shape.read(shape.instruction).status == "strict"


@given(st.text(alphabet='ABCD<answer>/.[]{}":,01 \n*xyz`cif'))
def test_no_text_raises_and_readings_are_plain_data(text):
    for reply in (text, f"<code>{text}</code>", f"```python\n{text}\n```"):
        with suppress(UnreadableError):
            assert read_answer(reply).entry.isidentifier()
    for form in FORMS.values():
        found = form.read(text)
        assert found is None or json.loads(json.dumps(found.value)) == found.value


AREA = "import math\n\ndef area():\n    return {'area': math.pi}"
PLACEHOLDER = "(all imports, and one function without arguments that returns the dict)"


@pytest.mark.parametrize(
    "reply",
    [
        f"<answer><code>```python\n{AREA}\n</code><name>area</name></answer>",
        f"<code>```\npython\n{AREA}\n```</code><name>area</name>",
        f"<code>\npython\n{AREA}\n</code>",
        f"<answer><code>```python\n{AREA}\n```\n<name>area</name></answer>",
        f"<answer>\n<code>\n{AREA}\n<name>area</name>\n</answer>",
        f"Here is the code:\n```python\n{AREA}\n",
        f"```py\n{AREA}",
        f"<answer><code>```python\n{PLACEHOLDER}\n{AREA}\n```</code><name>area</name></answer>",
        f"<code>```Python\n{AREA}\n```",
    ],
)
def test_habits_of_small_models_cost_no_answer(reply):
    answer = read_answer(reply)
    assert (answer.code.strip(), answer.entry) == (AREA, "area")
    assert answer.rule


@pytest.mark.parametrize(
    "reply",
    [
        f"<answer><code>```python\n{PLACEHOLDER}\n```</code><name>f</name></answer>",
        "<answer><code>```python\n(your code here)\n```</code><name>main</name></answer>",
        "<code>\nYour code goes here\n</code><name>f</name>",
        "```python\n# the code\n...\n```",
        "```python\ndef area(:\n    return {",
    ],
)
def test_a_placeholder_is_no_program(reply):
    with pytest.raises(UnreadableError):
        read_answer(reply)


@pytest.mark.parametrize("row", table("open_replies"))
def test_replies_of_an_open_model(row):
    if row["form"] == "code":
        assert read_answer(row["reply"]).entry == row["read"]
        return
    reading = FORMS[row["form"]].read(row["reply"])
    assert (None if reading is None else reading.value) == row["read"]
