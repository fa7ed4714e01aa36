"""Reading replies: the contract, its repairs, and what is refused."""

from hypothesis import given
from hypothesis import strategies as st

from agents.answer import MAX_CODE_CHARACTERS, parse_answer

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


def test_nothing_is_guessed():
    two = "```python\ndef a():\n    return {}\n\ndef b():\n    return {}\n```"
    assert parse_answer(two) is None
    assert (
        parse_answer("```python\ndef a():\n  return {}\n```\n```python\ndef b(): ...\n```") is None
    )
    assert parse_answer("```python\ndef f(x):\n    return {}\n```") is None
    assert parse_answer("no code at all") is None
    assert parse_answer("") is None


def test_a_named_function_that_the_code_lacks_is_not_called():
    assert (
        parse_answer(
            "<code>\ndef a():\n    return {}\n\ndef b():\n    return {}\n</code><name>c</name>"
        )
        is None
    )


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
