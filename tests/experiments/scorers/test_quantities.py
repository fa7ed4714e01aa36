"""Numbers with units as answers write them: what is read, what is not, and that it always ends."""

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.scorers.quantities import (
    ReadingError,
    convert,
    read_number,
    read_quantity,
    read_unit,
    within,
)
from foundation.configuration import data_of

CASES = data_of(__file__, "quantities")
#: What code returns, and what a table cannot hold.
READ = [*CASES["read"], (4, "", 4), (np.float64(0.5), "eV", 0.5), (np.int64(3), "", 3)]
REFUSED = [
    *CASES["refused"],
    *((value, "", "NoNumber") for value in (True, [1.0], 1j)),
    *((value, "", "NotFinite") for value in (10**400, float("inf"), float("nan"))),
    ("1 " + "(" * 190, "", "UnknownUnit"),
    ("1" * 500, "", "TooLong"),
]


@pytest.mark.parametrize(("text", "unit", "number"), READ)
def test_what_is_read(text, unit, number):
    assert read_number(text, unit) == pytest.approx(number, rel=1e-6)


@pytest.mark.parametrize(("text", "unit", "verdict"), REFUSED)
def test_what_is_not(text, unit, verdict):
    with pytest.raises(ReadingError, match=f"^{verdict}$"):
        read_number(text, unit)


@pytest.mark.parametrize("text", ["4.0", "40e-1", "4 x 10^0", "8/2", 4.0])
def test_integers_by_the_letter(text):
    assert read_number(text) == read_number("4", strict_integer=True) == 4
    with pytest.raises(ReadingError, match="NotAnInteger"):
        read_number(text, strict_integer=True)


patient = [HealthCheck.too_slow]  # the machine may be busy
numbers = st.decimals(-(10**6), 10**6, places=3, allow_nan=False, allow_infinity=False)
DRESS = [
    "{n} {u}",
    "{n}{u}",
    "**{n} {u}**",
    "${n}\\,\\mathrm{{{u}}}$",
    "\\({n}\\ \\text{{{u}}}\\)",
    "x = {n} {u}",
    "$\\boxed{{{n}\\ \\text{{{u}}}}}$",
    "The result is {n} {u}.",
    "{n} ± 0.5 {u}",
    "approx. {n} {u}",
    "E: {n} {u}",
    "Final answer: {n} {u}",
    "({n}) {u}",
    "`{n} {u}`",
    "{n} ({u})",
]
UNITS = [("eV", 1), ("meV", 1e-3), ("keV", 1e3), ("J", 1 / 1.602176634e-19)]
SIGNS = ["-", "\N{MINUS SIGN}", "\N{EN DASH}"]


@settings(max_examples=300, deadline=None, suppress_health_check=patient)
@given(
    numbers,
    st.sampled_from(DRESS),
    st.sampled_from(SIGNS),
    st.sampled_from("peg,"),
    st.sampled_from(UNITS),
)
def test_every_spelling_is_that_number(number, dress, sign, style, unit):
    text = {
        "p": f"{number:f}",
        "e": f"{number:.12e}",
        "g": f"{number / 1000:f} x 10^3",
        ",": f"{number:,f}",
    }[style]
    text = dress.format(n=text.replace("-", sign, 1) if number < 0 else text, u=unit[0])
    assert read_number(text, "eV") == pytest.approx(
        float(number) * unit[1], rel=1e-9, abs=1e-12
    )


@settings(max_examples=300, deadline=None, suppress_health_check=patient)
@given(st.text(alphabet="0123456789.eE+-x^{}/ eVmÅKJ$\\()=±,_*µatpi", max_size=320))
def test_any_text_is_a_number_or_has_a_name(text):
    try:
        said = f"{read_number(text, 'eV'):g}"
    except ReadingError as error:
        said = str(error)
    assert said.isalpha() == (said[0].isupper())
    assert said not in {"inf", "nan"}


HOSTILE = [
    "1 ",
    "1,000",
    "(",
    "(1",
    "{",
    "\\frac{1}{2}",
    "=1",
    "1e9999 ",
    "±1",
    "eV",
    "eV^",
    "a-",
    "/(",
    "\\text{",
    "_{1",
    "9**9",
    "1eV ",
]


@pytest.mark.parametrize("part", HOSTILE)
@pytest.mark.parametrize("length", [299, 10**7])
def test_time_is_bounded(part, length):
    read_number("1 eV", "eV")  # the registry of pint
    began = time.process_time()
    with pytest.raises(ReadingError):
        read_number((part * (length // len(part) + 1))[:length], "eV")
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("one", "other", "factor"),
    [
        ("eV", "J", 1.602176634e-19),
        ("GPa", "eV/Å^3", 1 / 160.21766208),
        ("Ha", "Ry", 2),
        ("cm²", "m^2", 1e-4),
        ("kJ/mol", "J mol^-1", 1e3),
        ("S/m", "1/ohm/m", 1),
        ("N-m", "J", 1),
    ],
)
def test_units_convert(one, other, factor):
    assert float(convert(1, read_unit(one), read_unit(other))) == pytest.approx(
        factor, rel=1e-6
    )


def test_what_was_written_is_kept_and_ends_belong_to_an_interval():
    read = read_quantity("1.20 x 10^5 m", "m")
    assert (read.value, read.quantum, read.digits, read.whole) == (
        120_000,
        1000,
        3,
        False,
    )
    assert (read_quantity("11/6").quantum, read_quantity("7").whole) == (0, True)
    assert within(read_number("1150 meV", "eV"), 1.05, 1.15)
    assert [within(x, 1.05, 1.15) for x in (1.15, 1.1501, 1.0499)] == [
        True,
        False,
        False,
    ]
