"""Code in colours: nothing is lost, whatever it is, and it takes linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matsmith.core.colours import coloured, pieces

CODE = '''\
@cache
def f(x):  # why
    """Text of
    two lines."""
    return 'a' + rb"b" if x else 1.5e3
class A: pass
'''


def test_the_kinds():
    found = {text.strip(): kind for kind, text in pieces(CODE) if kind}
    assert found == {
        "@cache": "decorator", "def": "keyword", "f": "function", "# why": "comment",
        '"""Text of\n    two lines."""': "string", "return": "keyword", "'a'": "string",
        'rb"b"': "string", "if": "keyword", "else": "keyword", "1.5e3": "number",
        "class": "keyword", "A": "class", "pass": "keyword",
    }  # fmt: skip
    assert coloured("x = 1\x1b").plain == r"x = 1\x1b"


@given(st.text() | st.text("\"'\\\n #rf@a1"))
def test_nothing_is_lost(code):
    assert "".join(text for _, text in pieces(code)) == code


PATHOLOGICAL = [
    "\n", " ", " \n", "\t", '"', "'", '"""', "'''", '"""\\', "'\\", "\\", "#", "@", "(", "f'",
    'rb"', "a", "1", "1.", "x = ", "def ", "class A", "\\\n", "é", "<code>", "\0",
]  # fmt: skip


@pytest.mark.parametrize("start", ["", '"""', "'", "x = '''a"])
def test_linear(start):
    """A quadratic lexer needs hours for these."""
    started = time.process_time()
    for piece in PATHOLOGICAL:
        code = start + piece * (100_000 // len(piece))
        assert sum(len(text) for _, text in pieces(code)) == len(code)
    assert time.process_time() - started < 30
