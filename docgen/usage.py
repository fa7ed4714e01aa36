"""Which symbols of a library a piece of code uses, found without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from docgen.calls import used_symbols
from docgen.definitions import Class, Function, Module, read_module
from docgen.names import Names
from docgen.sources import SourceFile
from docgen.symbols import Kind

_MODULE = "__code__"


class CodeResolver:
    """Resolves code against the source files of a library."""

    def __init__(self, sources: Sequence[SourceFile]) -> None:
        self._modules: list[Module] = []
        for source in sources:
            try:
                self._modules.append(read_module(source))
            except SyntaxError:
                continue  # build_library names such files; nothing can resolve to them
        self._names = Names(self._modules)

    def symbols(self, code: str) -> dict[str, Kind]:
        """The library's symbols that ``code`` uses, in order of appearance, with their kind.

        Classes, functions, methods and properties; a receiver's class is inferred as in
        :func:`docgen.calls.used_symbols`. Code outside functions counts too. What is no Python is
        a SyntaxError.
        """
        source = SourceFile(_MODULE, f"{_MODULE}.py", _MODULE, None, code, is_package=False)
        module = read_module(source)
        self._names.modules[_MODULE] = module
        try:
            found: dict[str, None] = {}
            for function in self._functions(module):
                for name in used_symbols(function, self._names):
                    found.setdefault(_without_constructor(name))
            for name in self._named(module):
                found.setdefault(name)
        finally:
            del self._names.modules[_MODULE]
        return {n: self._kind(n) for n in found if not n.startswith(f"{_MODULE}.")}

    def known(self, names: Iterable[str]) -> dict[str, Kind]:
        """Those of some dotted names that are symbols of the library; constructors as classes.

        Names as ``__module__`` and ``__qualname__`` give them, also of functions inside others
        (which are no symbols).
        """
        found: dict[str, Kind] = {}
        for name in names:
            definition = self._names.path(_without_constructor(name))
            if isinstance(definition, Class | Function):
                found[definition.qualname] = self._kind(definition.qualname)
        return found

    def _kind(self, name: str) -> Kind:
        definition = self._names.path(name)
        if isinstance(definition, Function):
            role = definition.role
            return role if role in {"function", "property"} else "method"
        return "class" if isinstance(definition, Class) else "module"

    def _named(self, module: Module) -> Iterator[str]:
        """Classes and functions that the code names (``Structure`` of ``Structure.from_file``)."""
        imported: dict[str, str] = {}
        for node in ast.walk(module.node):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for item in node.names:
                    imported[item.asname or item.name] = f"{node.module}.{item.name}"
            elif isinstance(node, ast.Import):
                imported.update({i.asname: i.name for i in node.names if i.asname})
        for node in ast.walk(module.node):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                definition = self._names.path(imported.get(node.id, ""))
                if isinstance(definition, Class | Function):
                    yield definition.qualname

    def _functions(self, module: Module) -> Iterator[Function]:
        """Every definition of the code, its top level as a function of its own."""
        top = [n for n in module.node.body if not isinstance(n, ast.FunctionDef | ast.ClassDef)]
        node = ast.parse("def _top(): ...").body[0]
        if isinstance(node, ast.FunctionDef) and top:
            node.body = top
            yield Function("_top", node, module, None, "function", ())
        yield from Names([module]).functions.values()


def _without_constructor(name: str) -> str:
    return name.removesuffix(".__init__").removesuffix(".__new__")
