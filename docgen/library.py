"""Source files -> :class:`~docgen.symbols.Library`: every symbol with its facts resolved."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docgen.calls import references, used_symbols
from docgen.definitions import (
    Class,
    Constant,
    Function,
    Module,
    docstring_of,
    last_part,
    read_module,
    statements,
)
from docgen.docstrings import described_names, first_sentence
from docgen.names import Names, arguments, exports
from docgen.signatures import (
    annotation_text,
    attribute_type,
    class_signature,
    function_signature,
    value_type,
)
from docgen.sources import SourceFile, distribution_versions, read_sources, sources_digest
from docgen.symbols import Library, Member, Symbol

_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})


def read_library(packages: Sequence[str], folder: Path) -> Library:
    """Read every symbol of ``packages`` below ``folder`` (or `SourceError`); tests are left out."""
    return build_library(read_sources(packages, folder))


def build_library(sources: Sequence[SourceFile]) -> Library:
    """Symbols, call graph and import paths of source files."""
    modules: list[Module] = []
    unreadable: dict[str, str] = {}
    for source in sources:
        try:
            modules.append(read_module(source))
        except SyntaxError as error:
            place = f", line {error.lineno}" if error.lineno else ""
            unreadable[source.path] = f"{error.msg}{place}"
    names = Names(modules)
    aliases, shortest = exports(names)
    symbols = {symbol.qualname: symbol for symbol in _Builder(names, shortest).all()}
    return Library(
        symbols={name: symbols[name] for name in sorted(symbols)},
        aliases={a: q for a, q in sorted(aliases.items()) if q in symbols and a not in symbols},
        versions=distribution_versions(sources),
        unreadable=unreadable,
        digest=sources_digest(sources),
    )


class _Builder:
    def __init__(self, names: Names, shortest: dict[str, str]) -> None:
        self.names = names
        self.shortest = shortest
        self._described: dict[str, dict[str, str]] = {}

    def all(self) -> Iterator[Symbol]:
        for module in self.names.modules.values():
            yield self._module(module)
        for cls in self.names.classes.values():
            yield self._class(cls)
        for function in self.names.functions.values():
            if function.owner is None or not _special(function.name):
                yield self._function(function)
        for module in self.names.modules.values():
            yield from map(self._constant, self._constants(module))
        for cls in self.names.classes.values():
            for name, constant in cls.constants.items():
                value = constant.value or ast.Constant(None)
                target = self.names.expression(value, cls.module)
                renamed = isinstance(target, Class | Function) or (
                    isinstance(value, ast.Name) and value.id in cls.functions
                )  # another name for a class or function
                if constant.documented and name not in cls.functions and not renamed:
                    yield self._constant(constant)

    def _constants(self, module: Module) -> Iterator[Constant]:
        for constant in module.constants.values():
            if constant.documented and self.names.in_module(module, constant.name) is constant:
                yield constant

    def _module(self, module: Module) -> Symbol:
        own: list[Class | Function] = [*module.classes.values(), *module.functions.values()]
        own.sort(key=lambda definition: definition.node.lineno)
        members = [self._member(d, "") for d in own if not d.name.startswith("_")]
        members += [
            Member(c.name, "constant", self._typed(c), self._told(c), c.qualname)
            for c in self._constants(module)
        ]
        if Path(module.source.path).name == "__init__.py":
            members += self._modules(module.name)
        return self._symbol(
            module,
            (1, max(1, len(module.lines))),
            kind="module",
            signature="",
            docstring=docstring_of(module.node),
            source="",
            members=tuple(members),
            import_path=module.name,
        )

    def _modules(self, package: str) -> Iterator[Member]:
        """The public modules of a package: what each is for, and what it defines."""
        for name, module in sorted(self.names.modules.items()):
            parent, _, last = name.rpartition(".")
            if parent == package and not last.startswith("_"):
                told = first_sentence(docstring_of(module.node))
                defined = [n for n in (*module.classes, *module.functions) if not n.startswith("_")]
                listed = f"Defines {', '.join(defined)}." if defined else ""
                yield Member(last, "module", "", f"{told} {listed}".strip(), name)

    def _class(self, cls: Class) -> Symbol:
        inits = [c.functions["__init__"] for c in self.names.mro(cls) if "__init__" in c.functions]
        own_init = cls.functions.get("__init__")
        docstring = docstring_of(cls.node)
        if inits and (init_doc := docstring_of(inits[0].node)):
            docstring = f"{docstring}\n\nConstructor: {init_doc}".strip()
        calls = [base.qualname for base in self.names.bases(cls)]
        calls += used_symbols(own_init, self.names) if own_init is not None else []
        modifiers = {
            "abstract": any("abstract" in f.modifiers for f in cls.functions.values()),
            "deprecated": any(last_part(d) == "deprecated" for d in cls.node.decorator_list),
        }
        return self._symbol(
            cls,
            cls.lines,
            kind="class",
            signature=class_signature(cls, self.names),
            docstring=docstring,
            source=_class_source(cls),
            modifiers=tuple(word for word, on in modifiers.items() if on),
            bases=tuple(self._base_name(base, cls) for base in cls.node.bases),
            raises=_raised(own_init) if own_init is not None else (),
            members=tuple(self._members(cls)),
            calls=tuple(dict.fromkeys(calls)),
            types=self._constructor_types(cls),
            import_path=self.shortest.get(cls.qualname, cls.qualname),
            **self._references(_class_nodes(cls), cls),
        )

    def _function(self, function: Function) -> Symbol:
        used = used_symbols(function, self.names)
        returned = self.names.annotation(function.node.returns, function)
        return self._symbol(
            function,
            function.lines,
            kind=function.role if function.role in {"function", "property"} else "method",
            signature=function.name + function_signature(function),
            docstring=docstring_of(function.node),
            source=function.module.segment(*function.lines),
            modifiers=function.modifiers,
            raises=_raised(function),
            calls=tuple(name for name in used if not _special(name.rpartition(".")[2])),
            types=self._parameter_types(function),
            returns=returned.qualname if returned is not None else "",
            import_path=self._import_path(function),
            **self._references([function.node], function),
        )

    def _constant(self, constant: Constant) -> Symbol:
        typed = self._typed(constant)
        return self._symbol(
            constant,
            constant.lines,
            kind="attribute" if constant.owner else "constant",
            signature=f"{constant.name} {typed}" if typed else "",
            docstring=self._told(constant),
            source=constant.module.segment(*constant.lines),
            value=constant.literal,
            import_path=self._import_path(constant),
            **self._references([constant.node], constant),
        )

    def _typed(self, constant: Constant) -> str:
        """``-> float`` where annotation or value tell."""
        owner, node = constant.owner, constant.node
        if isinstance(node, ast.AnnAssign):
            kind = annotation_text(node.annotation)
        else:
            kind = value_type(constant.value, owner or constant.module, self.names)
        return f"-> {kind}" if kind else ""

    def _told(self, constant: Constant) -> str:
        """What is said about a constant beside it and in the docstring of what holds it."""
        holder = constant.owner or constant.module
        described = self._described_in(holder).get(constant.name, "")
        return " ".join(dict.fromkeys(filter(None, [described, constant.told])))

    def _described_in(self, holder: Class | Module) -> dict[str, str]:
        """What docstrings say about names; a class has the last word over its constructor."""
        key = holder.qualname
        if key not in self._described:  # a base class is read for all its subclasses
            told = described_names(docstring_of(holder.node))
            init = holder.functions.get("__init__") if isinstance(holder, Class) else None
            above = described_names(docstring_of(init.node)) if init is not None else {}
            self._described[key] = {**above, **told}
        return self._described[key]

    def _references(
        self, nodes: Sequence[ast.AST], definition: Class | Function | Constant
    ) -> dict[str, tuple[str, ...]]:
        owner = definition if isinstance(definition, Class) else definition.owner
        constants, outside = references(nodes, definition.module, self.names, owner)
        imports: dict[str, list[str]] = {}
        for name, origin in outside.items():
            parent, _, last = origin.rpartition(".")
            imports.setdefault(parent, []).append(last if last == name else f"{last} as {name}")
        lines = [constant.line for constant in constants.values()]
        lines += [f"from {parent} import {', '.join(names)}" for parent, names in imports.items()]
        return {"refers": tuple(constants), "context": tuple(lines)}

    def _constructor_types(self, cls: Class) -> tuple[str, ...]:
        """Classes that the parameters of the constructor name."""
        for owner in self.names.mro(cls):
            if owner.generated_constructor:
                fields = (node.annotation for node in owner.fields.values())
                found = [c for f in fields for c in self.names.annotated_classes(f, owner)]
                return _qualnames(found, but=cls)
            init = owner.functions.get("__init__") or owner.functions.get("__new__")
            if init is not None:
                return tuple(t for t in self._parameter_types(init) if t != cls.qualname)
        return ()

    def _parameter_types(self, function: Function) -> tuple[str, ...]:
        hints = (argument.annotation for argument in arguments(function))
        found = [c for hint in hints for c in self.names.annotated_classes(hint, function)]
        return _qualnames(found, but=function.owner)

    def _symbol(
        self, definition: Module | Class | Function | Constant, lines: tuple[int, int], **facts: Any
    ) -> Symbol:
        module = definition if isinstance(definition, Module) else definition.module
        return Symbol(
            qualname=definition.qualname,
            package=module.source.package,
            version=module.source.version,
            path=module.source.path,
            first_line=lines[0],
            last_line=lines[1],
            **facts,
        )

    def _import_path(self, definition: Function | Constant) -> str:
        """Shortest public path; of a method or attribute, that of its class and the name."""
        if definition.owner is not None:
            owner = definition.owner.qualname
            return f"{self.shortest.get(owner, owner)}.{definition.name}"
        return self.shortest.get(definition.qualname, definition.qualname)

    def _base_name(self, base: ast.expr, cls: Class) -> str:
        found = self.names.expression(base, cls.module)
        return found.qualname if isinstance(found, Class) else ast.unparse(base)

    def _members(self, cls: Class) -> Iterator[Member]:
        seen: set[str] = set()
        for owner in self.names.mro(cls):
            origin = "" if owner is cls else owner.name
            attributes = self.names.attributes(owner)
            told = self._described_in(owner) if attributes else {}
            methods = sorted(owner.functions.values(), key=lambda f: f.node.lineno)
            for name, hint in [*((f.name, f) for f in methods), *attributes.items()]:
                if name.startswith("_") or name in seen:
                    continue
                seen.add(name)
                if isinstance(hint, Function):
                    yield self._member(hint, origin, receiver=cls.name)
                else:
                    kind = attribute_type(name, hint, owner, self.names)
                    signature, qualname = f"-> {kind}" if kind else "", f"{owner.qualname}.{name}"
                    yield Member(name, "attribute", signature, told.get(name, ""), qualname, origin)

    def _member(
        self, definition: Class | Function, origin: str, *, receiver: str | None = None
    ) -> Member:
        if isinstance(definition, Class):
            signature = class_signature(definition, self.names).removeprefix(definition.name)
        else:
            signature = function_signature(definition, receiver)
        return Member(
            definition.name,
            "class" if isinstance(definition, Class) else definition.role,
            signature.strip(),
            first_sentence(docstring_of(definition.node)),
            definition.qualname,
            origin,
        )


def _qualnames(classes: Sequence[Class], *, but: Class | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c.qualname for c in classes if c is not but))


def _special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _class_source(cls: Class) -> str:
    """The class without its methods and inner classes, except the methods that construct it."""
    left_out: set[int] = set()
    for definition in (*cls.functions.values(), *cls.classes.values()):
        if definition.name not in _CONSTRUCTORS:
            left_out.update(range(definition.lines[0], definition.lines[1] + 1))
    numbers = (n for n in range(cls.lines[0], cls.lines[1] + 1) if n not in left_out)
    lines = [cls.module.lines[n - 1] for n in numbers]
    indent = " " * (len(lines[0]) - len(lines[0].lstrip())) if lines else ""
    return "\n".join(line.removeprefix(indent) for line in lines).rstrip()


def _class_nodes(cls: Class) -> list[ast.AST]:
    """What of a class :func:`_class_source` shows."""
    own = [n for n in statements(cls.node.body) if isinstance(n, ast.Assign | ast.AnnAssign)]
    constructors = [f.node for name, f in cls.functions.items() if name in _CONSTRUCTORS]
    return [*cls.node.bases, *cls.node.decorator_list, *own, *constructors]


def _raised(function: Function) -> tuple[str, ...]:
    raised = (n.exc for n in ast.walk(function.node) if isinstance(n, ast.Raise) and n.exc)
    return tuple(name for name in dict.fromkeys(map(last_part, raised)) if name[:1].isupper())
