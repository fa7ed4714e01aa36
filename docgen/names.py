"""Names of a library: what a dotted path, a base class or an attribute stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache

from docgen.definitions import Class, Constant, Function, Module, last_part

Definition = Module | Class | Function | Constant
_Resolved = dict[tuple[str, str], Definition | None]
"""What one search has found so far: (module, name) -> definition."""
_MAX_HOPS = 20  # re-exports and dots followed before a path counts as unresolvable


class Names:
    """Resolves names over a set of modules. Definitions are found, nothing is imported."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = {module.name: module for module in modules}
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, Function] = {}
        self._mro: dict[Class, list[Class]] = {}
        #: Attributes that a class itself brings -> annotation or value that tells the type:
        #: names of the class body, and ``self.x = ...`` in ``__init__``.
        self.attributes = cache(_attributes)
        for module in modules:
            self._add(module)

    def _add(self, scope: Module | Class) -> None:
        self.functions.update({f.qualname: f for f in scope.functions.values()})
        for cls in scope.classes.values():
            self.classes[cls.qualname] = cls
            self._add(cls)

    def path(
        self, dotted: str, hops: int = 0, resolved: _Resolved | None = None
    ) -> Definition | None:
        """What an import path stands for, following re-exports."""
        if hops > _MAX_HOPS:
            return None
        direct = (
            self.modules.get(dotted)
            or self.classes.get(dotted)
            or self.functions.get(dotted)
        )
        parent, _, name = dotted.rpartition(".")
        if direct is not None or not parent:
            return direct
        resolved = {} if resolved is None else resolved
        return self.inside(
            self.path(parent, hops + 1, resolved), name, hops + 1, resolved
        )

    def inside(
        self,
        owner: Definition | None,
        name: str,
        hops: int = 0,
        resolved: _Resolved | None = None,
    ) -> Definition | None:
        """What ``owner.name`` means, of a module or class."""
        if isinstance(owner, Module):
            return self.in_module(owner, name, hops, resolved)
        return self.member(owner, name) if isinstance(owner, Class) else None

    def in_module(
        self,
        module: Module,
        name: str,
        hops: int = 0,
        resolved: _Resolved | None = None,
    ) -> Definition | None:
        """What a bare name means at the top level of ``module``."""
        own = module.classes.get(name) or module.functions.get(name)
        if own is not None:
            return own
        resolved = {} if resolved is None else resolved
        if (
            module.name,
            name,
        ) not in resolved:  # modules that import each other are searched once
            resolved[module.name, name] = None
            target = self._imported(module, name, hops, resolved)
            if target is None and module.source.is_package:
                target = self.modules.get(f"{module.name}.{name}")
            resolved[module.name, name] = target or module.constants.get(name)
        return resolved[module.name, name]

    def _imported(
        self, module: Module, name: str, hops: int, resolved: _Resolved
    ) -> Definition | None:
        """What an import statement of ``module`` binds ``name`` to."""
        bound = module.bindings.get(name)
        if bound is not None and bound != f"{module.name}.{name}":
            definition = self.path(bound, hops + 1, resolved)
            if definition is not None:
                return definition
        stars = (self.modules.get(star) for star in module.stars if hops <= _MAX_HOPS)
        offering = (
            origin
            for origin in stars
            if origin is not None and origin.star_exports(name)
        )
        starred = (
            self.in_module(target, name, hops + 1, resolved) for target in offering
        )
        return next((origin for origin in starred if origin is not None), None)

    def expression(self, node: ast.expr, module: Module) -> Definition | None:
        """What a name or dotted expression means at the top level of ``module``."""
        match node:
            case ast.Name(id=name):
                return self.in_module(module, name)
            case ast.Attribute(value=value, attr=attr):
                owner = self.expression(value, module)
                if isinstance(owner, Module | Class):
                    return self.inside(owner, attr)
                return self.path(_dotted(node, module))
            case ast.Subscript(value=value):
                return self.expression(value, module)
        return None

    def annotation(
        self, node: ast.expr | None, function: Function | Class
    ) -> Class | None:
        """The one class of ours that an annotation names (``X | None``, ``"X"``, ``Self``)."""
        for name in _annotated(node):
            if isinstance(name, ast.Name) and name.id == "Self":
                return function.owner if isinstance(function, Function) else function
            target = self.expression(name, function.module)
            if isinstance(target, Class):
                return target
        return None

    def annotated_classes(
        self, node: ast.expr | None, owner: Function | Class
    ) -> list[Class]:
        """Every class of ours that an annotation names, also inside ``list[...]``."""
        node = _unquoted(node)
        if node is None:
            return []
        parts = (n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))
        targets = (self.expression(part, owner.module) for part in parts)
        return [cls for cls in targets if isinstance(cls, Class)]

    def bases(self, cls: Class) -> list[Class]:
        """Direct bases that are ours."""
        targets = (self.expression(base, cls.module) for base in cls.node.bases)
        return [base for base in targets if isinstance(base, Class) and base is not cls]

    def mro(self, cls: Class) -> list[Class]:
        """Method resolution order (C3) over the classes of ours, ``cls`` first."""
        if cls not in self._mro:
            self._mro[cls] = [cls]  # ends a cycle of malformed bases
            bases = self.bases(cls)
            self._mro[cls] = [cls, *_merge([*map(self.mro, bases), bases])]
        return self._mro[cls]

    def member(self, cls: Class, name: str) -> Function | Class | None:
        """The method, property or inner class that ``cls.name`` finds."""
        for owner in self.mro(cls):
            if definition := owner.functions.get(name) or owner.classes.get(name):
                return definition
        return None

    def constructor(self, cls: Class) -> Function | Class | None:
        """``__init__`` or ``__new__``; or the class whose fields make the constructor."""
        for owner in self.mro(cls):
            if owner.generated_constructor:
                return owner
            if init := owner.functions.get("__init__") or owner.functions.get(
                "__new__"
            ):
                return init
        return None


def _attributes(cls: Class) -> dict[str, ast.expr | None]:
    annotations: dict[str, ast.expr | None] = {
        n: f.annotation for n, f in cls.fields.items()
    }
    for name, constant in cls.constants.items():
        annotations.setdefault(name, constant.node.value)
    init = cls.functions.get("__init__")
    if init is not None:
        hints = {arg.arg: _unquoted(arg.annotation) for arg in init.arguments}
        for name, annotation, assigned in _self_assignments(init):
            if annotations.get(name) is None:
                annotations[name] = (
                    _unquoted(annotation) or _hinted(assigned, hints) or assigned
                )
    return annotations


def is_enum(cls: Class, names: Names) -> bool:
    """Whether a class is an enumeration (its constants are members, not defaults)."""
    return any(
        last_part(base) in {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
        for owner in names.mro(cls)
        for base in owner.node.bases
    )


def _dotted(node: ast.expr, module: Module) -> str:
    """``np.linalg`` -> ``numpy.linalg`` by the imports of the module, else empty."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    root = module.bindings.get(node.id) if isinstance(node, ast.Name) else None
    return ".".join([root, *parts]) if root else ""


def _unquoted(node: ast.expr | None) -> ast.expr | None:
    """An annotation, that of a forward reference parsed; ``None`` when it does not parse."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return None
    return node


def _annotated(node: ast.expr | None) -> Iterator[ast.expr]:
    node = _unquoted(node)
    match node:
        case ast.Name() | ast.Attribute():
            yield node
        case ast.BinOp(left=left, right=right):
            yield from _annotated(left)
            yield from _annotated(right)
        case ast.Subscript(value=ast.Name(id="Optional" | "Union"), slice=inner):
            choices = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            for choice in choices:
                yield from _annotated(choice)


def _self_assignments(
    init: Function,
) -> Iterator[tuple[str, ast.expr | None, ast.expr | None]]:
    """Name, annotation and value of each ``self.name = value``."""
    for node in ast.walk(init.node):
        annotation: ast.expr | None = None
        pairs: list[tuple[ast.expr, ast.expr | None]] = []
        if isinstance(node, ast.Assign):
            for target in node.targets:
                parts = getattr(
                    target, "elts", None
                )  # what is unpacked has no value of its own
                pairs += (
                    [(target, node.value)]
                    if parts is None
                    else [(p, None) for p in parts]
                )
        elif isinstance(node, ast.AnnAssign):
            annotation = node.annotation
            pairs = [(node.target, node.value)]
        for target, value in pairs:
            match target:
                case ast.Attribute(value=ast.Name(id=owner), attr=attr) if (
                    owner == init.receiver
                ):
                    yield attr, annotation, value


def _hinted(
    value: ast.expr | None, hints: dict[str, ast.expr | None]
) -> ast.expr | None:
    """The annotation of the parameter that ``x``, ``x or y`` or ``x if test else y`` passes on."""
    match value:
        case ast.Name(id=name):
            return hints.get(name)
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(body=first):
            return _hinted(first, hints)
    return None


def _merge(sequences: list[list[Class]]) -> list[Class]:
    """C3 linearisation; inconsistent heads are taken in order."""
    result: list[Class] = []
    queues = [q for q in sequences if q]
    while queues:
        tails = {c for q in queues for c in q[1:]}
        head = next((q[0] for q in queues if q[0] not in tails), queues[0][0])
        if head not in result:
            result.append(head)
        queues = [rest for q in queues if (rest := [c for c in q if c is not head])]
    return result


def exports(names: Names) -> tuple[dict[str, str], dict[str, str]]:
    """Under which other paths definitions can be imported, and the shortest public path of each.

    The first are by alias, members of classes included; the second by qualified name, through the
    ``__init__`` of an enclosing package.
    """
    aliases: dict[str, str] = {}
    shortest: dict[str, str] = {}
    for module in names.modules.values():
        for name in _exported(module, names):
            target = names.in_module(module, name)
            if not isinstance(target, Class | Function | Constant):
                continue
            path = f"{module.name}.{name}"
            aliases.setdefault(path, target.qualname)
            # under another name it is an alias, but not how to call it
            plain = (
                name == target.name
                and not name.startswith("_")
                and module.source.is_package
            )
            inside = target.qualname.startswith(f"{module.name}.")
            if (
                plain
                and inside
                and len(path) < len(shortest.get(target.qualname, target.qualname))
            ):
                shortest[target.qualname] = path
    own = [(qualname, qualname) for qualname in names.classes]
    for path, qualname in [*aliases.items(), *own]:
        for owner in (
            names.mro(names.classes[qualname]) if qualname in names.classes else ()
        ):
            for name in (*owner.functions, *owner.constants):
                aliases.setdefault(f"{path}.{name}", f"{owner.qualname}.{name}")
    return {alias: name for alias, name in aliases.items() if alias != name}, shortest


def _exported(module: Module, names: Names) -> list[str]:
    """Names that can be imported from a module, ``import *`` followed one level."""
    bound = [name for name in module.bindings if name not in module.typing_only]
    own = [*bound, *module.classes, *module.functions, *module.constants]
    for star in module.stars:
        if (target := names.modules.get(star)) is not None:
            offered = (
                *target.bindings,
                *target.classes,
                *target.functions,
                *target.constants,
            )
            own += [name for name in offered if target.star_exports(name)]
            own = [name for name in own if name not in target.typing_only]
    return sorted(set(own))
