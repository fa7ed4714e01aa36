"""Types of the objects that a program makes, as far as documents tell."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from agents.models.rules.knowledge import Knowledge, Member, Symbol, element, plain

_PROBE = re.compile(r"^probe (\w+): (list of )?([\w.]+)$", re.MULTILINE)
_SELF = {"Self", "cls", "self"}


@dataclass
class Scope:
    """Imports and variable types while a program is read from top to bottom.

    Types are annotations as text: a qualified name, a short name, ``list[X]``, or ``""``.
    """

    knowledge: Knowledge
    imports: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    probed: dict[str, str] = field(default_factory=dict)

    def run(self, statement: ast.stmt) -> None:
        """Take note of what a statement binds."""
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                self.imports[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                self.imports[alias.asname or alias.name] = alias.name
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                self._bind(target, statement.value)
        elif isinstance(statement, ast.For):
            self._bind_item(statement.target, self.infer(statement.iter))
            for inner in statement.body:
                self.run(inner)
        elif isinstance(statement, (ast.With, ast.If, ast.Try)):
            for inner in statement.body:
                self.run(inner)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.types[target.id] = self.probed.get(target.id) or self.infer(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            inner = element(self.infer(value))
            for index, item in enumerate(target.elts):
                if isinstance(item, ast.Name):
                    known = self.infer(parts[index]) if index < len(parts) else inner
                    self.types[item.id] = self.probed.get(item.id) or known

    def _bind_item(self, target: ast.expr, container: str) -> None:
        if isinstance(target, ast.Name):
            self.types[target.id] = element(container)

    def infer(self, node: ast.expr) -> str:
        """Annotation of an expression, ``""`` when unknown."""
        match node:
            case ast.Name(id=name):
                return self.types.get(name, "")
            case ast.Constant(value=value):
                return type(value).__name__
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=owner, attr=attr):
                member = self.member(self.infer(owner), attr)
                return member.signature.returns if member else ""
            case ast.Subscript(value=owner):
                return element(self.infer(owner))
            case ast.BinOp(left=left):
                return self.infer(left)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                inner = self.infer(items[0]) if items else ""
                return f"list[{inner}]" if inner else "list"
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node)
            case ast.Dict() | ast.DictComp():
                return "dict"
            case ast.Compare():
                return "bool"
            case _:
                return ""

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> str:
        before = dict(self.types)
        for generator in node.generators:
            self._bind_item(generator.target, self.infer(generator.iter))
        inner = self.infer(node.elt)
        self.types = before
        return f"list[{inner}]" if inner else "list"

    def _call(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Name):
            return self._call_name(function.id, node)
        if isinstance(function, ast.Attribute):
            owner_class = self.imported_class(function.value)
            if owner_class:
                member = self.member(owner_class, function.attr)
                returns = member.signature.returns if member else ""
                own = plain(returns) in _SELF | {owner_class.rpartition(".")[2]}
                return owner_class if own or (not returns and "from" in function.attr) else returns
            owner = self.infer(function.value)
            member = self.member(owner, function.attr)
            if member is None:
                return owner if function.attr == "copy" else ""
            returns = member.signature.returns
            return owner if plain(returns) in _SELF else returns
        return ""

    def _call_name(self, name: str, node: ast.Call) -> str:
        argument = self.infer(node.args[0]) if node.args else ""
        if name in {"next", "max", "min"}:
            return element(argument)
        if name in {"list", "sorted", "tuple", "reversed"}:
            inner = element(argument)
            return f"list[{inner}]" if inner else "list"
        if name in {"int", "float", "str", "bool", "dict", "set"}:
            return name
        if name in {"len", "sum", "abs", "round"}:
            return "int" if name == "len" else "float"
        qualname = self.imports.get(name, "")
        if not qualname:
            return ""
        symbol = self.knowledge.find(qualname)
        if symbol is None:
            return qualname if name[:1].isupper() else ""
        return symbol.qualname if symbol.kind == "class" else symbol.signature.returns

    def imported_class(self, node: ast.expr) -> str:
        """Qualified name of an imported class that ``node`` names, else ``""``."""
        if not isinstance(node, ast.Name) or node.id in self.types:
            return ""
        qualname = self.imports.get(node.id, "")
        return qualname if node.id[:1].isupper() else ""

    def symbol(self, annotation: str) -> Symbol | None:
        """Class that an annotation names, if a document describes it."""
        text = annotation.strip().strip("'\"")
        if not text or "[" in text:
            return None
        found = self.knowledge.find(text) or self.knowledge.find(plain(text))
        return found if found is not None and found.kind == "class" else None

    def member(self, annotation: str, name: str) -> Member | None:
        """Member of a class by name, if a document lists it."""
        symbol = self.symbol(annotation)
        if symbol is None:
            return None
        return next((member for member in symbol.members if member.name == name), None)


def probes(printed: str) -> dict[str, str]:
    """Types that an earlier draft printed about its variables."""
    return {name: f"list[{kind}]" if many else kind for name, many, kind in _PROBE.findall(printed)}
