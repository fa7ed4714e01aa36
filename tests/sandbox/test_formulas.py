"""Formulas are compared by value; what cannot be read is never equal."""

import time

import pytest

from sandbox.inside.formulas import equal

SAME = [
    (r"\tau = \frac{Gb}{D}", "G*b/D"),
    (r"W = \frac{G l b^2 (s - a)^2}{4\pi (1-\nu)(s^2 + a^2)}",
     r"G b^2 l (a-s)^2 / (4 \pi (1-\nu)(a^2+s^2))"),
    (r"k_{\text{B}}T", r"k_{\mathrm{B}} T"), (r"\sin^2\theta + \cos^2\theta", "1"),
    (r"\exp\left(-\frac{E}{RT}\right)", r"e^{-E/(RT)}"), ("2^{-1}x", r"\frac12 x"),
    (r"R(1+\sqrt{3})", "R + sqrt(3) R"), (r"\sqrt[3]{x}", "x^{1/3}"),
    (r"\left\{ x + 1 \right\}", "[1+x]"), ("x**2", r"x \cdot x"), (r"\ln(ab)", r"\ln a + \ln b"),
    (r"\sin 2x", r"2 \sin x \cos x"), ("2**3**2", "512"), ("a = b c", "b c = a"),
    (r"\varepsilon E", r"\epsilon E"), (r"\mathrm{e}^{x}", r"\exp(x)"),
    (r"\arcsin x", r"\sin^{-1} x"), (r"\log_{10} x", r"\log x"),
    (r"\log_{10}(x)", r"\ln x/\ln 10"), ("T_{m}-T_0", "T_m - T_{0}"), (r"\(x+1\)", r"\[1+x\]"),
    ("\N{GREEK SMALL LETTER SIGMA} = E ε", r"\sigma = E\varepsilon"),
    ("x²+1", "x^2+1"), ("πr²", r"\pi r^2"),
    (r"6.63\times10^{-34}\nu", r"6.63 \cdot 10^{-34} \nu"), (r"\dfrac{1}{2}mv^2", "m v^2/2"),
    ("√2 a", r"\sqrt{2} a"), ("|x-y|", "|y-x|"), (r"\sqrt2", "2^{1/2}"), ("a^{b^{c}}", "a^(b^c)"),
]  # fmt: skip
OTHER = [
    ("a+b", "a-b"), ("x^2+1", "x^2+2"), ("a = x", "b = x"), ("x = y = 1", "x = y = 1"),
    ("ab", "abc"), ("\\unknown{x}", "\\unknown{x}+1"), ("9**9**9**9", "9**9**9**9"), ("", ""),
    ("1/0", "1/0"), ("x(", "x("), ("(" * 500 + ")" * 500, "1"), ("x" * 5000, "x" * 5000),
    ("\\begin{bmatrix} 1 \\end{bmatrix}", "\\begin{bmatrix} 1 \\end{bmatrix}"),
    ("x", "__import__('os').system('true')"), ("CO", "OC"), (r"\mathrm{CO}", r"\mathrm{OC}"),
    (r"6.63\times10^{-34}\nu", "0"), ("pH=7", "pOH=7"), ("a_1", "a_2"), ("T'", "T"),
    ("2**3**2", "64"), (r"\phi+\varphi", r"2\phi"), ("Fe_2O_3", "O_3Fe_2"), ("x.y", "xy"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same(one, other):
    assert equal([[one, other], [other, one]]) == [True, True]


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_not_the_same(one, other):
    assert equal([[one, other], [other, one]]) == [False, False]


def test_long_formulas_take_no_time():
    started = time.perf_counter()
    for text in (
        "+".join("x" * 900),
        "x^" * 900 + "2",
        "-" * 1999 + "x",
        "\\frac" * 300,
        "{" * 1000 + "}" * 1000,
        "\\frac{" * 300 + "1}" * 300,
    ):
        equal([[text, text]])
    assert time.perf_counter() - started < 20
