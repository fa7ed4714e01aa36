"""Names of a library: what a dotted path, a base class or an attribute stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from docgen.constants import Constant
from docgen.definitions import Class, Function, Module, decorator_name

Definition = Module | Class | Function | Constant
_Seen = dict[tuple[str, str], Definition | None]
"""What one search has found so far: (module, name) -> definition."""
_MAX_HOPS = 20  # re-exports followed before a path counts as unresolvable (import cycles)


class Names:
    """Resolves names over a set of modules. Definitions are found, nothing is imported."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = {module.name: module for module in modules}
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, Function] = {}
        for module in modules:
            for function in module.functions.values():
                self.functions[function.qualname] = function
            for cls in module.classes.values():
                self._add_class(cls)
        self._mro: dict[str, list[Class]] = {}
        self._attributes: dict[str, dict[str, ast.expr | None]] = {}

    def _add_class(self, cls: Class) -> None:
        self.classes[cls.qualname] = cls
        for function in cls.functions.values():
            self.functions[function.qualname] = function
        for inner in cls.classes.values():
            self._add_class(inner)

    def path(self, dotted: str, hops: int = 0, seen: _Seen | None = None) -> Definition | None:
        """What an import path stands for, following re-exports."""
        if hops > _MAX_HOPS:
            return None
        seen = {} if seen is None else seen
        direct = self.modules.get(dotted) or self.classes.get(dotted) or self.functions.get(dotted)
        if direct is not None:
            return direct
        parent, _, name = dotted.rpartition(".")
        if not parent:
            return None
        owner = self.path(parent, hops + 1, seen)
        if isinstance(owner, Module):
            return self.in_module(owner, name, hops + 1, seen)
        if isinstance(owner, Class):
            return self.member(owner, name)
        return None

    def in_module(
        self, module: Module, name: str, hops: int = 0, seen: _Seen | None = None
    ) -> Definition | None:
        """What a bare name means at the top level of ``module``."""
        own = module.classes.get(name) or module.functions.get(name)
        if own is not None:
            return own
        seen = {} if seen is None else seen
        if (module.name, name) in seen:  # modules that import each other are searched once
            return seen[module.name, name]
        seen[module.name, name] = None
        found = self._imported(module, name, hops, seen)
        if found is None and module.source.is_package:
            found = self.modules.get(f"{module.name}.{name}")
        found = found or module.constants.get(name)
        seen[module.name, name] = found
        return found

    def _imported(self, module: Module, name: str, hops: int, seen: _Seen) -> Definition | None:
        """What an import statement of ``module`` binds ``name`` to."""
        bound = module.bindings.get(name)
        if bound is not None and bound != f"{module.name}.{name}":
            found = self.path(bound, hops + 1, seen)
            if found is not None:
                return found
        for star in module.stars:
            target = self.modules.get(star)
            if target is not None and hops <= _MAX_HOPS and target.star_exports(name):
                found = self.in_module(target, name, hops + 1, seen)
                if found is not None:
                    return found
        return None

    def expression(self, node: ast.expr, module: Module) -> Definition | None:
        """What a name or dotted expression means at the top level of ``module``."""
        match node:
            case ast.Name(id=name):
                return self.in_module(module, name)
            case ast.Attribute(value=value, attr=attr):
                owner = self.expression(value, module)
                if isinstance(owner, Module):
                    return self.in_module(owner, attr)
                if isinstance(owner, Class):
                    return self.member(owner, attr)
                dotted = _dotted(node, module)
                return self.path(dotted) if dotted else None
            case ast.Subscript(value=value):
                return self.expression(value, module)
        return None

    def annotation(self, node: ast.expr | None, function: Function | Class) -> Class | None:
        """The one class of ours that an annotation names (``X | None``, ``"X"``, ``Self``)."""
        for name in _annotated(node):
            if isinstance(name, ast.Name) and name.id == "Self":
                return function.owner if isinstance(function, Function) else function
            found = self.expression(name, function.module)
            if isinstance(found, Class):
                return found
        return None

    def annotated_classes(self, node: ast.expr | None, owner: Function | Class) -> list[Class]:
        """Every class of ours that an annotation names, also inside ``list[...]``."""
        node = _unquoted(node)
        if node is None:
            return []
        parts = (n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))
        found = (self.expression(part, owner.module) for part in parts)
        return [cls for cls in found if isinstance(cls, Class)]

    def bases(self, cls: Class) -> list[Class]:
        """Direct bases that are ours."""
        found = (self.expression(base, cls.module) for base in cls.node.bases)
        return [base for base in found if isinstance(base, Class) and base is not cls]

    def mro(self, cls: Class) -> list[Class]:
        """Method resolution order over the classes of ours, ``cls`` first.

        C3 as in Python; where bases contradict each other (conditional definitions), depth
        first order without repetition.
        """
        if cls.qualname not in self._mro:
            self._mro[cls.qualname] = [cls]  # ends a cycle of malformed bases
            bases = self.bases(cls)
            merged = _merge([*(list(self.mro(base)) for base in bases), list(bases)])
            self._mro[cls.qualname] = [cls, *merged]
        return self._mro[cls.qualname]

    def member(self, cls: Class, name: str) -> Function | Class | None:
        """The method, property or inner class that ``cls.name`` finds."""
        for owner in self.mro(cls):
            found = owner.functions.get(name) or owner.classes.get(name)
            if found is not None:
                return found
        return None

    def attributes(self, cls: Class) -> dict[str, ast.expr | None]:
        """Attributes that ``cls`` itself brings -> annotation or value that tells the type.

        Annotated and assigned names of the class body, and ``self.x = ...`` in ``__init__``.
        """
        if cls.qualname in self._attributes:
            return self._attributes[cls.qualname]
        found: dict[str, ast.expr | None] = {
            name: node.annotation for name, node in cls.fields.items()
        }
        for name, constant in cls.constants.items():
            found.setdefault(name, constant.value)
        init = cls.functions.get("__init__")
        if init is not None:
            hints = {arg.arg: _unquoted(arg.annotation) for arg in arguments(init)}
            for name, annotation, assigned in _self_assignments(init):
                known = _unquoted(annotation) or _hinted(assigned, hints)
                if found.get(name) is None:
                    found[name] = known or assigned
        self._attributes[cls.qualname] = found
        return found


def arguments(function: Function) -> list[ast.arg]:
    """Every named parameter, ``self`` or ``cls`` left out."""
    spec = function.node.args
    named = [*spec.posonlyargs, *spec.args]
    if function.owner is not None and function.role != "staticmethod":
        named = named[1:]
    return [*named, *spec.kwonlyargs]


def is_enum(cls: Class, names: Names) -> bool:
    """Whether a class is an enumeration (its constants are members, not defaults)."""
    return any(
        decorator_name(base) in {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
        for owner in names.mro(cls)
        for base in owner.node.bases
    )


def _dotted(node: ast.Attribute, module: Module) -> str | None:
    """``np.linalg`` -> ``numpy.linalg`` by the imports of the module."""
    parts: list[str] = []
    current: ast.expr = node
    while isinstance(current, ast.Attribute):
        parts.append(current.attr)
        current = current.value
    if not isinstance(current, ast.Name):
        return None
    root = module.bindings.get(current.id)
    return ".".join([root, *reversed(parts)]) if root else None


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
    receiver = (init.node.args.posonlyargs + init.node.args.args)[:1]
    if not receiver:
        return
    name = receiver[0].arg
    for node in ast.walk(init.node):
        targets: list[tuple[ast.expr, ast.expr | None]] = []
        annotation = None
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple | ast.List):
                    targets.extend((part, None) for part in target.elts)
                else:
                    targets.append((target, node.value))
        elif isinstance(node, ast.AnnAssign):
            targets, annotation = [(node.target, node.value)], node.annotation
        for target, value in targets:
            match target:
                case ast.Attribute(value=ast.Name(id=owner), attr=attr) if owner == name:
                    yield attr, annotation, value


def _hinted(value: ast.expr | None, hints: dict[str, ast.expr | None]) -> ast.expr | None:
    """The annotation of the parameter that a value passes on.

    ``x``, ``x or y`` and ``x if test else y`` all hold what parameter ``x`` holds. A default of
    ``None`` is replaced there, but the annotation is kept as it stands.
    """
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
        tails = {c.qualname for q in queues for c in q[1:]}
        head = next((q[0] for q in queues if q[0].qualname not in tails), queues[0][0])
        if all(head is not seen for seen in result):
            result.append(head)
        queues = [rest for q in queues if (rest := [c for c in q if c is not head])]
    return result
