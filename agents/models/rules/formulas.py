"""Computes from formulas that a prompt gives: what is left when nothing has to be known.

It binds ``symbol = value`` of the question, evaluates ``symbol = expression`` in floating-point
numbers, and rounds as asked. Of several sets of formulas it takes the one whose symbols all occur.
No formula is known here, and none is looked for.
"""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from statistics import NormalDist
from typing import Any

MAX_EXPRESSION = 500
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_GIVEN = re.compile(rf"^- (\w+) = ({_NUMBER})(?![\d.])", re.MULTILINE)
_ASKED = re.compile(r"^\(\d+\) (\w+) = .*?(?:rounded to (an integer|\d+ decimal)|with (\d+) sig|$)",
                    re.MULTILINE)  # fmt: skip
_FORMULA = re.compile(r"^(\w+) = (.+)$", re.MULTILINE)
_SET = re.compile(r"^Set ([A-Z]):\n((?:\w+ = .+\n?)+)", re.MULTILINE)
_SHAPE = re.compile(r"<answer>\s*(\[.*\])\s*</answer>", re.DOTALL)

_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: math.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "exp": math.exp, "ln": math.log, "sin": math.sin, "cos": math.cos,
    "asin": math.asin, "erf": math.erf,
    "erfinv": lambda x: NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2),
}  # fmt: skip


def answer(text: str) -> str | None:
    """The reply to a question with formulas; ``None`` where the prompt has none."""
    _, opened, told = text.partition("<formulas>\n")
    told, closed, _ = told.partition("\n</formulas>")
    if not opened or not closed:
        return None
    given = {name: float(value) for name, value in _GIVEN.findall(text)}
    sets = {letter: _FORMULA.findall(block) for letter, block in _SET.findall(told + "\n")}
    chosen = choose(sets, given) if sets else None
    if "letter of the set" in text:
        return f"<answer>{chosen}</answer>" if chosen else None
    values = evaluate(sets.get(chosen or "", []) or _FORMULA.findall(told), given)
    slots = [_rounded(values.get(match[1]), match[2], match[3]) for match in _ASKED.finditer(text)]
    shape = _SHAPE.search(text)
    filled = _filled(json.loads(shape[1]), iter(slots)) if shape else slots
    return f"<answer>{json.dumps(filled)}</answer>"


def choose(sets: Mapping[str, Sequence[tuple[str, str]]], given: Mapping[str, float]) -> str | None:
    """The first set from which everything can be computed."""
    for letter, formulas in sets.items():
        if len(evaluate(formulas, given)) == len(given.keys() | {name for name, _ in formulas}):
            return letter
    return None


def evaluate(formulas: Iterable[tuple[str, str]], given: Mapping[str, float]) -> dict[str, float]:
    """All values that follow from formulas, in their order; what cannot be computed is left out."""
    values = {"pi": math.pi, **given}
    for name, expression in formulas:
        try:
            tree = ast.parse(expression[:MAX_EXPRESSION].strip(), mode="eval").body
            values[name] = _value(tree, values)
        except (ArithmeticError, ValueError, SyntaxError, KeyError, RecursionError, MemoryError):
            continue
    del values["pi"]
    return values


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, values)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            return _FUNCTIONS[name](_value(argument, values))
        case _:
            raise ValueError("not arithmetic")


def _rounded(value: float | None, decimals: str | None, figures: str | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    if figures is not None:
        mantissa, _, power = f"{value:.{int(figures) - 1}e}".partition("e")
        return f"{mantissa} \\times 10^{{{int(power)}}}"
    if decimals is None:
        return repr(value)
    places = 0 if decimals == "an integer" else int(decimals.split()[0])
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN))


def _filled(shape: Any, slots: Any) -> Any:
    return [_filled(item, slots) for item in shape] if isinstance(shape, list) else next(slots, "")
