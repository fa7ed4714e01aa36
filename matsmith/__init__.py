"""Reliable materials-science code from language models, in a script or a notebook.

``matsmith.ask(question)`` answers one question, ``matsmith.open(...)`` a conversation; both take
settings as words of the command line (``"model.name=gpt-4o"``). In a notebook, ``%load_ext
matsmith`` gives ``%%ask``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from agents.assistant.answers import Answer
    from matsmith.library import Assistant, Sandbox, ask, get_retriever, open  # noqa: A004
    from matsmith.notebook import load_ipython_extension, view

__all__ = [
    "Answer",
    "Assistant",
    "Sandbox",
    "__version__",
    "ask",
    "get_retriever",
    "load_ipython_extension",
    "open",
    "view",
]

_PACKAGES = Path(__file__).with_name(
    "_packages"
)  # of a wheel; a checkout has them beside this
if _PACKAGES.is_dir() and str(_PACKAGES) not in sys.path:
    for _name in ("agents", "experiments", "sandbox"):
        if _name in sys.modules:
            raise ImportError(
                f"another package called {_name!r} is imported already "
                f"({sys.modules[_name].__file__}): it and matsmith need a process each"
            )
    sys.path.insert(0, str(_PACKAGES))


def __getattr__(name: str) -> Any:
    """Import a public name when it is used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    part: Any
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("matsmith")
    if name == "Answer":
        from agents.assistant import answers as part  # noqa: PLC0415
    elif name in {"load_ipython_extension", "view"}:
        from matsmith import notebook as part  # noqa: PLC0415
    else:
        from matsmith import library as part  # noqa: PLC0415
    return getattr(part, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
