"""What a body uses: calls and property reads, with light inference of types; constants, imports.

Of a library's own functions, and of code that uses the library.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from docgen.definitions import (
    Class,
    Constant,
    Function,
    Module,
    bind,
    read_module,
    read_modules,
)
from docgen.names import Definition, Names
from docgen.sources import SourceFile
from docgen.symbols import Kind

_MODULE = "__code__"


def used_symbols(function: Function, names: Names) -> list[str]:
    """Qualified names of what the body of ``function`` uses, in order of appearance.

    A receiver's class is known from ``self``, from annotations of parameters and returns, and
    from assignments of constructor calls. What stays unknown is left out, never guessed.
    """
    scope = _LocalScope(function, names)
    qualnames: dict[str, None] = {}
    for node in _walk(function.node.body):
        try:
            used = list(scope.visit(node))
        except RecursionError:
            continue  # a chain of hundreds of calls, in generated code
        for qualname in used:
            if qualname != function.qualname:
                qualnames.setdefault(qualname)
    return list(qualnames)


def references(
    nodes: Iterable[ast.AST], module: Module, names: Names, owner: Class | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Qualified names of constants and attributes of the library, in order of appearance.

    And lines of source: the assignment of each, and the imports of names from outside of the
    library (only where the import does not show the path itself, as ``import numpy`` does).
    """
    constants: dict[str, Constant] = {}
    outside: dict[str, str] = {}
    for node in _walk(nodes, but=("annotation", "returns")):
        target: object = None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            origin = module.bindings.get(node.id, "")
            if origin or node.id in module.constants or module.stars:
                target = names.in_module(module, node.id)
            if (
                target is None
                and "." in origin
                and not origin.startswith(f"{module.name}.")
            ):
                outside.setdefault(node.id, origin)
        elif isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
            holder = owner if own and owner else names.expression(node.value, module)
            if isinstance(holder, Class):
                above = (c.constants.get(node.attr) for c in names.mro(holder))
                target = next(filter(None, above), None)
            else:
                target = names.inside(holder, node.attr)
        if isinstance(target, Constant) and target.node not in nodes:
            constants.setdefault(target.qualname, target)
    imports: dict[str, list[str]] = {}
    for name, origin in outside.items():
        parent, _, last = origin.rpartition(".")
        imports.setdefault(parent, []).append(
            last if last == name else f"{last} as {name}"
        )
    lines = [constant.line for constant in constants.values()]
    lines += [
        f"from {parent} import {', '.join(items)}" for parent, items in imports.items()
    ]
    return tuple(constants), tuple(lines)


def _walk(nodes: Iterable[ast.AST], but: tuple[str, ...] = ()) -> Iterator[ast.AST]:
    """Every node in source order, some fields left out; deep code cannot overflow this."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        fields = (value for name, value in ast.iter_fields(node) if name not in but)
        inner = (
            c
            for value in fields
            for c in (value if isinstance(value, list) else [value])
        )
        stack += [child for child in inner if isinstance(child, ast.AST)][::-1]


class _LocalScope:
    """Local variables of one function -> their class, where it is known."""

    def __init__(self, function: Function, names: Names) -> None:
        self.function = function
        self.names = names
        self.locals: dict[str, Class | None] = {}
        self.imports: dict[str, Definition | None] = {}
        if function.receiver:
            self.locals[function.receiver] = function.owner
        for argument in function.arguments:
            self.locals[argument.arg] = names.annotation(argument.annotation, function)

    def visit(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.ImportFrom(module=base, names=items, level=0) if base:
                for item in items:
                    imported = self.names.path(f"{base}.{item.name}")
                    self.imports[item.asname or item.name] = imported
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.locals[name] = self.infer(value)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                self.locals[name] = self.names.annotation(annotation, self.function)
            case ast.withitem(context_expr=value, optional_vars=ast.Name(id=name)):
                self.locals[name] = self.infer(value)
            case ast.Call(func=func):
                target = self.resolve(func)
                if isinstance(target, Class | Function):
                    yield target.qualname
            case ast.Attribute(ctx=ast.Load()):
                target = self.resolve(node)
                if isinstance(target, Function) and target.role == "property":
                    yield target.qualname

    def resolve(self, node: ast.expr) -> Definition | None:
        """What a name or attribute stands for in this body."""
        match node:
            case ast.Name(id="cls"):
                return self.function.owner
            case ast.Name(id=name) if name in self.locals:
                return None
            case ast.Name(id=name) if name in self.imports:
                return self.imports[name]
            case ast.Name(id=name):
                return self.names.in_module(self.function.module, name)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=attr):
                owner = self.function.owner
                above = self.names.mro(owner)[1:] if owner is not None else []
                return next(
                    (c.functions[attr] for c in above if attr in c.functions), None
                )
            case ast.Attribute(value=value, attr=attr):
                holder = self.infer(value) or self.resolve(value)
                if holder is None and not self._is_local(value):
                    return self.names.expression(node, self.function.module)
                return self.names.inside(holder, attr)
        return None

    def infer(self, node: ast.expr) -> Class | None:
        """The class of ours that an expression's value has, when that is plain."""
        result: Class | None = None
        match node:
            case ast.Name(id=name):
                result = self.locals.get(name)
            case ast.Call(func=func):
                target = self.resolve(func)
                if isinstance(target, Class):
                    result = target
                elif isinstance(target, Function):
                    result = self._returned(target, func)
            case ast.Attribute():
                result = self._read(node)
            case (
                ast.IfExp(body=inner)
                | ast.BoolOp(values=[inner, *_])
                | ast.Await(value=inner)
            ):
                result = self.infer(inner)
        return result

    def _read(self, node: ast.Attribute) -> Class | None:
        """Class of what reading a property or attribute gives."""
        target = self.resolve(node)
        if isinstance(target, Function) and target.role == "property":
            return self._returned(target, node)
        owner = self.infer(node.value) if target is None else None
        for cls in self.names.mro(owner) if owner is not None else ():
            attributes = self.names.attributes(cls)
            if node.attr in attributes:
                return self.names.annotation(attributes[node.attr], cls)
        return None

    def _returned(self, function: Function, callee: ast.expr) -> Class | None:
        """Class of the return annotation; ``Self`` is the receiver's class."""
        returns = function.node.returns
        if isinstance(returns, ast.Name) and returns.id == "Self":
            on = callee.value if isinstance(callee, ast.Attribute) else None
            holder = on and (self.infer(on) or self.resolve(on))
            return holder if isinstance(holder, Class) else function.owner
        return self.names.annotation(returns, function)

    def _is_local(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return (
            not isinstance(node, ast.Name)
            or node.id in self.locals
            or node.id in self.imports
        )


class CodeResolver:
    """Resolves code against the source files of a library."""

    def __init__(self, sources: Sequence[SourceFile]) -> None:
        self._names = Names(read_modules(sources)[0])

    def symbols(self, code: str) -> dict[str, Kind]:
        """The library's symbols that ``code`` uses, in order of appearance, with their kind.

        Classes, functions, methods and properties; a receiver's class is inferred as in
        :func:`used_symbols`. Code outside functions counts too. What is no Python is
        a SyntaxError.
        """
        source = SourceFile(
            _MODULE, f"{_MODULE}.py", _MODULE, None, code, is_package=False
        )
        module = read_module(source)
        self._names.modules[_MODULE] = module
        try:
            functions = self._functions(module)
            used = [
                name
                for function in functions
                for name in used_symbols(function, self._names)
            ]
            names = [*used, *self._named(module)]
        finally:
            del self._names.modules[_MODULE]
        return self.kinds_of(
            name for name in names if not name.startswith(f"{_MODULE}.")
        )

    def kinds_of(self, names: Iterable[str]) -> dict[str, Kind]:
        """Those of some dotted names that are symbols of the library; constructors as classes.

        Names as ``__module__`` and ``__qualname__`` give them, also of functions inside others
        (which are no symbols).
        """
        own = (
            name.removesuffix(".__init__").removesuffix(".__new__") for name in names
        )
        targets = map(self._names.path, own)
        return {f.qualname: f.kind for f in targets if isinstance(f, Class | Function)}

    def _named(self, module: Module) -> Iterator[str]:
        """Classes and functions that the code names (``Structure`` of ``Structure.from_file``)."""
        for node in ast.walk(module.node):
            if isinstance(node, ast.Import | ast.ImportFrom):
                bind(module, node)
        for node in ast.walk(module.node):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                definition = self._names.path(module.bindings.get(node.id, ""))
                if isinstance(definition, Class | Function):
                    yield definition.qualname

    def _functions(self, module: Module) -> Iterator[Function]:
        """Every definition of the code, its top level as a function of its own."""
        top = [
            n
            for n in module.node.body
            if not isinstance(n, ast.FunctionDef | ast.ClassDef)
        ]
        node = ast.parse("def _top(): ...").body[0]
        if isinstance(node, ast.FunctionDef) and top:
            node.body = top
            yield Function("_top", node, module, None, "function", ())
        yield from Names([module]).functions.values()
