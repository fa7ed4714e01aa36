"""What an assertion of a unit test says, read from its syntax."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["equal", "close", "true", "same", "raises"]


class Unusable(Exception):  # noqa: N818 - an answer of the reader, not a fault of ours
    """Why a test, or an assertion of it, cannot become a property."""


@dataclass(frozen=True)
class Assertion:
    """One assertion.

    Attributes
    ----------
    kind
        ``equal``, ``close``, ``true`` (only the truth of the value is asserted), ``same`` (it is
        ``True``, ``False`` or ``None``, which shows when the test runs), ``raises``.
    actual
        The expression whose value becomes the property; of ``raises`` a placeholder.
    expected
        What the test compares with; the class of the exception; the truth for ``true``.
    rtol, atol
        Tolerances of ``close``: relative, and in the unit of the value.
    body
        The statements that should raise.
    """

    line: int
    kind: Kind
    actual: ast.expr
    expected: ast.expr
    rtol: float = 0.0
    atol: float = 0.0
    body: tuple[ast.stmt, ...] = ()


#: Functions that compare -> relative and absolute tolerance of what follows the two sides.
_CLOSE: Mapping[str, Callable[..., tuple[float, float]]] = {
    "allclose": lambda rtol=1e-5, atol=1e-8: (rtol, atol),
    "assert_allclose": lambda rtol=1e-7, atol=0.0: (rtol, atol),
    "isclose": lambda *, rel_tol=1e-9, abs_tol=0.0: (rel_tol, abs_tol),
    # pytest: an absolute tolerance alone replaces the relative one
    "approx": lambda rel=None, abs=None: (  # noqa: A006 -- its names
        (1e-6 if abs is None else 0.0) if rel is None else rel,
        1e-12 if abs is None else abs,
    ),
    "assert_almost_equal": lambda decimal=7: (0.0, 1.5 * 10.0**-decimal),
    "assert_array_almost_equal": lambda decimal=6: (0.0, 1.5 * 10.0**-decimal),
    "assertAlmostEqual": lambda places=7, *, delta=None: (
        0.0,
        0.5 * 10.0**-places if delta is None else delta,
    ),
}
_EQUAL = frozenset(
    {
        "assertEqual",
        "assertEquals",
        "assertListEqual",
        "assertDictEqual",
        "assertTupleEqual",
        "assertSetEqual",
        "assertCountEqual",
        "assertSequenceEqual",
        "assert_equal",
        "assert_array_equal",
        "array_equal",
    }
)
_TRUTH = {"assertTrue": True, "assertFalse": False}
_RAISES = frozenset({"raises", "assertRaises", "assertRaisesRegex"})


def is_assertion(statement: ast.stmt) -> bool:
    """Whether a statement asserts something."""
    if isinstance(statement, ast.Assert):
        return True
    if isinstance(statement, ast.With):
        return any(_called(item.context_expr) in _RAISES for item in statement.items)
    name = _called(statement.value) if isinstance(statement, ast.Expr) else ""
    return name.startswith("assert") or name in _RAISES


def read(statement: ast.stmt) -> Assertion:
    """What an assertion says; `Unusable` with the reason why it fixes no value."""
    if isinstance(statement, ast.With):
        call = statement.items[0].context_expr
        return _raises(statement.lineno, call, tuple(statement.body))
    if isinstance(statement, ast.Assert):
        return _truth(statement.lineno, statement.test)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        raise Unusable("no known kind of assertion")
    call = statement.value
    name = _called(call)
    if name in _RAISES:
        if len(call.args) < 2:
            raise Unusable("an exception without the call that raises it")
        skipped = 3 if name == "assertRaisesRegex" else 2
        arguments = call.args[skipped:]
        inner = ast.Call(
            func=call.args[skipped - 1], args=arguments, keywords=call.keywords
        )
        return _raises(statement.lineno, call, (ast.Expr(value=inner),))
    if name in _TRUTH:
        assertion = _truth(statement.lineno, call.args[0])
        return assertion if _TRUTH[name] else _negated(assertion)
    return _comparison(statement.lineno, call)


def _truth(line: int, test: ast.expr) -> Assertion:
    if isinstance(test, ast.Compare):
        return _compare(line, test)
    if isinstance(test, ast.Call):
        name = _called(test)
        if name == "isinstance":
            raise Unusable("a type is asserted, not a value")
        if (
            name == "all"
            and test.args
            and isinstance(test.args[0], ast.Compare | ast.Call)
        ):
            return _truth(line, test.args[0])
        if name in {*_CLOSE, *_EQUAL} and len(test.args) >= 2:
            return _comparison(line, test)
    if isinstance(test, ast.BoolOp):
        raise Unusable("several conditions in one assertion")
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _negated(_truth(line, test.operand))
    return Assertion(line, "true", test, ast.Constant(value=True))


def _negated(assertion: Assertion) -> Assertion:
    if assertion.kind != "true":
        raise Unusable("an inequality fixes no value")
    return replace(assertion, expected=ast.Constant(value=False))


def _compare(line: int, test: ast.Compare) -> Assertion:
    if len(test.ops) != 1:
        raise Unusable("a chain of comparisons")
    left = test.left
    right = test.comparators[0]
    operator = test.ops[0]
    if (
        isinstance(operator, ast.Lt | ast.LtE)
        and (difference := _difference(left)) is not None
    ):
        actual, expected = _sides(difference.left, difference.right)
        return Assertion(line, "close", actual, expected, atol=_number(right))
    if isinstance(operator, ast.Is):
        if isinstance(right, ast.Name):  # of a parametrised test, as a rule
            return Assertion(line, "same", left, right)
        if not (isinstance(right, ast.Constant) and isinstance(right.value, bool)):
            raise Unusable(
                "identity is not a value (None stands for a failed property)"
            )
        return Assertion(line, "equal", left, right)
    if not isinstance(operator, ast.Eq):
        member = isinstance(operator, ast.In | ast.NotIn)
        raise Unusable(f"{'membership' if member else 'an inequality'} fixes no value")
    actual, expected = _sides(left, right)
    if (
        isinstance(expected, ast.Call)
        and _called(expected) == "approx"
        and expected.args
    ):
        rtol, atol = _tolerances("approx", expected, skipped=1)
        return Assertion(line, "close", actual, expected.args[0], rtol, atol)
    return Assertion(line, "equal", actual, expected)


def _comparison(line: int, call: ast.Call) -> Assertion:
    name = _called(call)
    if name not in _CLOSE and name not in _EQUAL:
        raise Unusable(f"{name} fixes no value")
    if len(call.args) < 2:
        raise Unusable(f"{name} without two positional arguments")
    actual, expected = _sides(call.args[0], call.args[1])
    if name in _EQUAL:
        return Assertion(line, "equal", actual, expected)
    if name == "isclose" and not ast.unparse(call.func).startswith(
        ("math.", "isclose")
    ):
        name = "allclose"  # numpy's has the names and defaults of allclose
    rtol, atol = _tolerances(name, call, skipped=2)
    return Assertion(line, "close", actual, expected, rtol, atol)


def _raises(line: int, call: ast.expr, body: tuple[ast.stmt, ...]) -> Assertion:
    if not isinstance(call, ast.Call) or not call.args:
        raise Unusable("an exception without its class")
    return Assertion(line, "raises", ast.Constant(value=None), call.args[0], body=body)


def _sides(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
    """Actual and expected: whatever is written out stands for the expected value."""
    swap = _written_out(left) and not _written_out(right)
    return (right, left) if swap else (left, right)


def _written_out(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return _called(node) in {"approx", "array", "set"} and all(
            map(_written_out, node.args)
        )
    return not any(
        isinstance(part, ast.Name | ast.Call | ast.Attribute) for part in ast.walk(node)
    )


def _difference(node: ast.expr) -> ast.BinOp | None:
    """``a - b`` of ``abs(a - b)``."""
    if (
        isinstance(node, ast.Call)
        and _called(node) in {"abs", "fabs"}
        and len(node.args) == 1
    ):
        inner = node.args[0]
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
            return inner
    return None


def _tolerances(name: str, call: ast.Call, *, skipped: int) -> tuple[float, float]:
    code = _CLOSE[name].__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = dict(zip(names[: code.co_argcount], call.args[skipped:], strict=False))
    given |= {
        keyword.arg: keyword.value for keyword in call.keywords if keyword.arg in names
    }
    return _CLOSE[name](**{key: _number(node) for key, node in given.items()})


def _number(node: ast.expr) -> float:
    try:
        return float(ast.literal_eval(node))
    except (ValueError, TypeError):
        raise Unusable(
            f"the tolerance {ast.unparse(node)} is not a plain number"
        ) from None


def _called(node: ast.expr) -> str:
    """Last name of what is called: ``np.testing.assert_allclose(...)`` -> assert_allclose."""
    func = node.func if isinstance(node, ast.Call) else None
    return getattr(func, "attr", getattr(func, "id", ""))
