"""What a terminal may see of foreign text."""

from hypothesis import given
from hypothesis import strategies as st

from matsmith.core.terminal import printable


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_nothing_is_left_that_drives_a_terminal(text):
    shown = printable(text)
    shown.encode()  # no half characters either
    assert all(sign.isprintable() or sign in "\n\t" or sign.isspace() for sign in shown)
    assert not set(shown) & set(map(chr, [*range(9), 11, 12, 13, *range(14, 32), *range(127, 160)]))
    assert printable(shown) == shown


def test_what_is_to_be_seen_stays():
    assert printable("Å² 2\n\tfür 材料\u00a0é\r\n") == "Å² 2\n\tfür 材料\u00a0é\n"
    assert printable("\x1b[2J\x9b\u202e\r\ud800") == r"\x1b[2J\x9b\u202e\r\ud800"
    assert printable(ValueError("\x07")) == r"\x07"
