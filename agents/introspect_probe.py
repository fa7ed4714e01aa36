"""Looks up the names of a draft in the installed libraries. Runs inside the sandbox.

Standard library only: its text and that of ``agents.introspect_types`` are sent to the sandbox as
one (see ``agents.introspect``). The draft is parsed, never executed; of the libraries only the
modules that the draft imports are.
"""

from __future__ import annotations

import ast
import difflib
import enum
import importlib
import inspect
import pkgutil
import re
import sys
import types
import warnings
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from agents.introspect_types import (
    PAIRS,
    PLACES,
    Known,
    Members,
    Method,
    at,
    built_in,
    combined,
    field,
    homes_of,
    importable,
    item_of,
    items,
    locate,
    of_dict,
    pairs,
    returned,
)

MOST = 20  # findings of one draft
NEAR = 4  # near names of one finding
CHILDREN = 15  # modules of a package that a finding lists
SOURCE_CHARACTERS = 4000


def report(code: str) -> list[dict[str, Any]]:
    """Names of a draft that the installed libraries do not have: fields of ``introspect.Miss``."""
    warnings.simplefilter("ignore")
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 0) or 0
        return [{"line": line, "name": "", "owner": "", "text": f"the code is not Python: {error}"}]
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    reader = Reader({text for text in texts if isinstance(text, str)})
    reader.block(tree.body, {})
    return reader.found[:MOST]


def sources(names: list[str]) -> dict[str, str]:
    """Source text of each name that the installed libraries have, cut to a readable length."""
    warnings.simplefilter("ignore")
    texts = {}
    for name in names:
        found = locate(name)
        if found is None or isinstance(found, types.ModuleType):
            continue
        try:
            function = getattr(found, "fget", None) or getattr(found, "func", None) or found
            text = inspect.getsource(inspect.unwrap(function))
        except (OSError, TypeError, ValueError):
            continue
        if len(text) > SOURCE_CHARACTERS:
            text = text[:SOURCE_CHARACTERS].rsplit("\n", 1)[0] + "\n    ...\n"
        texts[name] = text
    return texts


class Reader:
    """Walks a draft in the order of its lines and keeps what each name stands for."""

    def __init__(self, texts: set[str]) -> None:
        self.found: list[dict[str, Any]] = []
        self._texts = texts  # string constants of the draft: names that it may have set itself
        self._said: set[tuple[str, str]] = set()
        self._optional = 0  # inside a `try` that expects a missing module

    def block(self, body: list[ast.stmt], names: dict[str, Known]) -> None:
        """Read statements; ``names`` is changed."""
        for statement in body:
            self.statement(statement, names)

    def statement(  # noqa: C901 -- one case per kind of statement
        self, node: ast.stmt, names: dict[str, Known]
    ) -> None:
        """Read one statement."""
        if isinstance(node, ast.Import):
            self._import(node, names)
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node, names)
        elif isinstance(node, ast.Assign):
            value = self.value(node.value, names)
            for target in node.targets:
                self._bind(target, value, names)
        elif isinstance(node, ast.AnnAssign):
            self._bind(node.target, self.value(node.value, names) if node.value else None, names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.pop(node.name, None)
            self.block(node.body, _hidden(node.args, names))
        elif isinstance(node, ast.ClassDef):
            names.pop(node.name, None)
            self.block(node.body, dict(names))
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._bind(node.target, item_of(self.value(node.iter, names)), names)
            self._branches([node.body, node.orelse], names)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self.value(item.context_expr, names)
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, None, names)
            self.block(node.body, names)
        elif isinstance(node, ast.If | ast.While):
            self.value(node.test, names)
            self._branches([node.body, node.orelse], names)
        elif isinstance(node, ast.Try):
            self._try(node, names)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.value(child, names)

    def _branches(self, bodies: list[list[ast.stmt]], names: dict[str, Known]) -> None:
        """Read alternatives; a name that they leave different is not known afterwards."""
        results = []
        for body in bodies:
            inner = dict(names)
            self.block(body, inner)
            results.append(inner)
        for name in {key for result in results for key in result} | set(names):
            values = [result.get(name) for result in results]
            if values[0] is not None and all(value == values[0] for value in values):
                names[name] = values[0]
            else:
                names.pop(name, None)

    def _try(self, node: ast.Try, names: dict[str, Known]) -> None:
        caught = " ".join(ast.unparse(h.type) for h in node.handlers if h.type is not None)
        tolerant = bool(re.search(r"ImportError|ModuleNotFoundError|AttributeError", caught))
        self._optional += tolerant
        self.block(node.body, names)
        self._optional -= tolerant
        for handler in node.handlers:
            self.block(handler.body, dict(names))
        self.block([*node.orelse, *node.finalbody], names)

    def _bind(self, target: ast.expr, value: Known | None, names: dict[str, Known]) -> None:
        if isinstance(target, ast.Name):
            if value is None:
                names.pop(target.id, None)
            else:
                names[target.id] = value
            return
        if isinstance(target, ast.Tuple | ast.List) and value is not None:
            parts = target.elts
            exact = value.value == PLACES and len(value.inner) == len(parts)
            each = value.inner if exact else (item_of(value),) * len(parts)
            if not any(isinstance(part, ast.Starred) for part in parts):
                for part, known in zip(parts, each, strict=True):
                    self._bind(part, known, names)
                return
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.pop(node.id, None)

    # --- imports ---------------------------------------------------------------------------

    def _import(self, node: ast.Import, names: dict[str, Known]) -> None:
        for alias in node.names:
            module = self._module(alias.name, node.lineno)
            bound = alias.asname or alias.name.partition(".")[0]
            if module is None:
                names.pop(bound, None)
            else:
                top = module if alias.asname else sys.modules.get(bound, module)
                names[bound] = Known(top)

    def _import_from(self, node: ast.ImportFrom, names: dict[str, Known]) -> None:
        if node.level or node.module is None or node.module == "__future__":
            return
        module = self._module(node.module, node.lineno, wanted=[a.name for a in node.names])
        for alias in node.names:
            bound = alias.asname or alias.name
            names.pop(bound, None)
            if module is None or alias.name == "*":
                continue
            found = locate(f"{node.module}.{alias.name}")
            if found is None and not hasattr(module, alias.name):
                self._say_missing_import(node, module, alias.name)
            elif found is not None:
                names[bound] = Known(found)

    def _module(
        self, name: str, line: int, wanted: list[str] | None = None
    ) -> types.ModuleType | None:
        try:
            return importlib.import_module(name)
        except ImportError as error:
            missing = getattr(error, "name", None) or name
        except Exception:  # noqa: BLE001 -- a library may raise anything at import
            return None
        parent, _, last = name.rpartition(".")
        while parent and (above := importable(parent)) is None:
            parent, _, last = parent.rpartition(".")
        text = f"there is no module `{missing}`"
        children: list[str] = []
        if parent and above is not None:
            children = sorted(m.name for m in pkgutil.iter_modules(above.__path__))
            text += _nearest(f"{parent}.{name}" for name in _near(last, children))
        homes = [home for item in wanted or () for home in homes_of(name.partition(".")[0], item)]
        text += _nearest(homes, "instead")
        listed = [child for child in children if not child.startswith(("_", "test"))]
        if listed:
            more = ", ..." if len(listed) > CHILDREN else ""
            text += f"; `{parent}` has: {', '.join(listed[:CHILDREN])}{more}"
        self._say(line, name, homes[0] if homes else parent, text)
        return None

    def _say_missing_import(
        self, node: ast.ImportFrom, module: types.ModuleType, name: str
    ) -> None:
        homes = homes_of(str(node.module).partition(".")[0], name)
        text = f"`{module.__name__}` has no `{name}`"
        if homes:
            text += "; it is " + " or ".join(f"`{home}`" for home in homes)
        else:
            text += _nearest(f"{module.__name__}.{n}" for n in _near(name, dir(module)))
        self._say(node.lineno, name, homes[0] if homes else module.__name__, text)

    # --- expressions -----------------------------------------------------------------------

    def value(self, node: ast.expr, names: dict[str, Known]) -> Known | None:
        """What an expression is, as far as it can be known; misses inside it are noted."""
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, self.value(node.value, names))
        if isinstance(node, ast.Call):
            return self._call(node, names)
        if isinstance(node, ast.Subscript):
            owner = self.value(node.value, names)
            self.value(node.slice, names)
            return at(owner, node.slice)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return items(self.value(node.elt, self._inside(node.generators, names)))
        if isinstance(node, ast.DictComp):
            inner = self._inside(node.generators, names)
            return pairs(self.value(node.key, inner), self.value(node.value, inner))
        if isinstance(node, ast.Lambda):
            names = _hidden(node.args, names)
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        known = [self.value(child, names) for child in children]
        if isinstance(node, ast.NamedExpr):
            self._bind(node.target, known[1], names)
            return known[1]
        return combined(node, known)

    def _inside(
        self, generators: list[ast.comprehension], names: dict[str, Known]
    ) -> dict[str, Known]:
        """Names as a comprehension sees them."""
        inner = dict(names)
        for generator in generators:
            self._bind(generator.target, item_of(self.value(generator.iter, inner)), inner)
            for condition in generator.ifs:
                self.value(condition, inner)
        return inner

    def _attribute(self, node: ast.Attribute, owner: Known | None) -> Known | None:
        if owner is None or not isinstance(node.ctx, ast.Load):
            return None
        if isinstance(owner.value, types.ModuleType):
            found = locate(f"{owner.label}.{node.attr}")
            if found is None and not hasattr(owner.value, node.attr):
                self._miss(node, owner, dir(owner.value), "has no")
            return None if found is None else Known(found)
        if not isinstance(owner.value, type):
            return None
        static = inspect.getattr_static(owner.value, node.attr, None)
        if static is None:
            members = Members(owner.value)
            known = {*members.names, *self._texts}
            if not members.may_have(node.attr, instance=owner.instance):
                self._miss(node, owner, members.names, "has no")
            elif members.dynamic and node.attr not in known and _near(node.attr, members.names):
                # It may make attributes by name; one that is almost a real one is a likely slip.
                self._miss(node, owner, members.names, "itself has no")
            return field(owner.value, node.attr) if owner.instance else None
        if isinstance(static, property | cached_property):
            function = static.fget if isinstance(static, property) else static.func
            return returned(function, owner.value) if owner.instance else None
        if isinstance(static, staticmethod | classmethod | types.FunctionType):
            return Known(Method(owner.value, node.attr, static, bound=owner.instance))
        return field(owner.value, node.attr) if owner.instance else None

    def _call(self, node: ast.Call, names: dict[str, Known]) -> Known | None:
        called = self.value(node.func, names)
        given = [self.value(argument, names) for argument in node.args]
        for keyword in node.keywords:
            self.value(keyword.value, names)
        if called is None and isinstance(node.func, ast.Name):
            return built_in(node.func.id, given)
        if called is None and isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value, names)
            return of_dict(owner, node.func.attr) if owner and owner.value == PAIRS else None
        if called is None or called.instance:
            return None
        target = called.value
        self._check_arguments(node, called)
        if isinstance(target, type):
            return Known(target, instance=True)
        if isinstance(target, Method):
            return returned(target.function, target.owner)
        return returned(target, None) if inspect.isfunction(target) else None

    def _check_arguments(self, node: ast.Call, called: Known) -> None:
        target = called.value
        if isinstance(target, type) and issubclass(target, enum.Enum):
            return
        try:
            signature = (
                target.signature if isinstance(target, Method) else inspect.signature(target)
            )
        except (TypeError, ValueError):
            return
        label = target.label if isinstance(target, Method) else called.label
        parameters = signature.parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            return
        shown = ", ".join(p.name for p in parameters)
        accepted = [p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY]
        unknown = [k.arg for k in node.keywords if k.arg and k.arg not in accepted]
        for keyword in unknown:
            hint = _nearest(_near(keyword, accepted))
            text = f"`{label}` takes no argument `{keyword}`{hint}; it takes ({shown})"
            self._say(node.lineno, keyword, label, text)
        starred = any(isinstance(a, ast.Starred) for a in node.args)
        if unknown or starred or any(k.arg is None for k in node.keywords):
            return
        try:
            signature.bind(*[None] * len(node.args), **{str(k.arg): None for k in node.keywords})
        except TypeError as error:
            text = f"`{label}`: {error}; it takes ({shown})"
            self._say(node.lineno, label.rpartition(".")[2], label, text)

    def _miss(self, node: ast.Attribute, owner: Known, members: list[str], text: str) -> None:
        text = f"`{owner.label}` {text} `{node.attr}`" + _nearest(_near(node.attr, members))
        self._say(node.lineno, node.attr, owner.label, text)

    def _say(self, line: int, name: str, owner: str, text: str) -> None:
        if not self._optional and (name, owner) not in self._said:
            self._said.add((name, owner))
            self.found.append({"line": line, "name": name, "owner": owner, "text": text})


def _hidden(arguments: ast.arguments, names: dict[str, Known]) -> dict[str, Known]:
    """The names that a function sees: its parameters hide others."""
    hidden = {argument.arg for argument in ast.walk(arguments) if isinstance(argument, ast.arg)}
    return {name: known for name, known in names.items() if name not in hidden}


def _near(name: str, candidates: list[str]) -> list[str]:
    """Public names like ``name``, nearest first; another case is near, but not equal."""
    public = sorted({c for c in candidates if not c.startswith("_") or name.startswith("_")})
    folded = {candidate.lower() for candidate in public}
    close = difflib.get_close_matches(name.lower(), folded, n=NEAR, cutoff=0.6)
    words = {w.lower() for w in re.split(r"_+|(?<=[a-z])(?=[A-Z])", name) if len(w) > 3}
    shared = [c.lower() for c in public if any(word in c.lower() for word in words)]
    order = list(dict.fromkeys([*close, *shared]))
    found = [candidate for candidate in public if candidate.lower() in order]
    alike = difflib.SequenceMatcher(b=name)

    def rank(candidate: str) -> tuple[int, float]:
        alike.set_seq1(candidate)
        return order.index(candidate.lower()), -alike.ratio()

    return sorted(found, key=rank)[:NEAR]


def _nearest(names: Iterable[str], what: str = "nearest") -> str:
    """What a finding says of other names; nothing when there are none."""
    listed = ", ".join(f"`{name}`" for name in names)
    return f"; {what}: {listed}" if listed else ""
