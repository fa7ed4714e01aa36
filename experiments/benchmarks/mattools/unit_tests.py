"""Verification by a published unit test: typed data in, its verdict out.

This module runs inside a sandbox: not in the one that ran the code under test,
and that one never gets to see a unit test. The answer arrives as tagged JSON
(`sandbox.inside.tagged`) and becomes numpy arrays and Elements here; no class that it names
is looked up or built.
"""

from __future__ import annotations

import builtins
import json
import sys
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from sandbox.inside import values
from sandbox.inside.decoding import decode

Test = Callable[[dict[Any, Any]], Any]
#: Messages of a unit test that are reported, and characters of each.
MESSAGES, MESSAGE = 1000, 4000


class OpaqueObject:
    """What is neither data nor array nor Element; equal to nothing but itself."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}>"


def load(source: str, name: str) -> Test:
    """The test function of a source, executed in a module of its own."""
    module = types.ModuleType("new_unit_test")
    module.__file__ = str(Path("new_unit_test.py").resolve())
    sys.modules[module.__name__] = module
    Path("new_unit_test.py").write_text(
        source, encoding="utf-8", errors="backslashreplace"
    )
    module.__dict__["by_table"] = by_table
    exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    return cast("Test", vars(module)[name])


def judge(source: str, name: str, payload: str, names: Sequence[str]) -> dict[str, Any]:
    """Load a unit test, and call it with an answer; see `verdict`."""
    return verdict(load(source, name), payload, names)


def verdict(test: Test, payload: str, names: Sequence[str] = ()) -> dict[str, Any]:
    """Call a unit test with an answer, tagged JSON; judge ``names`` one by one if not all is right.

    The dict is a `.published.UnitTestVerdict`: ``errors``, ``wrong`` and ``properties`` when the
    test returned a list, ``exception`` when it raised or returned neither that nor ``"ok"``.
    """
    result = _called(test, payload)
    if names and not result["ok"]:
        result["each"] = {name: _passes(test, payload, name) for name in names}
    return result


def _called(test: Test, payload: str) -> dict[str, Any]:
    try:
        return _read(test(revive(decode(payload))))
    except BaseException as error:  # noqa: BLE001 - part of the published verdict
        reason = traceback.format_exception_only(type(error), error)[-1].strip()
    return {"ok": False, "exception": reason[:2000]}


def _read(result: Any) -> dict[str, Any]:
    """What a unit test returned, by the published rule: ``"ok"`` in it, else the last two."""
    sequence = isinstance(result, list | tuple)
    if (isinstance(result, str) and "ok" in result) or (
        sequence and any(isinstance(item, str) and item == "ok" for item in result)
    ):
        return {"ok": True}
    if not sequence:
        return {
            "ok": False,
            "exception": f"the unit test returned {type(result).__name__}",
        }
    *errors, wrong, count = result
    return {
        "ok": False,
        "errors": [_cut(str(error)) for error in errors[:MESSAGES]],
        "wrong": int(wrong),
        "properties": int(count),
    }


def _cut(text: str) -> str:
    """A message shows values of the answer, which may be megabytes; its ends say what it is."""
    return (
        text
        if len(text) <= MESSAGE
        else f"{text[: MESSAGE // 2]} ... {text[-MESSAGE // 2 :]}"
    )


def _passes(test: Test, payload: str, name: str) -> bool | None:
    """Whether one property alone passes, found without reading the test's messages.

    The test counts fewer errors in an answer with nothing but this property than in one that is
    empty. ``None`` when it does not count at all then.
    """
    empty = _called(test, "{}")
    answer = json.loads(payload)
    pairs = answer["v"] if answer.get("$") == "dict" else list(answer.items())
    alone = _called(
        test, json.dumps({"$": "dict", "v": [p for p in pairs if p[0] == name]})
    )
    if empty.get("wrong") is None:
        return None
    # What raises cannot be compared.
    return bool(alone["ok"] or alone.get("wrong", empty["wrong"]) < empty["wrong"])


def by_table(table: list[dict[str, Any]]) -> Test:
    """The unit test that a table of properties stands for: lines of a ``tasks.jsonl``."""
    import numpy as np  # noqa: PLC0415 - only needed here

    scope = {"np": np, "array": np.array, "nan": np.nan, "inf": np.inf}
    if any("Element" in prop["expected"] for prop in table):  # takes a second to import
        from pymatgen.core import Element  # noqa: PLC0415

        scope["Element"] = Element
    types = {**vars(builtins), "numpy.ndarray": np.ndarray, "np.ndarray": np.ndarray}
    # The benchmark's own text; a mistake in it shows when the test is loaded, before any answer.
    wanted = {prop["name"]: eval(prop["expected"], dict(scope)) for prop in table}  # noqa: S307
    kinds = {
        p["name"]: [p["format"]] if p["compare"] == "equal" else p["accepts"]
        for p in table
    }
    classes = {
        name: tuple(types[kind] for kind in named) for name, named in kinds.items()
    }

    def fault(prop: dict[str, Any], answer: dict[Any, Any]) -> str | None:
        name = prop["name"]
        if name not in answer:
            return f"{name} not found in input properties"
        value = answer[name]
        expected = wanted[name]
        if kinds[name] and not isinstance(value, classes[name]):
            return f"{name}: expected {' or '.join(kinds[name])}, got {type(value).__name__}"
        if prop["compare"] == "allclose":
            same = np.allclose(value, expected, rtol=prop["rtol"], atol=prop["atol"])
        else:
            same = not value != expected  # noqa: SIM202 - the published comparison
        return None if same else f"{name}: Expected {expected} but got {value}"

    def test(answer: dict[Any, Any]) -> Any:
        errors: list[Any] = [text for prop in table if (text := fault(prop, answer))]
        return [*errors, len(errors), len(table)] if errors else "ok"

    return test


def revive(value: Any) -> Any:
    """A decoded answer with the library's own Elements; numpy scalars become Python's."""
    if isinstance(value, values.Element | values.Species):
        from pymatgen.core import Element, Species  # noqa: PLC0415 -- only where there is one

        if isinstance(value, values.Element):
            return Element(value.symbol)
        name, *rest = value.text.split(",")
        return OpaqueObject(f"Species {value.text}") if rest else Species.from_str(name)
    if isinstance(value, values.Msonable | values.Opaque | values.EnumMember):
        return OpaqueObject(values.type_name(value))
    if values.is_scalar(value):
        return value.item()
    if values.is_array(value):
        array = value.copy()
        if value.dtype == object:
            for index, item in enumerate(value.flat):
                array.flat[index] = revive(item)
        return array
    if isinstance(value, Mapping):
        return {_key(revive(key)): revive(item) for key, item in value.items()}
    if isinstance(value, set | frozenset | values.Members):
        kind = frozenset if isinstance(value, frozenset) else set
        return kind(_key(revive(item)) for item in value)
    if isinstance(value, list | tuple):
        return type(value)(revive(item) for item in value)
    return value


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:  # an object that was hashable and arrives as data
        return OpaqueObject(type(value).__name__)
    return value
