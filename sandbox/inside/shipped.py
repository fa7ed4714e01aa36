"""The first text that a worker executes: lets it import modules that the host sends as text."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType


class Shipped:
    """A finder of modules among texts, by dotted name; what lies above one is a package."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts: dict[str, str] = {}
        self.names: set[str] = set()
        self.add(texts)

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name not in self.names:
            return None
        package = any(other.startswith(f"{name}.") for other in self.names)
        return ModuleSpec(name, self, is_package=package)  # type: ignore[arg-type]

    def add(self, texts: Mapping[str, str]) -> None:
        """Know further modules."""
        self.texts |= texts
        for name in texts:
            parts = name.split(".")
            self.names |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}

    def create_module(self, spec: ModuleSpec) -> None:
        """See `importlib.abc.Loader`: an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`."""
        module.__file__ = file = f"{module.__name__.replace('.', '/')}.py"
        text = self.texts.get(module.__name__, "")
        exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102

    def get_source(self, name: str) -> str | None:
        """The text of a module, for tracebacks."""
        return self.texts.get(name)

    def hide(self) -> None:
        """Nothing of it can be imported, or stands in the way of modules of the same name."""
        sys.meta_path.remove(self)
        for name in self.names:
            sys.modules.pop(name, None)
