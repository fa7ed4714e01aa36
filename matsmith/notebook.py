"""``%load_ext matsmith``: questions in the cells of a notebook."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from agents.assistant import Answer, Event
from matsmith.assistant import Assistant
from sandbox.command import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_OWN = ("files", "timeout")


class Cells:
    """The conversation of a notebook.

    ``%%ask`` takes the question from its cell; its line has settings, ``files=A,B`` and
    ``timeout=SECONDS``. Other settings than before begin another conversation.
    """

    def __init__(self) -> None:
        self.assistant: Assistant | None = None

    def ask(self, line: str, cell: str) -> Answer | None:
        """Ask; progress goes to standard error, the answer is the value of the cell."""
        words = shlex.split(line)
        own = dict(word.split("=", 1) for word in words if word.partition("=")[0] in _OWN)
        settings = tuple(word for word in words if word.partition("=")[0] not in _OWN)
        files = own["files"].split(",") if "files" in own else ()
        try:
            timeout = float(own["timeout"]) if "timeout" in own else None
        except ValueError:
            return self._refuse(f"timeout={own['timeout']}: must be a number of seconds")
        try:
            if self.assistant is None or (settings and settings != self.assistant.settings):
                if self.assistant is not None:
                    self.assistant.close()
                self.assistant = Assistant(*settings, say=_say)
            return self.assistant.ask(cell.strip(), files=files, timeout=timeout, listen=_tell)
        except UsageError as error:
            return self._refuse(str(error))

    @staticmethod
    def _refuse(why: str) -> None:
        print(f"error: {why}", file=sys.stderr)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _tell(event: Event) -> None:
    if event.done:
        print(f"{event.seconds:5.1f} s  {event.text}", file=sys.stderr)


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Called by ``%load_ext matsmith``."""
    ipython.magics_manager.register_function(Cells().ask, "cell", "ask")
