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
    read_modules,
    statements,
)
from docgen.docstrings import CONSTRUCTOR, described_names, first_sentence
from docgen.names import Names, exports
from docgen.signatures import (
    annotation_text,
    attribute_type,
    class_signature,
    function_signature,
    value_type,
)
from docgen.sources import SourceFile, distribution_versions, read_sources
from docgen.symbols import Library, Member, Signature, Symbol

_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})


def read_library(packages: Sequence[str], folder: Path) -> Library:
    """Read every symbol of ``packages`` below ``folder`` (or `SourceError`); tests are left out."""
    return build_library(read_sources(packages, folder))


def build_library(sources: Sequence[SourceFile]) -> Library:
    """Symbols, call graph and import paths of source files."""
    modules, unreadable = read_modules(sources)
    names = Names(modules)
    aliases, shortest = exports(names)
    symbols = {symbol.qualname: symbol for symbol in _Builder(names, shortest).all()}
    return Library(
        symbols={name: symbols[name] for name in sorted(symbols)},
        aliases={
            a: q
            for a, q in sorted(aliases.items())
            if q in symbols and a not in symbols
        },
        versions=distribution_versions(sources),
        unreadable=unreadable,
    )


class _Builder:
    def __init__(self, names: Names, shortest: dict[str, str]) -> None:
        self.names = names
        self.shortest = shortest

    def all(self) -> Iterator[Symbol]:
        for module in self.names.modules.values():
            yield self._module(module)
        for cls in self.names.classes.values():
            yield self._class(cls)
        for function in self.names.functions.values():
            if function.owner is None or not _special(function.name):
                yield self._function(function)
        holders: list[Module | Class] = [
            *self.names.modules.values(),
            *self.names.classes.values(),
        ]
        yield from (
            self._constant(each)
            for holder in holders
            for each in self._constants(holder)
        )

    def _constants(self, holder: Module | Class) -> Iterator[Constant]:
        """Those that are documented, and no other name of a class or function."""
        for name, constant in holder.constants.items():
            if isinstance(holder, Module):
                own = self.names.in_module(holder, name) is constant
            else:
                value = constant.node.value or ast.Constant(None)
                target = self.names.expression(value, holder.module)
                inner = isinstance(value, ast.Name) and value.id in holder.functions
                own = not (
                    name in holder.functions
                    or inner
                    or isinstance(target, Class | Function)
                )
            if own and constant.documented:
                yield constant

    def _module(self, module: Module) -> Symbol:
        own: list[Class | Function] = [
            *module.classes.values(),
            *module.functions.values(),
        ]
        own.sort(key=lambda definition: definition.node.lineno)
        members = [self._member(d, "") for d in own if not d.name.startswith("_")]
        members += [
            Member(
                c.name,
                "constant",
                Signature(None, self._type(c)),
                self._comment(c),
                c.qualname,
            )
            for c in self._constants(module)
        ]
        if module.source.is_package:
            members += self._modules(module.name)
        return self._symbol(
            module,
            [],
            signature=None,
            docstring=docstring_of(module.node),
            source="",
            members=tuple(members),
        )

    def _modules(self, package: str) -> Iterator[Member]:
        """The public modules of a package: what each is for, and what it defines."""
        for name, module in sorted(self.names.modules.items()):
            parent, _, last = name.rpartition(".")
            if parent == package and not last.startswith("_"):
                summary = first_sentence(docstring_of(module.node))
                defined = [
                    n
                    for n in (*module.classes, *module.functions)
                    if not n.startswith("_")
                ]
                listed = f"Defines {', '.join(defined)}." if defined else ""
                yield Member(
                    last, "module", Signature(), f"{summary} {listed}".strip(), name
                )

    def _class(self, cls: Class) -> Symbol:
        inits = [
            c.functions["__init__"]
            for c in self.names.mro(cls)
            if "__init__" in c.functions
        ]
        own_init = cls.functions.get("__init__")
        docstring = docstring_of(cls.node)
        if inits and (init_doc := docstring_of(inits[0].node)):
            docstring = f"{docstring}{CONSTRUCTOR}{init_doc}".strip()
        calls = [base.qualname for base in self.names.bases(cls)]
        calls += used_symbols(own_init, self.names) if own_init is not None else []
        modifiers = {
            "abstract": any("abstract" in f.modifiers for f in cls.functions.values()),
            "deprecated": any(
                last_part(d) == "deprecated" for d in cls.node.decorator_list
            ),
        }
        bases = (
            (base, self.names.expression(base, cls.module)) for base in cls.node.bases
        )
        return self._symbol(
            cls,
            _class_nodes(cls),
            signature=class_signature(cls, self.names),
            docstring=docstring,
            source=_class_source(cls),
            modifiers=tuple(word for word, on in modifiers.items() if on),
            bases=tuple(
                c.qualname if isinstance(c, Class) else ast.unparse(b) for b, c in bases
            ),
            raises=_raised(own_init) if own_init is not None else (),
            members=tuple(self._members(cls)),
            calls=tuple(dict.fromkeys(calls)),
            types=self._types(self.names.constructor(cls), cls),
        )

    def _function(self, function: Function) -> Symbol:
        used = used_symbols(function, self.names)
        returned = self.names.annotation(function.node.returns, function)
        return self._symbol(
            function,
            [function.node],
            signature=function_signature(function),
            docstring=docstring_of(function.node),
            source=function.module.segment(*function.span),
            modifiers=function.modifiers,
            raises=_raised(function),
            calls=tuple(name for name in used if not _special(name.rpartition(".")[2])),
            types=self._types(function, function.owner),
            returns=returned.qualname if returned is not None else "",
        )

    def _constant(self, constant: Constant) -> Symbol:
        kind = self._type(constant)
        return self._symbol(
            constant,
            [constant.node],
            signature=Signature(None, kind) if kind else None,
            docstring=self._comment(constant),
            source=constant.module.segment(*constant.span),
            value=constant.literal,
        )

    def _type(self, constant: Constant) -> str:
        """Where annotation or value tell, else empty."""
        owner = constant.owner
        node = constant.node
        if isinstance(node, ast.AnnAssign):
            return annotation_text(node.annotation)
        return value_type(node.value, owner or constant.module, self.names)

    def _comment(self, constant: Constant) -> str:
        """What is said about a constant beside it and in the docstring of what holds it."""
        holder = constant.owner or constant.module
        described = self._described_in(holder).get(constant.name, "")
        return " ".join(dict.fromkeys(filter(None, [described, constant.comment])))

    def _described_in(self, holder: Class | Module) -> dict[str, str]:
        init = holder.functions.get("__init__") if isinstance(holder, Class) else None
        above = described_names(docstring_of(init.node)) if init is not None else {}
        return {**above, **described_names(docstring_of(holder.node))}

    def _types(
        self, source: Function | Class | None, cls: Class | None
    ) -> tuple[str, ...]:
        """Classes besides ``cls`` that parameters of a function or fields of a class name."""
        if source is None:
            return ()
        typed = (
            source.fields.values() if isinstance(source, Class) else source.arguments
        )
        classes = [
            c for t in typed for c in self.names.annotated_classes(t.annotation, source)
        ]
        but = (cls, source.owner if isinstance(source, Function) else None)
        return tuple(dict.fromkeys(c.qualname for c in classes if c not in but))

    def _symbol(
        self,
        definition: Module | Class | Function | Constant,
        nodes: Sequence[ast.AST],
        **facts: Any,
    ) -> Symbol:
        """With what all definitions have; ``nodes`` are what of it refers to others."""
        module = definition if isinstance(definition, Module) else definition.module
        owner = None if isinstance(definition, Module) else definition.owner
        inside = definition if isinstance(definition, Class) else owner
        refers, context = references(nodes, module, self.names, inside)
        path = self.shortest.get(definition.qualname, definition.qualname)
        if owner is not None and not isinstance(definition, Class):
            path = (
                f"{self.shortest.get(owner.qualname, owner.qualname)}.{definition.name}"
            )
        return Symbol(
            qualname=definition.qualname,
            kind=definition.kind,
            package=module.source.package,
            version=module.source.version,
            path=module.source.path,
            first_line=definition.span[0],
            last_line=definition.span[1],
            import_path=path,
            refers=refers,
            context=context,
            **facts,
        )

    def _members(self, cls: Class) -> Iterator[Member]:
        names: set[str] = set()
        for owner in self.names.mro(cls):
            origin = "" if owner is cls else owner.name
            attributes = self.names.attributes(owner)
            descriptions = self._described_in(owner) if attributes else {}
            methods = sorted(owner.functions.values(), key=lambda f: f.node.lineno)
            for name, hint in [*((f.name, f) for f in methods), *attributes.items()]:
                if name.startswith("_") or name in names:
                    continue
                names.add(name)
                if isinstance(hint, Function):
                    yield self._member(hint, origin, receiver=cls.name)
                else:
                    kind = attribute_type(name, hint, owner, self.names)
                    yield Member(
                        name,
                        "attribute",
                        Signature(None, kind),
                        descriptions.get(name, ""),
                        f"{owner.qualname}.{name}",
                        origin,
                    )

    def _member(
        self, definition: Class | Function, origin: str, *, receiver: str | None = None
    ) -> Member:
        if isinstance(definition, Class):
            signature = class_signature(definition, self.names)
        else:
            signature = function_signature(definition, receiver)
        return Member(
            definition.name,
            "class" if isinstance(definition, Class) else definition.role,
            signature,
            first_sentence(docstring_of(definition.node)),
            definition.qualname,
            origin,
        )


def _special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _class_source(cls: Class) -> str:
    """The class without its methods and inner classes, except the methods that construct it."""
    left_out: set[int] = set()
    for definition in (*cls.functions.values(), *cls.classes.values()):
        if definition.name not in _CONSTRUCTORS:
            left_out.update(range(definition.span[0], definition.span[1] + 1))
    numbers = (n for n in range(cls.span[0], cls.span[1] + 1) if n not in left_out)
    lines = [cls.module.lines[n - 1] for n in numbers]
    indent = " " * (len(lines[0]) - len(lines[0].lstrip())) if lines else ""
    return "\n".join(line.removeprefix(indent) for line in lines).rstrip()


def _class_nodes(cls: Class) -> list[ast.AST]:
    """What of a class :func:`_class_source` shows."""
    own = [
        n
        for n in statements(cls.node.body)
        if isinstance(n, ast.Assign | ast.AnnAssign)
    ]
    constructors = [
        f.node for name, f in cls.functions.items() if name in _CONSTRUCTORS
    ]
    return [*cls.node.bases, *cls.node.decorator_list, *own, *constructors]


def _raised(function: Function) -> tuple[str, ...]:
    raised = (
        n.exc for n in ast.walk(function.node) if isinstance(n, ast.Raise) and n.exc
    )
    return tuple(
        name for name in dict.fromkeys(map(last_part, raised)) if name[:1].isupper()
    )
