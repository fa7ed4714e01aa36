"""Source files -> :class:`~docgen.symbols.Library`: every symbol with its facts resolved."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from docgen.calls import used_symbols
from docgen.constants import Constant
from docgen.definitions import (
    Class,
    Function,
    Module,
    docstring_of,
    last_part,
    read_module,
    statements,
)
from docgen.docstrings import described_names, first_sentence
from docgen.exports import find_aliases, import_paths, short_name
from docgen.names import Names, arguments
from docgen.references import references
from docgen.signatures import (
    annotation_text,
    attribute_type,
    class_signature,
    function_signature,
    value_type,
)
from docgen.sources import SourceFile, distribution_versions, read_sources, sources_digest
from docgen.symbols import Library, Member, MemberKind, Symbol

_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})


def read_library(packages: Sequence[str], folder: Path) -> Library:
    """Read every symbol of ``packages`` below ``folder``; tests are left out.

    Raises
    ------
    docgen.sources.SourceError
        When a package has no source there.
    """
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
    aliases = find_aliases(modules, names)
    shortest = import_paths(modules, names)
    builder = _Builder(names, shortest)
    symbols = {symbol.qualname: symbol for symbol in builder.all()}
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
            if function.owner is None or not _special(function.node.name):
                yield self._function(function)
        for constant in self._constants():
            yield self._constant(constant)

    def _constants(self) -> Iterator[Constant]:
        """Constants and attributes that are no other name for a class or function."""
        for module in self.names.modules.values():
            for constant in module.constants.values():
                if constant.documented and self.names.in_module(module, constant.name) is constant:
                    yield constant
        for cls in self.names.classes.values():
            for name, constant in cls.constants.items():
                value = constant.value or ast.Constant(None)
                target = self.names.expression(value, cls.module)
                renamed = isinstance(target, Class | Function) or (
                    isinstance(value, ast.Name) and value.id in cls.functions
                )
                if constant.documented and name not in cls.functions and not renamed:
                    yield constant

    def _module(self, module: Module) -> Symbol:
        own: list[Class | Function] = [*module.classes.values(), *module.functions.values()]
        own.sort(key=lambda definition: definition.node.lineno)
        members = [self._member(d, "") for d in own if not d.node.name.startswith("_")]
        members += [
            Member(c.name, "constant", self._typed(c), self._told(c), c.qualname)
            for c in module.constants.values()
            if c.documented and self.names.in_module(module, c.name) is c
        ]
        if Path(module.source.path).name == "__init__.py":
            members += self._modules(module.name)
        return Symbol(
            qualname=module.name,
            kind="module",
            signature="",
            docstring=docstring_of(module.tree),
            source="",
            package=module.source.package,
            version=module.source.version,
            path=module.source.path,
            first_line=1,
            last_line=max(1, len(module.lines)),
            members=tuple(members),
            import_path=module.name,
        )

    def _modules(self, package: str) -> Iterator[Member]:
        """The public modules of a package: what each is for, and what it defines."""
        for name in sorted(self.names.modules):
            parent, _, last = name.rpartition(".")
            if parent != package or last.startswith("_"):
                continue
            module = self.names.modules[name]
            told = first_sentence(docstring_of(module.tree))
            defined = [n for n in (*module.classes, *module.functions) if not n.startswith("_")]
            summary = " ".join(
                filter(None, [told, f"Defines {', '.join(defined)}." if defined else ""])
            )
            yield Member(last, "module", "", summary, name)

    def _class(self, cls: Class) -> Symbol:
        init = next(
            (c.functions["__init__"] for c in self.names.mro(cls) if "__init__" in c.functions),
            None,
        )
        own_init = cls.functions.get("__init__")
        docstring = docstring_of(cls.node)
        if init is not None and (init_doc := docstring_of(init.node)):
            docstring = f"{docstring}\n\nConstructor: {init_doc}".strip()
        calls = [base.qualname for base in self.names.bases(cls)]
        if own_init is not None:
            calls += [c for c in used_symbols(own_init, self.names) if c not in calls]
        deprecated = any(last_part(d) == "deprecated" for d in cls.node.decorator_list)
        abstract = any("abstract" in f.modifiers for f in cls.functions.values())
        return self._symbol(
            cls,
            kind="class",
            signature=class_signature(cls, self.names),
            docstring=docstring,
            source=_class_source(cls),
            modifiers=tuple(
                word for word, on in (("abstract", abstract), ("deprecated", deprecated)) if on
            ),
            bases=tuple(self._base_name(base, cls) for base in cls.node.bases),
            raises=_raised(own_init) if own_init is not None else (),
            members=tuple(self._members(cls)),
            calls=tuple(calls),
            types=self._constructor_types(cls),
            **self._references(_class_nodes(cls), cls),
        )

    def _function(self, function: Function) -> Symbol:
        kind = function.role if function.role in {"function", "property"} else "method"
        return self._symbol(
            function,
            kind=kind,
            signature=function.node.name + function_signature(function),
            docstring=docstring_of(function.node),
            source=function.module.segment(_first_line(function), _last_line(function)),
            modifiers=function.modifiers,
            raises=_raised(function),
            calls=tuple(
                name
                for name in used_symbols(function, self.names)
                if not _special(name.rpartition(".")[2])
            ),
            types=self._parameter_types(function),
            returns=self._returned(function),
            **self._references([function.node], function),
        )

    def _constant(self, constant: Constant) -> Symbol:
        typed = self._typed(constant)
        return self._symbol(
            constant,
            kind="attribute" if constant.owner else "constant",
            signature=f"{constant.name} {typed}" if typed else "",
            docstring=self._told(constant),
            source=constant.module.segment(_first_line(constant), _last_line(constant)),
            value=constant.literal,
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
        return " ".join(dict.fromkeys(filter(None, [described, constant.docstring])))

    def _described_in(self, holder: Class | Module) -> dict[str, str]:
        key = holder.qualname if isinstance(holder, Class) else holder.name
        if key not in self._described:  # a base class is read for all its subclasses
            self._described[key] = _described(holder)
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

    def _returned(self, function: Function) -> str:
        cls = self.names.annotation(function.node.returns, function)
        return cls.qualname if cls is not None else ""

    def _symbol(self, definition: Class | Function | Constant, **facts: object) -> Symbol:
        source = definition.module.source
        return Symbol(
            qualname=definition.qualname,
            package=source.package,
            version=source.version,
            path=source.path,
            first_line=_first_line(definition),
            last_line=_last_line(definition),
            import_path=self._import_path(definition),
            **facts,  # type: ignore[arg-type]
        )

    def _import_path(self, definition: Class | Function | Constant) -> str:
        """Shortest public path; of a method or attribute, that of its class and the name."""
        if isinstance(definition, Function | Constant) and definition.owner is not None:
            owner = definition.owner.qualname
            return f"{self.shortest.get(owner, owner)}.{short_name(definition)}"
        return self.shortest.get(definition.qualname, definition.qualname)

    def _base_name(self, base: ast.expr, cls: Class) -> str:
        found = self.names.expression(base, cls.module)
        return found.qualname if isinstance(found, Class) else ast.unparse(base)

    def _members(self, cls: Class) -> Iterator[Member]:
        seen: set[str] = set()
        for owner in self.names.mro(cls):
            origin = "" if owner is cls else owner.node.name
            methods = sorted(owner.functions.values(), key=lambda f: f.node.lineno)
            attributes = self.names.attributes(owner)
            told = self._described_in(owner) if attributes else {}
            for function in methods:
                name = function.node.name
                if not name.startswith("_") and name not in seen:
                    seen.add(name)
                    yield self._member(function, origin, receiver=cls.node.name)
            for name, hint in attributes.items():
                if not name.startswith("_") and name not in seen:
                    seen.add(name)
                    kind = attribute_type(name, hint, owner, self.names)
                    signature = f"-> {kind}" if kind else ""
                    qualname = f"{owner.qualname}.{name}"
                    text = told.get(name, "")
                    yield Member(name, "attribute", signature, text, qualname, origin)

    def _member(
        self, definition: Class | Function, origin: str, *, receiver: str | None = None
    ) -> Member:
        summary = first_sentence(docstring_of(definition.node))
        if isinstance(definition, Class):
            signature = class_signature(definition, self.names)
            signature = signature.removeprefix(definition.node.name)
            role: MemberKind = "class"
        else:
            signature = function_signature(definition, receiver)
            role = definition.role
        return Member(
            definition.node.name, role, signature.strip(), summary, definition.qualname, origin
        )


def _described(holder: Class | Module) -> dict[str, str]:
    """What docstrings say about single names; a class has the last word over its constructor."""
    if isinstance(holder, Module):
        return described_names(docstring_of(holder.tree))
    init = holder.functions.get("__init__")
    constructor = described_names(docstring_of(init.node)) if init is not None else {}
    return {**constructor, **described_names(docstring_of(holder.node))}


def _qualnames(classes: Sequence[Class], *, but: Class | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c.qualname for c in classes if c is not but))


def _special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _first_line(definition: Class | Function | Constant) -> int:
    if isinstance(definition, Constant):
        return definition.node.lineno
    decorators = [d.lineno for d in definition.node.decorator_list]
    return min([definition.node.lineno, *decorators])


def _last_line(definition: Class | Function | Constant) -> int:
    return definition.node.end_lineno or definition.node.lineno


def _class_source(cls: Class) -> str:
    """The class without its methods and inner classes, except the methods that construct it."""
    left_out: set[int] = set()
    inner: list[Class | Function] = [*cls.functions.values(), *cls.classes.values()]
    for definition in inner:
        if definition.node.name not in _CONSTRUCTORS:
            left_out.update(range(_first_line(definition), _last_line(definition) + 1))
    first, last = _first_line(cls), _last_line(cls)
    lines = [cls.module.lines[n - 1] for n in range(first, last + 1) if n not in left_out]
    indent = " " * (len(lines[0]) - len(lines[0].lstrip())) if lines else ""
    return "\n".join(line.removeprefix(indent) for line in lines).rstrip()


def _class_nodes(cls: Class) -> list[ast.AST]:
    """What of a class :func:`_class_source` shows."""
    own = [n for n in statements(cls.node.body) if isinstance(n, ast.Assign | ast.AnnAssign)]
    constructors = [f.node for name, f in cls.functions.items() if name in _CONSTRUCTORS]
    return [*cls.node.bases, *cls.node.decorator_list, *own, *constructors]


def _raised(function: Function) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for node in ast.walk(function.node):
        if isinstance(node, ast.Raise) and node.exc is not None:
            name = last_part(node.exc)
            if name and (name[0].isupper()):
                names.setdefault(name)
    return tuple(names)
