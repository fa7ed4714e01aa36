"""Exceptions that the code catches itself: often the reason for a ``None``."""

from __future__ import annotations

import ast
import builtins
import contextlib
import sys
import types
from typing import Any

from sandbox.inside.tagged import MAX_CAUGHT, MAX_MESSAGE

NAME = "__caught__"  # among the builtins: the code's own names stay as they are
MAX_TYPE = 100  # characters of a type's name
#: Calling it may fail itself: in a handler at the limit of recursion.
_NOTE = f"try: {NAME}()\nexcept RecursionError: pass"
#: What rewriting a program may raise, which then runs as it is.
_NOT_REWRITTEN = (RecursionError, MemoryError, SyntaxError, ValueError)
Noted = tuple[str, str, int]  # type, message, line


class CaughtExceptions:
    """Takes note of them.

    Every ``except`` block of the code begins with a call of :meth:`note`: nothing is traced, so
    code that catches nothing runs at full speed, on every version of Python.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._noted: dict[Noted, None] = {}

    def compile(self, code: bytes) -> types.CodeType:
        """Compile the code; what cannot be rewritten stays as it is."""
        plain = compile(code, self.path, "exec", dont_inherit=True)
        try:
            rewritten = self._rewritten(code)
        except _NOT_REWRITTEN:
            return plain
        setattr(builtins, NAME, self.note)
        self._watch_suppress()
        return rewritten

    def note(self, error: BaseException | None = None) -> None:
        """Take note of ``error``, or of the exception that is being handled."""
        error = error or sys.exception()
        if error is not None and len(self._noted) < MAX_CAUGHT:
            self._noted.setdefault(self._entry(error))

    def report(self, error: BaseException | None = None) -> list[Noted]:
        """What was caught, without what ended the code after all (``error``)."""
        for _ in range(MAX_CAUGHT):
            if error is None:
                break
            self._noted.pop(self._entry(error), None)
            error = error.__cause__ or error.__context__
        return list(self._noted)

    def _rewritten(self, code: bytes) -> types.CodeType:
        tree = ast.parse(code, self.path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                node.body.insert(0, _note_at(node))
        compiled: types.CodeType = compile(tree, self.path, "exec", dont_inherit=True)
        return compiled

    def _watch_suppress(self) -> None:
        """``contextlib.suppress`` catches in a function of the library: note it there."""
        suppress = contextlib.suppress.__exit__

        def leave(manager: Any, kind: Any, error: Any, trace: Any) -> Any:
            swallowed = suppress(manager, kind, error, trace)
            if swallowed and sys._getframe(1).f_code.co_filename == self.path:
                self.note(error)
            return swallowed

        contextlib.suppress.__exit__ = leave  # type: ignore[method-assign]

    def _entry(self, error: BaseException) -> Noted:
        """Type, message and line of an exception, whatever its own methods do."""
        try:
            message = str.__str__(str(error))
        except Exception:  # noqa: BLE001 - the code's own __str__ may raise anything
            message = ""
        name = type.__dict__["__name__"].__get__(type(error))
        return name[:MAX_TYPE], message[:MAX_MESSAGE], self._line(error)

    def _line(self, error: BaseException) -> int:
        """The innermost line of the code itself that the exception passed; 0 for none."""
        line = 0
        frames = error.__traceback__
        while frames is not None:
            if frames.tb_frame.f_code.co_filename == self.path:
                line = frames.tb_lineno or 0
            frames = frames.tb_next
        return line


def _note_at(handler: ast.ExceptHandler) -> ast.stmt:
    """The statement that notes, at the place of a handler: tracebacks show the code's lines."""
    statement = ast.parse(_NOTE).body[0]
    for part in ast.walk(statement):
        if hasattr(part, "lineno"):
            ast.copy_location(part, handler)
    return statement
