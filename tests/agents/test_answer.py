"""Reading replies: the contract, its repairs, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.answer import (
    MAX_CODE_CHARACTERS,
    Answer,
    UnreadableError,
    parse_answer,
    read_answer,
    same_code,
)

CODE = "import math\n\ndef area():\n    return {'area': math.pi}"
STRICT = f"<answer><code>```python\n{CODE}\n```</code><name>area</name></answer>"


def test_the_contract_is_read_as_it_stands():
    answer = parse_answer(f"Here it is.\n{STRICT}\nDone.", strict=True)
    assert answer is not None
    assert (answer.code, answer.entry, answer.status) == (CODE, "area", "strict")


def test_a_single_fence_with_one_function_is_a_recorded_repair():
    reply = f"Sure!\n```python\n{CODE}\n```\nHope that helps"
    assert parse_answer(reply, strict=True) is None
    answer = parse_answer(reply)
    assert answer is not None
    assert (answer.entry, answer.status) == ("area", "repaired")


def test_tags_without_fence_are_a_repair():
    answer = parse_answer(f"<code>\n{CODE}\n</code>\n<name>area()</name>")
    assert answer is not None
    assert (answer.code, answer.entry, answer.status) == (CODE, "area", "repaired")


def test_without_anything_to_call_nothing_is_guessed():
    for reply in ("```python\ndef f(x):\n    return {}\n```", "no code at all", ""):
        assert parse_answer(reply) is None
    with pytest.raises(UnreadableError, match="no top-level function without arguments"):
        read_answer("<code>\ndef f(x):\n    return {}\n</code><name>f</name>")
    with pytest.raises(UnreadableError, match="holds no code"):
        read_answer("I would use pymatgen.")
    with pytest.raises(UnreadableError, match="syntax error"):
        read_answer("```python\ndef f(:\n```")


TWO = "def a():\n    return {}\n\ndef b():\n    return {}\n\ndef c(x):\n    return {}"


@pytest.mark.parametrize(("name", "entry"), [("a", "a"), ("b", "b"), ("c", "b"), ("none", "b")])
def test_of_several_functions_the_named_one_is_called_else_the_last_that_can_be(name, entry):
    answer = parse_answer(f"<code>\n{TWO}\n</code><name>{name}</name>")
    assert answer is not None
    assert (answer.entry, answer.status) == (entry, "repaired")
    unnamed = parse_answer(f"```python\n{TWO}\n```")
    assert unnamed is not None
    assert unnamed.entry == "b"


SKETCH = (
    "<answer><code>```python\ndef sketch():\n    return None\n```</code>"
    "<name>sketch</name></answer>"
)


@pytest.mark.parametrize(
    "before",
    [
        f"<think>First {SKETCH}, or not</think>",
        f"<Thinking>{SKETCH}</Thinking>\n",
        f"{SKETCH} no, that is wrong</think>",  # opened by the chat template
        f"<reasoning>maybe <think>{SKETCH}</reasoning>",
        f"{SKETCH}\nThat is wrong. Again:\n",
    ],
)
def test_what_was_only_thought_is_not_the_answer(before: str):
    answer = parse_answer(before + STRICT)
    assert answer is not None
    assert (answer.code, answer.entry) == (CODE, "area")
    assert answer.status == "repaired"  # strictly the sketch would be the answer
    published = parse_answer(before + STRICT, strict=True)
    assert published is not None
    assert published.entry == "sketch"


def test_thoughts_that_never_end_hold_no_answer():
    assert parse_answer(f"<think>{STRICT}") is None
    assert parse_answer(f"{STRICT}\n<think>Was that right? {SKETCH}") == Answer(
        CODE, "area", "strict"
    )


def test_thoughts_without_an_answer_in_them_do_not_bend_the_contract():
    answer = parse_answer(f"<think>simple</think>{STRICT}")
    assert answer is not None
    assert answer.status == "strict"


def test_code_blocks_of_one_answer_are_one_program():
    imports, function = CODE.split("\n\n")
    apart = f"First:\n```python\n{imports}\n```\nThen:\n```python\n{function}\n```\n"
    fences = f"```python\n{imports}\n```\n```python\n{function}\n```"
    tags = f"<code>{imports}</code><code>{function}</code>"
    for reply in (
        f"{apart}Run:\n```bash\npip install x\n```",
        f"<answer><code>{fences}</code><name>area</name></answer>",
        f"<answer>{tags}<name>area</name></answer>",
    ):
        answer = parse_answer(reply)
        assert answer is not None
        assert (answer.code, answer.entry) == (CODE, "area")


def test_a_function_that_is_written_again_replaces_its_first_version():
    first = CODE.replace("math.pi", "math.no_such")
    answer = parse_answer(f"```python\n{first}\n```\nBetter:\n```python\n{CODE}\n```")
    assert answer is not None
    assert answer.code == CODE


def test_a_fence_inside_of_the_code_is_code():
    code = 'def f():\n    """Like\n    ```\n    f()\n    ```\n    """\n    return {}'
    answer = parse_answer(f"<answer><code>```python\n{code}\n```</code><name>f</name></answer>")
    assert answer == Answer(code, "f", "strict")


def test_the_same_draft_is_recognised():
    assert same_code(CODE, CODE + "\n\n# nothing new\n")
    assert not same_code(CODE, CODE.replace("pi", "e"))
    assert not same_code("def f(:", "def g(:")


def test_code_with_a_syntax_error_is_an_answer_that_will_not_run():
    answer = parse_answer("<answer><code>```python\ndef f(:\n```</code><name>f</name></answer>")
    assert answer is not None
    assert answer.entry == "f"


def test_a_reply_of_any_size_is_refused_not_choked_on():
    huge = "x = 1\n" * MAX_CODE_CHARACTERS
    reply = f"<answer><code>```python\n{huge}```</code><name>f</name></answer>"
    assert parse_answer(reply) is None


@given(st.text(max_size=400))
def test_no_text_raises(text: str):
    for reply in (text, f"<code>{text}</code>", f"```python\n{text}\n```"):
        answer = parse_answer(reply)
        assert answer is None or answer.entry.isidentifier()
