r"""Compares formulas by value; its source is executed in the sandbox for verification only.

It imports nothing of this project. A restricted reader takes LaTeX (and plain text) apart: numbers,
symbols with indices, ``\frac``, ``\sqrt``, powers, products without a sign, brackets of all kinds
and the common functions. What it does not know makes two formulas incomparable, never equal. Two
formulas agree when they have the same values at five random points. It computes in floating-point
numbers: a tower of powers overflows, and is unknown.
"""

from __future__ import annotations

import cmath
import random
import re
from collections.abc import Callable

MAX_CHARACTERS = 2000
MAX_DEPTH = 40
POINTS = 5
TOLERANCE = 1e-9

Value = Callable[[dict[str, complex]], complex]

_PIECE = re.compile(
    r"\\[a-zA-Z]+|\d+(?:\.\d+)?|\.\d+|\*\*|sqrt|sinh|cosh|tanh|sin|cos|tan|exp|ln|log|[a-zA-Z]|"
    r"[-+*/^_(){}\[\]=|,']"
)
_DRESS = re.compile(
    r"\\(?:left|right|[bB]igl?|[bB]igr?|displaystyle|limits)(?![a-zA-Z])|\\[,;!:]|[$&]"
)
_FONTS = {
    "\\text", "\\mathrm", "\\mathbf", "\\boldsymbol", "\\mathcal", "\\mathit", "\\bar", "\\hat",
    "\\vec",
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "exp": cmath.exp, "ln": cmath.log,
    "log": cmath.log10, "sqrt": cmath.sqrt, "sinh": cmath.sinh, "cosh": cmath.cosh,
    "tanh": cmath.tanh,
}  # fmt: skip
_LETTERS = {
    "\\" + name
    for name in re.findall(
        r"\w+",
        "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu "
        "xi pi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma "
        "Phi Psi Omega hbar ell",
    )
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class UnknownError(Exception):
    """Something that this reader does not know."""


def equal(pairs: list[list[str]]) -> list[bool]:
    """Whether both formulas of each pair say the same."""
    return [_equal(one, other) for one, other in pairs]


def _equal(one: str, other: str) -> bool:
    try:
        (left, first), (right, second) = _sides(one), _sides(other)
        if left and right and left.split() != right.split():
            return False
        f, g = _Reader(first), _Reader(second)
        one_value, other_value = f.whole(), g.whole()
        source = random.Random(1)  # noqa: S311 -- the same points for everybody
        for _ in range(POINTS):
            point = {
                name: complex(source.uniform(0.5, 1.5)) for name in sorted(f.symbols | g.symbols)
            }
            a, b = one_value(point), other_value(point)
            if not cmath.isfinite(a) or not abs(a - b) <= TOLERANCE * max(1e-12, abs(a), abs(b)):
                return False
    except (UnknownError, ArithmeticError, ValueError, RecursionError):
        return False
    return True


def _sides(text: str) -> tuple[str, str]:
    """Left side (may be empty) and right side of a formula, without dress."""
    if len(text) > MAX_CHARACTERS:
        raise UnknownError
    text = _DRESS.sub(" ", text).replace("\\{", "(").replace("\\}", ")")
    left, _, right = text.rpartition("=")
    if "=" in left:
        raise UnknownError
    return left, right


class _Reader:
    """Recursive descent; every rule returns a function of the symbols' values."""

    def __init__(self, text: str) -> None:
        self.pieces = _PIECE.findall(text)
        if "".join(self.pieces) != "".join(text.split()):
            raise UnknownError
        self.at = 0
        self.depth = 0
        self.symbols: set[str] = set()

    def whole(self) -> Value:
        value = self.sum()
        if self.at != len(self.pieces):
            raise UnknownError
        return value

    def next(self) -> str:
        return self.pieces[self.at] if self.at < len(self.pieces) else ""

    def take(self, wanted: str = "") -> str:
        piece = self.next()
        if not piece or (wanted and piece != wanted):
            raise UnknownError
        self.at += 1
        return piece

    def sum(self) -> Value:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnknownError
        value = self.product()
        while self.next() in {"+", "-"}:
            value = _two(self.take(), value, self.product())
        self.depth -= 1
        return value

    def product(self) -> Value:
        if self.next() in {"+", "-"}:
            sign = -1.0 if self.take() == "-" else 1.0
            inner = self.product()
            return lambda at: sign * inner(at)
        value = self.power()
        while True:
            piece = self.next()
            if piece in {"*", "/", "\\times", "\\cdot"}:
                self.take()
                value = _two("/" if piece == "/" else "*", value, self.power())
            elif piece and piece not in {"+", "-", "=", ")", "]", "}", "|", ",", "^", "**", "_"}:
                value = _two("*", value, self.power())
            else:
                return value

    def power(self) -> Value:
        value = self.atom()
        while self.next() in {"^", "**"}:
            self.take()
            value = _two("^", value, self.group())
        return value

    def group(self) -> Value:
        """What stands in braces, or the one thing that follows."""
        if self.next() == "-":
            self.take()
            inner = self.atom()
            return lambda at: -inner(at)
        return self.atom()

    def braced(self) -> Value:
        if self.next() == "{":
            return self.atom()
        digit = self.take()  # \frac12
        if not digit.isdigit():
            self.at -= 1
            return self.atom()
        if len(digit) > 1:
            self.pieces[self.at - 1 : self.at] = list(digit)
        number = complex(float(digit[0]))
        return lambda _: number

    def atom(self) -> Value:
        piece = self.take()
        if piece[0].isdigit() or piece[0] == ".":
            number = complex(float(piece))
            return lambda _: number
        if piece in _CLOSING:
            value = self.sum()
            self.take(_CLOSING[piece])
            return value
        if piece in {"\\frac", "\\dfrac", "\\tfrac"}:
            above = self.braced()
            return _two("/", above, self.braced())
        name = piece.removeprefix("\\")
        if name == "sqrt" and self.next() == "[":
            self.take()
            root = self.sum()
            self.take("]")
            inner = self.braced()
            return lambda at: inner(at) ** (1 / root(at))
        if name in _FUNCTIONS:
            return self.function(name)
        return self.symbol(piece)

    def function(self, name: str) -> Value:
        function, exponent = _FUNCTIONS[name], None
        if self.next() in {"^", "**"}:
            self.take()
            exponent = self.group()
        closed = name == "sqrt" or self.next() in _CLOSING
        argument = self.atom() if closed else self.bare_argument()

        def called(at: dict[str, complex]) -> complex:
            return function(argument(at))

        return called if exponent is None else _two("^", called, exponent)

    def bare_argument(self) -> Value:
        """The factors up to the next sign, as in ``sin 2x``."""
        value = self.power()
        while self.next() and (self.next()[0].isalnum() or self.next()[0] == "\\"):
            if self.next().removeprefix("\\") in {*_FUNCTIONS, "times", "cdot"}:
                break
            value = _two("*", value, self.power())
        return value

    def symbol(self, piece: str) -> Value:
        if piece in _FONTS:
            self.take("{")
            piece += "{" + self.raw()
        elif not (piece.isalpha() or piece in _LETTERS):
            raise UnknownError
        if piece == "\\pi":
            return lambda _: complex(cmath.pi)
        if piece == "e" and self.next() == "^":
            return lambda _: complex(cmath.e)
        name = piece
        while self.next() in {"_", "'"}:
            name += self.take()
            if name[-1] == "_":
                following = self.take()
                name += self.raw().removesuffix("}") if following == "{" else following
        self.symbols.add(name)
        return lambda at: at[name]

    def raw(self) -> str:
        """The pieces up to the closing brace, as they stand; fonts in an index do not count."""
        text, open_braces = "", 1
        while open_braces:
            piece = self.take()
            open_braces += (piece == "{") - (piece == "}")
            inner = piece == "}" and open_braces
            text += "" if piece in _FONTS or piece == "{" or inner else piece
        return text


def _two(sign: str, one: Value, other: Value) -> Value:
    if sign == "+":
        return lambda at: one(at) + other(at)
    if sign == "-":
        return lambda at: one(at) - other(at)
    if sign == "*":
        return lambda at: one(at) * other(at)
    if sign == "/":
        return lambda at: one(at) / other(at)
    return lambda at: one(at) ** other(at)
