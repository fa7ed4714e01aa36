"""Runs inside the sandbox: whether an example runs as it stands, and what it yields.

Imports nothing of the project; what it returns is plain data.
"""

from __future__ import annotations

import inspect
import io
import pydoc
import traceback
import types
import typing
from contextlib import redirect_stdout

LONGEST, MOST = 300, 2_000  # characters of an error, and of what is printed


def check(code: str, names: dict[str, object] | None = None) -> dict[str, object]:
    """Run an example: its ``verdict`` (``runs``, ``inputs``, ``fails``), ``printed``, ``error``."""
    found: dict[str, object] = {"verdict": "fails", "error": ""}
    printed = io.StringIO()
    names = {} if names is None else names
    names["__name__"] = "__main__"
    try:
        with redirect_stdout(printed):
            exec(compile(code, "<example>", "exec"), names)  # noqa: S102 - in the sandbox
        found["verdict"] = "runs"
    except BaseException as error:  # noqa: BLE001 - whatever an example raises is the finding
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == "<example>"]
        place = f" (line {own[-1]})" if own else ""
        found["error"] = f"{type(error).__name__}: {error}"[:LONGEST] + place
        here = bool(frames) and frames[-1].filename == "<example>"
        elsewhere = isinstance(error, ModuleNotFoundError) and not here
        if (
            isinstance(error, OSError)
            or elsewhere
            or (isinstance(error, NameError) and here)
        ):
            found["verdict"] = "inputs"
    return {**found, "printed": printed.getvalue()[:MOST]}


def use(code: str, qualname: str) -> dict[str, object]:
    """Run a script: as `check`, or ``type`` where ``result`` is not what ``qualname`` declares."""
    names: dict[str, object] = {}
    found = check(code, names)
    if found["verdict"] != "runs":
        return {**found, "declared": ""}
    hint = _declared(pydoc.locate(qualname))
    declared = (
        "" if hint is inspect.Parameter.empty else str(getattr(hint, "__name__", hint))
    )
    if "result" not in names:
        return {
            **found,
            "verdict": "fails",
            "error": "`result` is not set",
            "declared": declared,
        }
    if declared and not _fits(names["result"], hint):
        error = f"a {type(names['result']).__name__}, declared is {declared}"[:LONGEST]
        return {**found, "verdict": "type", "error": error, "declared": declared}
    return {**found, "declared": declared}


def _declared(symbol: object) -> object:
    """What a call yields by the signature, ``Parameter.empty`` where it does not say."""
    if isinstance(symbol, type):
        return symbol
    try:
        return typing.get_type_hints(symbol).get("return", inspect.Parameter.empty)
    except (TypeError, NameError, AttributeError):  # names that only type checkers see
        return inspect.Parameter.empty


def _fits(value: object, hint: object) -> bool:
    """Whether a value is of a type; of containers only the outside is looked at."""
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        return any(_fits(value, one) for one in typing.get_args(hint))
    kind = typing.get_origin(hint) or (type(None) if hint is None else hint)
    if not isinstance(kind, type):  # Any, a type variable, Self, Literal, ...
        return True
    if kind is typing.Any:
        return True
    plain = {float: "fiu", int: "iu", bool: "b"}.get(
        kind, ""
    )  # numpy's numbers pass as Python's
    if plain and getattr(getattr(value, "dtype", None), "kind", "-") in plain:
        return getattr(value, "ndim", 1) == 0
    return isinstance(value, (float, int) if kind is float else kind)
