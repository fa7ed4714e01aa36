"""Correct materials-science code out of language models, in a script or a notebook.

``matsmith.ask(question)`` answers one question, ``matsmith.open(...)`` a conversation; both take
settings as words of the command line (``"model.name=gpt-4o"``). In a notebook, ``%load_ext
matsmith`` gives ``%%ask``.
"""

from matsmith.assistant import Assistant, ask
from matsmith.notebook import load_ipython_extension
from matsmith.parts import Sandbox, get_retriever

open = Assistant  # noqa: A001 -- reads as `matsmith.open(...)`

__all__ = ["Assistant", "Sandbox", "ask", "get_retriever", "load_ipython_extension", "open"]
