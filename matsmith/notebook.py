"""``%load_ext matsmith``: questions in the cells of a notebook."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.assistant import Answer, Event
from agents.assistant.show import CrystalView, crystal_view
from foundation.errors import UsageError
from matsmith.library import Assistant

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_OWN = ("files", "timeout", "vars")


class Cells:
    """The conversation of a notebook.

    ``%%ask`` takes the question from its cell; its line has settings, ``files=A,B``,
    ``timeout=SECONDS`` and ``vars=A,B``, variables of the notebook that the code reads as files
    (``A.json``, of a table ``A.csv``). Other settings than before begin another conversation.
    """

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.assistant: Assistant | None = None
        self._variables = variables
        self._folder = tempfile.TemporaryDirectory(prefix="matsmith-notebook-")

    def ask(self, line: str, cell: str) -> Answer | None:
        """Ask; progress goes to standard error, the answer is the value of the cell."""
        words = [word.partition("=") for word in shlex.split(line)]
        own = {name: value for name, _, value in words if name in _OWN}
        settings = tuple("".join(word) for word in words if word[0] not in _OWN)
        try:
            timeout = float(own["timeout"]) if "timeout" in own else None
            files = [name for name in own.get("files", "").split(",") if name]
            files += [
                self._written(name) for name in own.get("vars", "").split(",") if name
            ]
            if self.assistant is None or (
                settings and settings != self.assistant.settings
            ):
                if self.assistant is not None:
                    self.assistant.close()
                self.assistant = Assistant(
                    *settings, say=lambda text: print(text, file=sys.stderr)
                )
            return self.assistant.ask(
                cell.strip(), files=files, timeout=timeout, listen=_tell
            )
        except (UsageError, ValueError) as error:
            print(f"error: {error}", file=sys.stderr)
            return None

    def _written(self, name: str) -> str:
        """The path of a file that holds a variable."""
        if name not in self._variables:
            raise UsageError(f"vars={name}: no such variable")
        value = self._variables[name]
        path = (
            Path(self._folder.name)
            / f"{name}{'.csv' if hasattr(value, 'to_csv') else '.json'}"
        )
        try:
            if hasattr(value, "to_csv"):
                value.to_csv(path)
            else:
                path.write_text(json.dumps(_plain(value)), encoding="utf-8")
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"vars={name}: cannot be written as a file ({error})"
            ) from error
        return str(path)


def _plain(value: Any) -> Any:
    """An array or an object of the materials libraries as JSON can hold it."""
    for method in ("as_dict", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def _tell(event: Event) -> None:
    if event.done:
        print(f"{event.seconds:5.1f} s  {event.text}", file=sys.stderr)


def view(answer: Answer) -> CrystalView | None:
    """Show the crystals of an answer in a notebook, to be turned, zoomed and saved.

    About 540 kB in the notebook's file, since the viewer comes along: an answer by itself shows
    still pictures. ``None`` where it has no crystal. Needs a browser with WebGL.
    """
    return crystal_view(answer)


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Called by ``%load_ext matsmith``."""
    ipython.magics_manager.register_function(Cells(ipython.user_ns).ask, "cell", "ask")
